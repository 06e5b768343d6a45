"""A real browser, which hides the origin of a form under ``no-referrer``, sets a password by a link."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponseBase
from django.urls import include, path

from examples.marketplace.models import User
from resetdelivery.views import PasswordResetConfirmView
from tests.reset_page import NEW, OLD, has_password, path_of_link

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]

#: As a person fills the form in, but for the person.
PAGE = f"""<!doctype html><title>Reset</title>
{{% if validlink %}}<form method="post">{{% csrf_token %}}
<input name="new_password1" value="{NEW}"><input name="new_password2" value="{NEW}"></form>
<script>document.forms[0].submit()</script>{{% endif %}}"""


class Watched(PasswordResetConfirmView):
    """The page with a script of its own; notes what the browser says of its forms."""

    template_name = "watched.html"
    content_security_policy = {"script-src": ["'unsafe-inline'"], "form-action": ["'self'"]}
    forms: list[tuple[str | None, str | None, str | None]] = []
    policies: list[str] = []

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        names = ("Origin", "Sec-Fetch-Site", "Referer")
        if request.method == "POST":
            self.forms.append(tuple(request.headers.get(name) for name in names))  # type: ignore[arg-type]
        response = super().dispatch(request, *args, **kwargs)
        self.policies.append(response.headers["Referrer-Policy"])
        return response


Watched.dispatch.csrf_exempt = True  # type: ignore[attr-defined]


class Pages:
    urlpatterns = [
        path("reset/<uidb64>/<token>/", Watched.as_view(), name="password_reset_confirm"),
        path("", include("examples.marketplace.urls")),
    ]


@pytest.fixture
def _watched(settings: Any, tmp_path: Path) -> Iterator[None]:
    settings.ROOT_URLCONF = Pages
    settings.SECURE_SSL_REDIRECT = settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = False
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]
    (tmp_path / "watched.html").write_text(PAGE)
    yield
    Watched.forms.clear()
    Watched.policies.clear()


@pytest.mark.usefixtures("_watched")
def test_a_browser_that_is_told_no_referrer_can_send_the_form(live_server: Any, tmp_path: Path) -> None:
    user = User.objects.create_user("anna", email="anna@shop.example", password=OLD)
    arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    seen = subprocess.run(
        [
            str(CHROMIUM),
            *arguments,
            "--virtual-time-budget=10000",
            "--dump-dom",
            live_server.url + path_of_link(user),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert Watched.forms == [("null", "same-origin", None)]
    assert set(Watched.policies) == {"no-referrer"}
    assert "Your password is changed" in seen.stdout
    assert has_password(user, NEW)
