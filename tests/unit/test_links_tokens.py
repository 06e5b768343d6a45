from __future__ import annotations

import datetime as dt
import inspect
from typing import Any

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.tokens import PasswordResetTokenGenerator, default_token_generator
from django.test import override_settings

from examples.marketplace.models import User
from resetdelivery.conf import Settings, get_settings
from resetdelivery.links import ResetTokenGenerator

EXPIRES_AT = dt.datetime(2027, 3, 14, 12, 30, tzinfo=dt.UTC)
TICK = dt.timedelta(microseconds=1)


def customer(**changes: Any) -> User:
    given = {"pk": 7, "email": "anna@shop.example", "phone": "+4915228817386", "password": "md5$salt$digest"}
    return User(**{**given, **changes})


def generator(now: dt.datetime = EXPIRES_AT - dt.timedelta(minutes=5)) -> ResetTokenGenerator:
    return ResetTokenGenerator(email_field="email", phone_field="phone", clock=lambda: now)


def token_of(user: User, expires_at: dt.datetime = EXPIRES_AT) -> str:
    return generator(expires_at - dt.timedelta(minutes=5)).make_token_until(user, expires_at)


def with_link_keys(*keys: str) -> override_settings:
    return override_settings(RESETDELIVERY={"LINK_KEYS": list(keys)})


def test_a_token_works_up_to_its_expiry() -> None:
    assert generator(EXPIRES_AT - TICK).check_token(customer(), token_of(customer()))


def test_a_token_is_dead_at_exactly_its_expiry() -> None:
    assert not generator(EXPIRES_AT).check_token(customer(), token_of(customer()))


def test_a_retry_makes_the_same_token_at_another_time() -> None:
    first = generator(EXPIRES_AT - dt.timedelta(minutes=9)).make_token_until(customer(), EXPIRES_AT)
    retry = generator(EXPIRES_AT - dt.timedelta(minutes=1)).make_token_until(customer(), EXPIRES_AT)
    assert first == retry


def test_the_expiry_is_the_moment_whatever_zone_it_is_written_in() -> None:
    india = dt.timezone(dt.timedelta(hours=5, minutes=30))
    assert token_of(customer(), EXPIRES_AT.astimezone(india)) == token_of(customer())


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"password": "md5$salt$other"}, id="password"),
        pytest.param({"email": "anna@elsewhere.example"}, id="email"),
        pytest.param({"email": "Anna@shop.example"}, id="email, other local part"),
        pytest.param({"email": ""}, id="email removed"),
        pytest.param({"phone": "+4917604069001"}, id="phone"),
        pytest.param({"phone": ""}, id="phone removed"),
        pytest.param({"pk": 8}, id="another account"),
        pytest.param({"is_active": False}, id="inactive"),
        pytest.param({"password": make_password(None)}, id="no usable password"),
    ],
)
def test_a_token_dies_when_what_it_was_made_of_changes(changes: dict[str, Any]) -> None:
    assert not generator().check_token(customer(**changes), token_of(customer()))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"last_login": EXPIRES_AT}, id="signed in meanwhile"),
        pytest.param({"username": "renamed"}, id="username"),
        pytest.param({"email": "anna@SHOP.example"}, id="the same mailbox"),
        pytest.param({"phone": "+49 1522 881-7386"}, id="the same number"),
    ],
)
def test_a_token_outlives_what_does_not_concern_it(changes: dict[str, Any]) -> None:
    assert generator().check_token(customer(**changes), token_of(customer()))


@pytest.mark.parametrize(
    "changes",
    [{"is_active": False}, {"password": make_password(None)}],
    ids=["inactive", "single sign-on only"],
)
def test_an_account_that_may_not_reset_is_refused_even_its_own_token(changes: dict[str, Any]) -> None:
    user = customer(**changes)
    assert not generator().check_token(user, token_of(user))


def test_what_moves_between_two_neighbouring_parts_makes_another_token() -> None:
    first = token_of(customer(pk=1, password="1x", email="", phone=""))
    second = token_of(customer(pk=11, password="x", email="", phone=""))
    assert first.partition("-")[2] != second.partition("-")[2]


def test_a_user_without_contact_points_has_a_token() -> None:
    bare = ResetTokenGenerator(clock=lambda: EXPIRES_AT - TICK)
    assert bare.check_token(customer(), bare.make_token_until(customer(), EXPIRES_AT))


@pytest.mark.parametrize("timeout", [1, 60, 10**9])
def test_the_setting_password_reset_timeout_moves_nothing(timeout: int) -> None:
    token = token_of(customer())
    with override_settings(PASSWORD_RESET_TIMEOUT=timeout):
        assert token_of(customer()) == token
        assert generator(EXPIRES_AT - TICK).check_token(customer(), token)
        assert not generator(EXPIRES_AT).check_token(customer(), token)


def test_the_stock_generator_rejects_our_tokens() -> None:
    soon = dt.datetime.now(dt.UTC).replace(microsecond=0) + dt.timedelta(minutes=5)
    token = ResetTokenGenerator(email_field="email").make_token_until(customer(), soon)
    assert not default_token_generator.check_token(customer(), token)


def test_our_generator_rejects_stock_tokens() -> None:
    assert not generator().check_token(customer(), default_token_generator.make_token(customer()))


def test_a_stock_token_made_with_our_key_is_rejected_too() -> None:
    stock = PasswordResetTokenGenerator()
    stock.secret = get_settings().signing_keys()[0]
    long_ago = generator(dt.datetime(2002, 1, 1, tzinfo=dt.UTC))
    assert not long_ago.check_token(customer(), stock.make_token(customer()))


def test_what_was_signed_for_another_purpose_is_no_token() -> None:
    class Elsewhere(ResetTokenGenerator):
        key_salt = PasswordResetTokenGenerator.key_salt

    signed = Elsewhere(email_field="email", phone_field="phone", clock=generator()._clock)
    assert not generator().check_token(customer(), signed.make_token_until(customer(), EXPIRES_AT))


def test_a_token_of_an_older_key_still_works_after_a_rotation() -> None:
    with with_link_keys("the older link key"):
        old = token_of(customer())
    with with_link_keys("the newer link key", "the older link key"):
        assert generator().check_token(customer(), old)
        assert token_of(customer()) != old


def test_a_token_of_a_dropped_key_is_dead() -> None:
    with with_link_keys("the older link key"):
        old = token_of(customer())
    with with_link_keys("the newer link key"):
        assert not generator().check_token(customer(), old)


def test_a_later_expiry_written_into_a_token_is_refused() -> None:
    stamp, _, mac = token_of(customer()).partition("-")
    later, _, _ = token_of(customer(), EXPIRES_AT + dt.timedelta(hours=1)).partition("-")
    assert later > stamp
    assert not generator().check_token(customer(), f"{later}-{mac}")


@pytest.mark.parametrize(
    "garbage",
    [
        None,
        "",
        "-",
        "set-password",
        "abc",
        "a-b-c",
        "zzzzzzzzzzzzz-" + "0" * 32,
        "zzzzzzzzzzzzzz-" + "0" * 32,
        "ﬁ12345-" + "0" * 32,
        "\ud800-" + "0" * 32,
        "d8y5q0-" + "٣" * 32,
        "D8Y5Q0-" + "0" * 32,
        "d8y5q0-" + "0" * 32 + "\n",
        "0" * 100_000,
    ],
)
def test_garbage_is_no_token(garbage: str | None) -> None:
    assert generator().check_token(customer(), garbage) is False


def test_no_user_has_no_token() -> None:
    assert generator().check_token(None, token_of(customer())) is False


@pytest.mark.parametrize(
    ("expires_at", "sentence"),
    [
        (EXPIRES_AT.replace(tzinfo=None), "must be aware, not naive"),
        (EXPIRES_AT + TICK, "must be a whole second, but has 1 microseconds"),
        (EXPIRES_AT + dt.timedelta(days=2), "may be 1 day, 0:00:00 away"),
    ],
    ids=["naive", "fraction", "too far"],
)
def test_an_expiry_that_no_link_may_have_is_refused(expires_at: dt.datetime, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        generator().make_token_until(customer(), expires_at)


def test_the_longest_lifetime_may_be_used_in_full_by_a_clock_that_is_a_little_slow() -> None:
    slow = EXPIRES_AT - Settings().max_lifetime - dt.timedelta(minutes=4)
    assert generator(slow).make_token_until(customer(), EXPIRES_AT)


def test_a_token_without_an_expiry_is_not_made() -> None:
    with pytest.raises(TypeError, match="make_token_until"):
        generator().make_token(customer())


def test_django_still_has_the_private_method_that_tokens_are_made_with() -> None:
    signature = inspect.signature(PasswordResetTokenGenerator._make_token_with_timestamp)
    assert list(signature.parameters) == ["self", "user", "timestamp", "secret"]


def test_a_token_is_six_base_36_digits_of_the_expiry_and_half_a_sha256() -> None:
    stamp, _, mac = token_of(customer()).partition("-")
    assert dt.datetime(2001, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=int(stamp, 36)) == EXPIRES_AT
    assert (len(stamp), len(mac)) == (6, 32)
