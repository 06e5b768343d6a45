"""During a cut-over: the page behind a link also takes the existing sender's."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.contrib.auth.hashers import make_password
from django.contrib.auth.tokens import PasswordResetTokenGenerator, default_token_generator
from django.contrib.sessions.backends.db import SessionStore
from django.core.checks import run_checks
from django.db import connection
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils.http import urlsafe_base64_encode

from examples.marketplace.models import User
from resetdelivery import views
from resetdelivery.directory import DjangoUserDirectory, get_directory
from resetdelivery.domain.gcra import Rate
from resetdelivery.links import ResetTokenGenerator, utc_now
from resetdelivery.models import ResetIntent
from resetdelivery.views import PasswordResetConfirmView
from tests.integration.conftest import Settings
from tests.reset_page import INVALID, NEW, OLD, has_password, opened, path_of_link, set_password
from tests.sinks import formatters

pytestmark = pytest.mark.django_db

DJANGOS = "django.contrib.auth.tokens.default_token_generator"
MINUTE = dt.timedelta(minutes=1)
SECRET_TEXT = "anna@shop.example 2718281828"


@pytest.fixture
def user() -> User:
    return User.objects.create_user("anna", email="anna@shop.example", phone="+4915228817386", password=OLD)


@pytest.fixture
def cut_over(change: Settings) -> None:
    """The existing sender is Django's own view."""
    change(LEGACY_TOKEN_GENERATOR=DJANGOS)


def legacy_path(user: User) -> str:
    """The path of a link that the existing sender sent."""
    return path_with(user, default_token_generator.make_token(user))


def path_with(user: User, token: str) -> str:
    uid = urlsafe_base64_encode(str(user.pk).encode())
    return reverse("password_reset_confirm", args=[uid, token])


def is_refused(path: str) -> bool:
    return INVALID in Client().get(path).content.decode()


# Generators, for LEGACY_TOKEN_GENERATOR to name.


class Raises:
    def check_token(self, user: object, token: object) -> bool:
        raise RuntimeError(SECRET_TEXT)


class RaisesWhenMade(Raises):
    def __init__(self) -> None:
        raise RuntimeError(SECRET_TEXT)


class FailsInTheDatabase:
    def check_token(self, user: object, token: object) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT no_such_column FROM marketplace_user")
        return True


class SaysSomething:
    """As one does that nobody awaits: what it returns is true, and is no answer."""

    def check_token(self, user: object, token: object) -> Any:
        return object()


class Asynchronous:
    async def check_token(self, user: object, token: object) -> bool:
        return True


class Never:
    def check_token(self, user: object, token: object) -> bool:
        return False


class OfOneArgument:
    def check_token(self, token: object) -> bool:
        return True


class OurOwn(ResetTokenGenerator):
    """What must not be asked twice."""


accepts = PasswordResetTokenGenerator().check_token


def named(thing: type) -> str:
    return f"{__name__}.{thing.__name__}"


# Either sender's links.


@pytest.mark.parametrize("named", [DJANGOS, "django.contrib.auth.tokens.PasswordResetTokenGenerator"])
def test_the_existing_senders_link_sets_a_password(
    client: Client, user: User, change: Settings, named: str
) -> None:
    change(LEGACY_TOKEN_GENERATOR=named)
    answer = set_password(client, opened(client, legacy_path(user)))
    assert answer.headers["Location"] == reverse("password_reset_complete")
    assert has_password(user, NEW)


@pytest.mark.usefixtures("cut_over")
def test_our_own_link_still_does(client: Client, user: User) -> None:
    set_password(client, opened(client, path_of_link(user)))
    assert has_password(user, NEW)


def test_without_the_setting_it_does_not(user: User) -> None:
    assert is_refused(legacy_path(user))


@pytest.mark.usefixtures("cut_over")
@pytest.mark.parametrize("order", [(legacy_path, path_of_link), (path_of_link, legacy_path)])
def test_of_two_outstanding_links_one_of_each_sender_using_one_ends_the_other(
    client: Client, user: User, order: tuple[Callable[[User], str], Callable[[User], str]]
) -> None:
    used, other = (make(user) for make in order)
    late = Client()
    page = opened(late, other)
    set_password(client, opened(client, used))
    assert INVALID in set_password(late, page, "a third password").content.decode()
    assert is_refused(other)
    assert has_password(user, NEW)


@pytest.mark.usefixtures("cut_over")
def test_everything_that_belongs_to_a_reset_follows_it(client: Client, user: User) -> None:
    set_password(client, opened(client, legacy_path(user)))
    assert ResetIntent.objects.get().kind == "security_notice"


@pytest.mark.usefixtures("cut_over")
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"is_active": False}, id="inactive"),
        pytest.param({"password": make_password(None)}, id="signs in elsewhere only"),
    ],
)
def test_an_account_that_may_not_reset_its_password_may_not_by_either(
    user: User, changes: dict[str, Any]
) -> None:
    User.objects.filter(pk=user.pk).update(**changes)
    user.refresh_from_db()
    link = legacy_path(user)
    token = link.split("/")[-2]
    assert default_token_generator.check_token(user, token)
    assert is_refused(link)


@pytest.mark.usefixtures("cut_over")
def test_wrong_links_are_counted_as_ever(
    user: User, limits: redis.Redis[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "FAILURES", Rate(limit=1, period=dt.timedelta(hours=1)))
    wrong = legacy_path(user)[:-5] + "0000/"
    assert [Client().get(wrong).status_code for _ in range(2)] == [200, 429]
    assert Client().get(legacy_path(user)).status_code == 302


# Each link lives as long as its own sender says.


def test_neither_sender_takes_the_others_token_for_its_own(
    user: User, settings: Any, change: Settings
) -> None:
    change(LINK_KEYS=[settings.SECRET_KEY])
    directory = get_directory()
    assert isinstance(directory, DjangoUserDirectory)
    ours = directory.token_generator
    soon = utc_now().replace(microsecond=0) + MINUTE
    own, legacy = ours.make_token_until(user, soon), default_token_generator.make_token(user)
    assert ours.check_token(user, own)
    assert default_token_generator.check_token(user, legacy)
    assert not ours.check_token(user, legacy)
    assert not default_token_generator.check_token(user, own)


@pytest.mark.usefixtures("cut_over")
def test_our_link_that_expired_is_not_taken_for_one_of_the_other_sender(user: User) -> None:
    assert is_refused(path_of_link(user, utc_now().replace(microsecond=0) - MINUTE))


@pytest.mark.usefixtures("cut_over")
def test_the_existing_senders_link_expires_when_that_one_says(user: User, settings: Any) -> None:
    settings.PASSWORD_RESET_TIMEOUT = 60
    sent = PasswordResetTokenGenerator()
    # In the form that Django counts in: local and naive.
    sent._now = lambda: dt.datetime.now() - MINUTE * 2  # type: ignore[method-assign]  # noqa: DTZ005
    link = path_with(user, sent.make_token(user))
    assert is_refused(link)
    settings.PASSWORD_RESET_TIMEOUT = 600
    assert not is_refused(link)


# A generator that fails.


@pytest.mark.parametrize(
    "generator",
    [
        pytest.param(named(Raises), id="raises"),
        pytest.param(named(RaisesWhenMade), id="cannot be made"),
        pytest.param(named(FailsInTheDatabase), id="a statement of its fails"),
        pytest.param("no.such.Generator", id="is not there"),
    ],
)
def test_a_generator_that_fails_means_no_and_our_links_go_on_working(
    client: Client, user: User, change: Settings, caplog: pytest.LogCaptureFixture, generator: str
) -> None:
    page = opened(client, path_of_link(user))
    change(LEGACY_TOKEN_GENERATOR=generator)
    # A form to the link itself: its token is checked inside the page's own transaction.
    refused = set_password(Client(), legacy_path(user))
    assert INVALID in refused.content.decode()
    assert set_password(client, page).status_code == 302
    assert has_password(user, NEW)
    lines = [form.format(record) for form in formatters() for record in caplog.records]
    assert [line for line in lines if "legacy_link_check_failed" in line]
    assert [word for word in SECRET_TEXT.split() if any(word in line for line in lines)] == []


def test_an_answer_other_than_true_means_no(user: User, change: Settings) -> None:
    change(LEGACY_TOKEN_GENERATOR=named(SaysSomething))
    assert is_refused(legacy_path(user))


# A generator of the page's own.


@pytest.mark.usefixtures("cut_over")
def test_a_page_with_a_generator_of_its_own_takes_the_existing_senders_links_too(user: User) -> None:
    uid = urlsafe_base64_encode(str(user.pk).encode())
    request = RequestFactory().get("/")
    request.session = SessionStore()
    view = PasswordResetConfirmView.as_view(token_generator=Never())
    token = default_token_generator.make_token(user)
    assert view(request, uidb64=uid, token=token).status_code == 302
    assert not view(request, uidb64=uid, token="a-" + "0" * 32).context_data["validlink"]  # type: ignore[attr-defined]


# At start.


@pytest.mark.parametrize(
    ("generator", "says"),
    [
        ("", ""),
        (DJANGOS, ""),
        ("django.contrib.auth.tokens.PasswordResetTokenGenerator", ""),
        ("no.such.module", "(ModuleNotFoundError)"),
        (f"{__name__}.nothing", "(ImportError)"),
        (named(RaisesWhenMade), "made without arguments (RuntimeError)"),
        (f"{__name__}.accepts", "no method check_token"),
        (named(Asynchronous), "asynchronous"),
        (named(OfOneArgument), "does not take a user and a token"),
        (named(OurOwn), "our own links"),
    ],
)
def test_a_generator_that_cannot_check_is_found_at_start(change: Settings, generator: str, says: str) -> None:
    change(LEGACY_TOKEN_GENERATOR=generator)
    found = [m.msg for m in run_checks(tags=["resetdelivery"]) if m.id == "resetdelivery.E118"]
    assert len(found) == bool(says)
    assert all(says in message and SECRET_TEXT not in message for message in found)
