"""The page behind a link, hardened: its headers, its form's origin, what success leads to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client, RequestFactory, override_settings

from examples.marketplace.models import User
from resetdelivery import views
from resetdelivery.csp import PAGE_POLICY, policy_text
from resetdelivery.exceptions import ResetDeliveryError
from resetdelivery.models import ResetIntent
from resetdelivery.testing import deliver_now
from tests.reset_page import NEW, OLD, has_password, opened, path_of_link, set_password

pytestmark = pytest.mark.django_db

#: What a browser sends along with a navigation, and with a form of the page itself.
CLICKED = {"Sec-Fetch-Site": "none"}
OWN_FORM = {"Sec-Fetch-Site": "same-origin"}
WRONG = "/reset/MQ/ditab6-378a2f1dd9e42bb6548118d507ac006d/"


@pytest.fixture
def user() -> User:
    return User.objects.create_user("anna", email="anna@shop.example", phone="+4915228817386", password=OLD)


@pytest.fixture
def path(user: User) -> str:
    return path_of_link(user)


# Headers.

Answer = Callable[[Client, str], Any]


def throttled(client: Client, path: str) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(views, "wait_seconds", lambda *_, **__: 7.2)
        return client.get(path, headers=CLICKED)


def undone(client: Client, path: str) -> Any:
    page = opened(client, path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(views, "run_hooks", _raise)
        return set_password(client, page, headers=OWN_FORM)


def _raise(**_: object) -> None:
    raise ResetDeliveryError


def refused(_: Client, path: str) -> Any:
    browser = Client(enforce_csrf_checks=True)
    return set_password(
        browser, opened(browser, path), headers={"Origin": "null", "Sec-Fetch-Site": "cross-site"}
    )


ANSWERS: dict[str, tuple[Answer, int]] = {
    "link": (lambda client, path: client.get(path, headers=CLICKED), 302),
    "link by HEAD": (lambda client, path: client.head(path, headers=CLICKED), 302),
    "wrong link": (lambda client, path: client.get(WRONG, headers=CLICKED), 200),
    "form to the link": (lambda client, path: set_password(client, path), 302),
    "page": (lambda client, path: client.get(opened(client, path), headers=OWN_FORM), 200),
    "page without a session": (lambda client, path: Client().get(opened(client, path), headers=CLICKED), 200),
    "wrong form": (
        lambda client, path: set_password(client, opened(client, path), "x", headers=OWN_FORM),
        200,
    ),
    "success": (lambda client, path: set_password(client, opened(client, path), headers=OWN_FORM), 302),
    "method that there is not": (
        lambda client, path: client.delete(opened(client, path), headers=OWN_FORM),
        405,
    ),
    "too often": (throttled, 429),
    "undone": (undone, 503),
    "form of another site": (refused, 403),
}


@pytest.mark.parametrize(("answer", "status"), ANSWERS.values(), ids=ANSWERS)
def test_every_answer_has_the_headers(client: Client, path: str, answer: Answer, status: int) -> None:
    response = answer(client, path)
    assert response.status_code == status
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert {"no-store", "private"} <= set(response.headers["Cache-Control"].split(", "))
    assert response.headers["X-Robots-Tag"] == "noindex"
    assert response.headers["X-Frame-Options"] == "DENY"
    assert response.headers["Content-Security-Policy"] == (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )


def test_the_headers_need_no_middleware_of_the_projects(client: Client, path: str) -> None:
    needed = [
        m for m in django_settings.MIDDLEWARE if "Session" in m or "Authentication" in m or "messages" in m
    ]
    with override_settings(MIDDLEWARE=needed):
        headers = client.get(opened(client, path), headers=OWN_FORM).headers
    assert headers["Content-Security-Policy"] == policy_text(PAGE_POLICY)
    assert (headers["Referrer-Policy"], headers["X-Frame-Options"]) == ("no-referrer", "DENY")


def test_a_page_with_more_to_load_says_so(path: str) -> None:
    view = views.PasswordResetConfirmView.as_view(content_security_policy={"default-src": ["'self'"]})
    request = RequestFactory().get(path)
    request.session = {}  # type: ignore[assignment]
    response = view(request, uidb64="MQ", token="x")
    assert response.headers["Content-Security-Policy"] == "default-src 'self'"


# The form's origin.


def form_of(browser: Client, page: str, headers: dict[str, str]) -> dict[str, str]:
    token = str(browser.get(page, headers=headers).context["csrf_token"])
    return {"new_password1": NEW, "new_password2": NEW, "csrfmiddlewaretoken": token}


@pytest.mark.parametrize(
    ("headers", "accepted"),
    [
        pytest.param({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, True, id="its own, hidden"),
        pytest.param({"Origin": "http://testserver"}, True, id="its own, old browser"),
        pytest.param(
            {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"}, True, id="its own, named"
        ),
        pytest.param({}, True, id="no header at all"),
        pytest.param({"Origin": "null"}, False, id="hidden, old browser"),
        pytest.param({"Origin": "null", "Sec-Fetch-Site": "cross-site"}, False, id="another site, hidden"),
        pytest.param({"Origin": "null", "Sec-Fetch-Site": "same-site"}, False, id="another host, hidden"),
        pytest.param({"Origin": "null", "Sec-Fetch-Site": "none"}, False, id="no page, hidden"),
        pytest.param({"Origin": "https://evil.example"}, False, id="another site, named"),
        pytest.param(
            {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
            False,
            id="another site, contradictory",
        ),
    ],
)
def test_a_form_is_taken_from_the_page_itself_alone(
    user: User, path: str, headers: dict[str, str], accepted: bool
) -> None:
    browser = Client(enforce_csrf_checks=True)
    page = opened(browser, path)
    answer = browser.post(page, form_of(browser, page, CLICKED), headers=headers)
    assert (answer.status_code, has_password(user, NEW)) == ((302, True) if accepted else (403, False))


@pytest.mark.parametrize("token", ["", "x" * 64, None])
def test_a_form_without_its_token_is_refused_wherever_it_comes_from(
    user: User, path: str, token: str | None
) -> None:
    browser = Client(enforce_csrf_checks=True)
    page = opened(browser, path)
    form = form_of(browser, page, CLICKED)
    form.pop("csrfmiddlewaretoken")
    if token is not None:
        form["csrfmiddlewaretoken"] = token
    answer = browser.post(page, form, headers={"Origin": "null", **OWN_FORM})
    assert (answer.status_code, has_password(user, OLD)) == (403, True)


def test_the_form_is_checked_in_a_project_without_the_csrf_middleware(user: User, path: str) -> None:
    without = [m for m in django_settings.MIDDLEWARE if "Csrf" not in m]
    with override_settings(MIDDLEWARE=without):
        browser = Client(enforce_csrf_checks=True)
        page = opened(browser, path)
        assert set_password(browser, page).status_code == 403
        browser.post(page, form_of(browser, page, CLICKED))
    assert has_password(user, NEW)


@pytest.mark.parametrize(
    ("page_policy", "headers"), [("no-referrer", OWN_FORM), ("same-origin", {})], ids=["today's", "old"]
)
def test_every_browser_gets_a_policy_under_which_its_form_works(
    user: User, path: str, page_policy: str, headers: dict[str, str]
) -> None:
    browser = Client(enforce_csrf_checks=True)
    page = opened(browser, path)
    assert browser.get(page, headers=headers).headers["Referrer-Policy"] == page_policy
    # Fetch standard: under no-referrer the origin is hidden from everybody.
    origin = "null" if page_policy == "no-referrer" else "http://testserver"
    browser.post(page, form_of(browser, page, headers), headers={"Origin": origin, **headers})
    assert has_password(user, NEW)


def test_an_old_browser_too_tells_nobody_of_an_address_with_a_token(client: Client, path: str) -> None:
    policies = {client.get(address).headers["Referrer-Policy"] for address in (path, WRONG)}
    assert policies == {"no-referrer"}


def test_the_page_has_no_other_form(client: Client, user: User, path: str) -> None:
    client.force_login(user)
    html = client.get(opened(client, path), headers=OWN_FORM).content.decode()
    assert html.count("<form") == 1


# Success.


def test_everybody_who_can_be_reached_is_told(client: Client, user: User, path: str) -> None:
    set_password(client, opened(client, path))
    assert sorted(one.to for one in deliver_now()) == ["+4915228817386", "anna@shop.example"]


def test_a_link_that_does_not_work_tells_nobody(client: Client, user: User) -> None:
    client.get(WRONG)
    assert not ResetIntent.objects.exists()


def test_two_successes_of_one_account_are_told_both(client: Client, user: User, path: str) -> None:
    set_password(client, opened(client, path))
    user.refresh_from_db()
    set_password(client, opened(client, path_of_link(user)), "a third password")
    assert ResetIntent.objects.filter(kind="security_notice").count() == 2


def test_the_range_of_the_number_is_told_of_the_use_after_the_commit(
    client: Client,
    user: User,
    path: str,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    used: list[str | None] = []
    monkeypatch.setattr(views, "note_used", used.append)
    with django_capture_on_commit_callbacks(execute=True):
        set_password(client, opened(client, path))
        assert used == []
    assert used == ["+4915228817386"]


def test_the_page_of_another_directory_says_how_that_names_accounts(
    user: User, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refs: list[str] = []
    monkeypatch.setattr(views, "run_hooks", lambda *, account_ref, using: refs.append(account_ref))
    monkeypatch.setattr(views, "notify_password_changed", lambda *, account_ref: refs.append(account_ref))
    monkeypatch.setattr(
        views.PasswordResetConfirmView, "account_ref", lambda self, user: f"customer {user.username}"
    )
    browser = Client()
    set_password(browser, opened(browser, path))
    assert refs == ["customer anna", "customer anna"]
