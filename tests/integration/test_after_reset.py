"""What a project does when a password was set by a link, and what happens when that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from django.db import DatabaseError, connection
from django.test import Client
from django.urls import path as url_path

from examples.marketplace import access_tokens
from examples.marketplace.models import AccessToken, User
from resetdelivery.after_reset import HookFailed, run_hooks
from resetdelivery.models import ResetIntent
from resetdelivery.views import PasswordResetConfirmView
from tests.integration.conftest import Settings
from tests.reset_page import NEW, OLD, has_password, opened, path_of_link, set_password
from tests.sinks import formatters
from tests.steps import seconds

pytestmark = pytest.mark.django_db

SECRET_TEXT = "anna@shop.example 2718281828"
Check = Callable[..., list[CheckMessage]]


@pytest.fixture
def user() -> User:
    return User.objects.create_user("anna", email="anna@shop.example", phone="+4915228817386", password=OLD)


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    """What was logged, in both forms."""
    forms = list(formatters())
    return lambda: "\n".join(form.format(record) for form in forms for record in caplog.records)


# Hooks, for AFTER_RESET to name.

calls: list[tuple[str, str, str]] = []


@pytest.fixture(autouse=True)
def _fresh_calls() -> Iterator[None]:
    calls.clear()
    yield
    calls.clear()


def first(*, account_ref: str, using: str) -> None:
    calls.append(("first", account_ref, using))


def second(*, account_ref: str, using: str) -> None:
    calls.append(("second", account_ref, using))


def sees_the_new_password(*, account_ref: str, using: str) -> None:
    assert User.objects.using(using).get(pk=account_ref).check_password(NEW)
    calls.append(("sees", account_ref, using))


def fails(*, account_ref: str, using: str) -> None:
    raise RuntimeError(SECRET_TEXT)


def fails_in_the_database(*, account_ref: str, using: str) -> None:
    raise DatabaseError(SECRET_TEXT)


def takes_a_user(user: object) -> None:
    """The wrong signature."""


async def waits(*, account_ref: str, using: str) -> None:
    """Nobody would wait for it."""


def named(*functions: Callable[..., object]) -> list[str]:
    return [f"{__name__}.{function.__name__}" for function in functions]


# The shop's own hook.


def me(token: str) -> Any:
    return Client().get("/api/me/", headers={"Authorization": f"Bearer {token}"})


def test_a_reset_ends_sessions_and_access_tokens(client: Client, user: User) -> None:
    token = access_tokens.issue(user)
    elsewhere = Client()
    elsewhere.login(username="anna", password=OLD)
    assert me(token).json() == {"username": "anna"}
    assert elsewhere.get("/").context["user"].is_authenticated
    set_password(client, opened(client, path_of_link(user)))
    assert me(token).status_code == 401
    assert not elsewhere.get("/").context["user"].is_authenticated


def test_a_reset_leaves_other_peoples_tokens(client: Client, user: User, make_account: Any) -> None:
    token = access_tokens.issue(make_account(username="ben"))
    set_password(client, opened(client, path_of_link(user)))
    assert me(token).status_code == 200


@pytest.mark.parametrize("header", ["", "Bearer ", "Bearer x", "Basic x", "bearer \u00fc"])
def test_what_is_no_token_signs_nobody_in(user: User, header: str) -> None:
    answer = Client().get("/api/me/", headers={"Authorization": header})
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")


def test_a_token_of_an_inactive_account_signs_nobody_in(user: User) -> None:
    token = access_tokens.issue(user)
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert me(token).status_code == 401


def test_the_table_of_tokens_holds_no_token(user: User) -> None:
    token = access_tokens.issue(user)
    assert token not in str(AccessToken.objects.values().get())


# Hooks of any kind.


def test_hooks_run_in_order_with_the_account_and_its_database(
    client: Client, user: User, change: Settings
) -> None:
    change(AFTER_RESET=named(first, second))
    set_password(client, opened(client, path_of_link(user)))
    assert calls == [("first", str(user.pk), "default"), ("second", str(user.pk), "default")]


def test_a_hook_runs_after_the_password_is_stored(client: Client, user: User, change: Settings) -> None:
    change(AFTER_RESET=named(sees_the_new_password))
    set_password(client, opened(client, path_of_link(user)))
    assert [name for name, *_ in calls] == ["sees"]


def test_no_hook_runs_while_no_password_is_set(client: Client, user: User, change: Settings) -> None:
    change(AFTER_RESET=named(first))
    page = opened(client, path_of_link(user))
    client.post(page, {"new_password1": NEW, "new_password2": NEW + "!"})
    set_password(Client(), page)
    assert calls == []


@pytest.mark.parametrize("hook", [fails, fails_in_the_database])
def test_a_hook_that_raises_undoes_the_reset(
    client: Client, user: User, change: Settings, hook: Callable[..., None]
) -> None:
    token = access_tokens.issue(user)
    change(AFTER_RESET=["examples.marketplace.access_tokens.revoke", *named(hook)])
    answer = set_password(client, opened(client, path_of_link(user)))
    assert answer.status_code == 503
    assert has_password(user, OLD)
    assert me(token).status_code == 200
    assert not ResetIntent.objects.exists()


def test_whoever_sees_it_fail_may_try_again_with_the_same_page(
    client: Client, user: User, change: Settings
) -> None:
    page = opened(client, path_of_link(user))
    change(AFTER_RESET=named(fails))
    answer = set_password(client, page)
    assert "has not been changed" in answer.content.decode()
    assert 'role="alert"' in answer.content.decode()
    change(AFTER_RESET=[])
    assert set_password(client, page).status_code == 302
    assert has_password(user, NEW)


def test_a_reset_is_undone_inside_a_transaction_of_the_whole_request(
    client: Client, user: User, change: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    page = opened(client, path_of_link(user))
    change(AFTER_RESET=named(fails_in_the_database))
    assert set_password(client, page).status_code == 503
    assert has_password(user, OLD)
    change(AFTER_RESET=[])
    assert set_password(client, page).status_code == 302


@pytest.mark.parametrize("hook", [fails, fails_in_the_database])
def test_what_a_hook_says_in_its_error_is_not_logged(
    client: Client, user: User, change: Settings, logged: Callable[[], str], hook: Callable[..., None]
) -> None:
    change(AFTER_RESET=named(hook))
    set_password(client, opened(client, path_of_link(user)))
    assert "after_reset_failed" in logged()
    assert not [word for word in SECRET_TEXT.split() if word in logged()]


def test_the_error_that_a_hook_leads_to_has_no_context(change: Settings) -> None:
    change(AFTER_RESET=named(fails))
    with pytest.raises(HookFailed, match=r"test_after_reset\.fails' raised RuntimeError") as caught:
        run_hooks(account_ref="1", using="default")
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_a_notice_that_cannot_be_stored_undoes_the_reset(
    client: Client, user: User, monkeypatch: pytest.MonkeyPatch, logged: Callable[[], str]
) -> None:
    def away(**_: object) -> None:
        raise DatabaseError(SECRET_TEXT)

    monkeypatch.setattr("resetdelivery.views.notify_password_changed", away)
    assert set_password(client, opened(client, path_of_link(user))).status_code == 503
    assert has_password(user, OLD)
    assert "reset_undone" in logged()
    assert SECRET_TEXT not in logged()


@pytest.mark.parametrize("step", ["PasswordResetConfirmView.account_ref", "_phone"])
def test_a_directory_that_raises_undoes_the_reset_and_tells_nobody_why(
    client: Client, user: User, monkeypatch: pytest.MonkeyPatch, logged: Callable[[], str], step: str
) -> None:
    def away(*_: object) -> None:
        raise RuntimeError(SECRET_TEXT)

    page = opened(client, path_of_link(user))
    with monkeypatch.context() as patch:
        patch.setattr(f"resetdelivery.views.{step}", away)
        assert set_password(client, page).status_code == 503
    assert has_password(user, OLD)
    assert "reset_undone" in logged()
    assert [word for word in SECRET_TEXT.split() if word in logged()] == []
    assert set_password(client, page).status_code == 302


# At start.


@pytest.fixture
def check(change: Settings) -> Check:
    def run(number: str, **changes: Any) -> list[CheckMessage]:
        change(**changes)
        return [m for m in run_checks(tags=["resetdelivery"]) if m.id == f"resetdelivery.{number}"]

    return run


def test_the_shop_passes_its_checks(check: Check) -> None:
    assert [m for number in ("E090", "E091", "E092", "W090", "W091") for m in check(number)] == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no.such.module", "cannot be imported (ModuleNotFoundError)"),
        ("no_dots", "cannot be imported (ImportError)"),
        (f"{__name__}.nothing", "cannot be imported (ImportError)"),
        (f"{__name__}.calls", "is a list, which cannot be called"),
        (f"{__name__}.waits", "is asynchronous"),
        (f"{__name__}.takes_a_user", "does not take account_ref and using by name"),
    ],
)
def test_a_hook_that_cannot_be_called_is_an_error(check: Check, name: str, says: str) -> None:
    (message,) = check("E090", AFTER_RESET=[f"{__name__}.first", name])
    assert message.msg.startswith(f"RESETDELIVERY['AFTER_RESET'] names {name!r}, which {says}")
    assert "account_ref: str, using: str" in str(message.hint)


def test_a_notice_that_lives_too_short_is_an_error_for_each_channel(check: Check) -> None:
    found = check("E091", NOTICE_LIFETIME=seconds(7))
    assert ["'email'" in found[0].msg, "'sms'" in found[1].msg] == [True, True]


def test_a_version_without_notices_is_an_error(check: Check) -> None:
    (message,) = check("E092", NOTICE_TEMPLATE_VERSION="2")
    assert message.msg.startswith("RESETDELIVERY['NOTICE_TEMPLATE_VERSION'] is '2'")
    assert "security_notice/2/en/" in str(message.hint)


class SignsIn(PasswordResetConfirmView):
    """A page that signs in whoever used the link."""

    post_reset_login = True


class Pages:
    """URLconfs, each with one page."""

    def __init__(self, view: Any) -> None:
        self.urlpatterns = [url_path("reset/<uidb64>/<token>/", view, name="password_reset_confirm")]


@pytest.mark.parametrize(
    "view", [SignsIn.as_view(), PasswordResetConfirmView.as_view(post_reset_login=True)], ids=["class", "url"]
)
def test_a_page_that_signs_in_is_warned_of(check: Check, settings: Any, view: Any) -> None:
    settings.ROOT_URLCONF = Pages(view)
    (message,) = check("W090")
    assert "post_reset_login" in message.msg


def test_a_subclass_that_leaves_it_off_is_fine(check: Check, settings: Any) -> None:
    settings.ROOT_URLCONF = Pages(SignsIn.as_view(post_reset_login=False))
    assert check("W090") == []


def test_error_reports_with_links_are_warned_of_where_somebody_gets_them(check: Check, settings: Any) -> None:
    settings.DEFAULT_EXCEPTION_REPORTER = "django.views.debug.ExceptionReporter"
    assert check("W091") == []
    settings.ADMINS = [("Ops", "ops@shop.example")]
    (message,) = check("W091")
    assert "LinkFreeReporter" in str(message.hint)
