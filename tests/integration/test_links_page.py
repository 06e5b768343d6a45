from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.hashers import make_password
from django.contrib.auth.tokens import default_token_generator
from django.contrib.sessions.backends.db import SessionStore
from django.core.exceptions import ImproperlyConfigured
from django.test import Client, RequestFactory, override_settings
from django.urls import reverse
from django.utils.http import urlsafe_base64_encode

from examples.marketplace.models import User
from resetdelivery.directory import DjangoUserDirectory, get_directory
from resetdelivery.links import utc_now
from resetdelivery.views import PasswordResetConfirmView
from tests.reset_page import INVALID, NEW, OLD, has_password, opened, path_of_link, set_password

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> User:
    return User.objects.create_user("anna", email="anna@shop.example", phone="+4915228817386", password=OLD)


class Clock:
    """The generator's clock, set by hand."""

    def __init__(self, now: dt.datetime) -> None:
        self.now = now

    def __call__(self) -> dt.datetime:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(utc_now().replace(microsecond=0))
    directory = get_directory()
    assert isinstance(directory, DjangoUserDirectory)
    monkeypatch.setattr(directory.token_generator, "_clock", clock)
    return clock


@pytest.fixture
def path(user: User, clock: Clock) -> str:
    """Path of a link that lives ten minutes."""
    return path_of_link(user, clock.now + dt.timedelta(minutes=10))


def test_a_person_sets_a_new_password_by_the_link(client: Client, user: User, path: str) -> None:
    response = set_password(client, opened(client, path))
    assert response.headers["Location"] == reverse("password_reset_complete")
    assert has_password(user, NEW)


def test_the_token_is_not_in_the_address_of_the_page(client: Client, path: str) -> None:
    assert opened(client, path).endswith("/set-password/")


def test_a_link_works_once(client: Client, user: User, path: str) -> None:
    set_password(client, opened(client, path))
    assert INVALID in Client().get(path).content.decode()


@pytest.mark.parametrize("method", ["get", "head", "options"])
def test_scanners_consume_nothing(client: Client, user: User, path: str, method: str) -> None:
    for _ in range(3):
        scanner = Client()
        getattr(scanner, method)(path)
        getattr(scanner, method)(path.rsplit("/", 2)[0] + "/set-password/")
    set_password(client, opened(client, path))
    assert has_password(user, NEW)


def test_a_post_to_the_link_itself_changes_nothing(client: Client, user: User, path: str) -> None:
    set_password(client, path)
    assert has_password(user, OLD)


def test_a_link_that_expires_between_page_and_post_is_invalid(
    client: Client, user: User, path: str, clock: Clock
) -> None:
    page = opened(client, path)
    clock.now += dt.timedelta(minutes=10)
    assert INVALID in set_password(client, page).content.decode()
    assert has_password(user, OLD)


def test_a_link_works_in_its_last_moment(client: Client, user: User, path: str, clock: Clock) -> None:
    page = opened(client, path)
    clock.now += dt.timedelta(minutes=10) - dt.timedelta(microseconds=1)
    set_password(client, page)
    assert has_password(user, NEW)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"is_active": False}, id="made inactive"),
        pytest.param({"password": make_password(None)}, id="moved to single sign-on"),
        pytest.param({"password": make_password("a third password")}, id="password changed"),
        pytest.param({"email": "anna@elsewhere.example"}, id="address changed"),
        pytest.param({"phone": "+4917604069001"}, id="number changed"),
    ],
)
def test_an_account_that_changed_after_the_page_was_shown_is_refused(
    client: Client, user: User, path: str, changes: dict[str, Any]
) -> None:
    page = opened(client, path)
    User.objects.filter(pk=user.pk).update(**changes)
    assert INVALID in set_password(client, page).content.decode()
    assert not has_password(user, NEW)


def test_an_account_that_is_gone_is_refused(client: Client, user: User, path: str) -> None:
    page = opened(client, path)
    user.delete()
    assert INVALID in set_password(client, page).content.decode()


def test_a_sign_in_after_the_page_was_shown_leaves_the_link_alive(
    client: Client, user: User, path: str
) -> None:
    page = opened(client, path)
    Client().login(username="anna", password=OLD)
    set_password(client, page)
    assert has_password(user, NEW)


@pytest.mark.parametrize(
    "path",
    [
        "/reset/!/x/",
        "/reset/Nw/x/",
        "/reset/Nw/set-password/",
        "/reset/OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5/x-0/",
    ],
)
def test_an_incomplete_link_shows_the_invalid_page(client: Client, user: User, path: str) -> None:
    assert INVALID in client.get(path).content.decode()


def test_a_stock_link_is_refused(client: Client, user: User, path: str) -> None:
    uid = path.split("/")[2]
    stock = reverse("password_reset_confirm", args=[uid, default_token_generator.make_token(user)])
    assert INVALID in client.get(stock).content.decode()


def test_old_sessions_die_with_the_old_password(client: Client, user: User, path: str) -> None:
    elsewhere = Client()
    elsewhere.login(username="anna", password=OLD)
    assert elsewhere.get("/").context["user"].is_authenticated
    set_password(client, opened(client, path))
    assert not elsewhere.get("/").context["user"].is_authenticated


def test_a_reset_signs_nobody_in(client: Client, user: User, path: str) -> None:
    set_password(client, opened(client, path))
    assert SESSION_KEY not in client.session


def test_passwords_that_differ_are_told_and_the_link_goes_on_working(
    client: Client, user: User, path: str
) -> None:
    page = opened(client, path)
    response = client.post(page, {"new_password1": NEW, "new_password2": NEW + "!"})
    assert 'role="alert"' in response.content.decode()
    set_password(client, page)
    assert has_password(user, NEW)


ANSWERS: dict[str, Callable[[Client, str], Any]] = {
    "redirect": lambda client, path: client.get(path),
    "page": lambda client, path: client.get(opened(client, path)),
    "invalid": lambda client, path: client.get("/reset/Nw/x/"),
    "success": lambda client, path: set_password(client, opened(client, path)),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_every_answer_is_kept_from_caches_and_search_engines(
    client: Client, path: str, answer: Callable[[Client, str], Any]
) -> None:
    headers = answer(client, path).headers
    assert headers["X-Robots-Tag"] == "noindex"
    assert {"no-store", "private"} <= set(headers["Cache-Control"].split(", "))


@pytest.mark.parametrize(
    ("answer", "policy"),
    [
        ("redirect", "no-referrer"),
        ("page", "same-origin"),
        ("invalid", "no-referrer"),
        ("success", "no-referrer"),
    ],
)
def test_no_other_site_learns_the_address_of_an_answer(
    client: Client, path: str, answer: str, policy: str
) -> None:
    assert ANSWERS[answer](client, path).headers["Referrer-Policy"] == policy


def test_a_browser_may_send_the_form_past_the_csrf_check(user: User, path: str) -> None:
    browser = Client(enforce_csrf_checks=True)
    page = opened(browser, path)
    html = browser.get(page)
    # What a browser does (Fetch standard): under "no-referrer" it hides the origin even from its own site.
    origin = "null" if html.headers["Referrer-Policy"] == "no-referrer" else "http://testserver"
    form = {"new_password1": NEW, "new_password2": NEW, "csrfmiddlewaretoken": html.context["csrf_token"]}
    browser.post(page, form, headers={"origin": origin})
    assert has_password(user, NEW)


def test_the_page_is_open_where_all_others_ask_for_a_sign_in(client: Client, path: str) -> None:
    guard = "django.contrib.auth.middleware.LoginRequiredMiddleware"
    with override_settings(MIDDLEWARE=[*settings.MIDDLEWARE, guard]):
        assert opened(client, path).endswith("/set-password/")


def test_a_token_generator_can_be_passed_as_to_djangos_view(user: User) -> None:
    class Accepting:
        def check_token(self, user: object, token: object) -> bool:
            return True

    view = PasswordResetConfirmView.as_view(token_generator=Accepting())
    request = RequestFactory().get("/")
    request.session = SessionStore()
    uid = urlsafe_base64_encode(str(user.pk).encode())
    assert view(request, uidb64=uid, token="set-password").context_data["validlink"]  # type: ignore[attr-defined]


def test_a_directory_without_a_token_generator_is_told_what_the_page_needs() -> None:
    with (
        override_settings(RESETDELIVERY={"DIRECTORY": f"{__name__}.{_Foreign.__name__}"}),
        pytest.raises(ImproperlyConfigured, match=r"_Foreign, .*as_view\(token_generator=\.\.\.\)"),
    ):
        PasswordResetConfirmView.as_view()(RequestFactory().get("/"), uidb64="Nw", token="x")


class _Foreign:
    """A directory of another account system."""
