from __future__ import annotations

import datetime as dt
from contextlib import nullcontext
from typing import Any

import pytest

from notifications.channels import Channel
from resetdelivery.domain.request import (
    ResetRequest,
    absolute_expiry,
    checked_account,
    checked_channels,
    checked_key,
    checked_strategy,
    checked_times,
)
from resetdelivery.domain.retry import RetryPolicy
from resetdelivery.domain.states import Strategy
from resetdelivery.exceptions import (
    InvalidAccountRef,
    InvalidChannels,
    InvalidExpiry,
    InvalidIdempotencyKey,
    InvalidOption,
    InvalidRequest,
)

NOW = dt.datetime(2026, 10, 25, 0, 59, 59, 250_000, tzinfo=dt.UTC)
DEFAULT, LONGEST = dt.timedelta(minutes=15), dt.timedelta(hours=24)
#: Takes 33 s: one in the queue, two on the way, thirty for the reader.
POLICY = RetryPolicy()
NEW_YORK = dt.timezone(dt.timedelta(hours=-4))
SECRET = "anna.karenina@shop.example"


def seconds(count: float) -> dt.timedelta:
    return dt.timedelta(seconds=count)


def request(**changes: Any) -> ResetRequest:
    values: dict[str, Any] = {
        "account_ref": "7",
        "submitted": None,
        "channels": (Channel.EMAIL,),
        "lifetime": None,
        "expires_at": None,
        "idempotency_key": "k",
        "client": "local",
        "strategy": Strategy.ALL,
        "locale": None,
        "template_version": None,
    }
    return ResetRequest(**{**values, **changes})


def expiry(**changes: Any) -> dt.datetime:
    return absolute_expiry(
        request(**changes), now=NOW, default=DEFAULT, longest=LONGEST, policies=[POLICY, RetryPolicy()]
    )


TEXT_PROBLEMS = [
    ("", "must not be empty"),
    (" \t ", "must not be empty"),
    (SECRET * 10, "has 260 characters; 255 are allowed"),
    (SECRET + "\n", "holds a control character"),
    (SECRET + "\x00", "holds a control character"),
    (SECRET + "\x7f", "holds a control character"),
    (SECRET + "\x85", "holds a control character"),
    (SECRET + "\ud800", "half a surrogate pair"),
    (b"anna.karenina@shop.example", "must be a string, not bytes"),
    (7, "must be a string, not int"),
    (["anna"], "must be a string, not list"),
]


@pytest.mark.parametrize(("value", "words"), TEXT_PROBLEMS)
@pytest.mark.parametrize("name", ["account_ref", "submitted"])
def test_an_account_of_no_usable_form_is_refused_without_being_repeated(
    name: str, value: object, words: str
) -> None:
    given = {"account_ref": None, "submitted": None, name: value}
    with pytest.raises(InvalidAccountRef) as refused:
        checked_account(**given)
    text = str(refused.value)
    assert text.startswith(name)
    assert words in text
    assert "anna" not in text


@pytest.mark.parametrize(("ref", "typed"), [(None, None), ("7", SECRET)])
def test_an_account_is_named_in_exactly_one_way(ref: str | None, typed: str | None) -> None:
    with pytest.raises(InvalidAccountRef, match="exactly one of account_ref and submitted") as refused:
        checked_account(ref, typed)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("value", ["7", "x" * 255, "Ünï çødé", "a b", "a\u2028b", "~7"])
def test_a_plain_text_names_an_account(value: str) -> None:
    checked_account(value, None)
    checked_account(None, value)


@pytest.mark.parametrize(("value", "words"), TEXT_PROBLEMS)
def test_a_key_of_no_usable_form_is_refused_without_being_repeated(value: object, words: str) -> None:
    with pytest.raises(InvalidIdempotencyKey) as refused:
        checked_key(value, "local")
    assert words in str(refused.value)
    assert "anna" not in str(refused.value)


@pytest.mark.parametrize("client", ["", "x" * 65, "a\nb", None, 3])
def test_a_client_of_no_usable_form_is_refused(client: object) -> None:
    with pytest.raises(InvalidIdempotencyKey, match="client"):
        checked_key("k", client)


def test_a_key_may_be_as_long_as_255_characters() -> None:
    checked_key("k" * 255, "c" * 64)


@pytest.mark.parametrize(
    ("channels", "words"),
    [
        ("email", "must be a list of names, not str"),
        (7, "must be a list of names, not int"),
        (None, "must be a list of names, not NoneType"),
        ([], "must name at least one channel"),
        (["email", "email"], "names one channel twice"),
        (["fax"], "channels holds 'fax'; configured are 'email', 'sms'"),
        (["email", None], "holds a NoneType that is no channel's name"),
        ([["email"]], "holds a list that is no channel's name"),
        (b"email", "holds a int that is no channel's name"),
        ([SECRET], "holds a str that is no channel's name"),
        (["EMAIL"], "channels holds 'EMAIL'"),
    ],
)
def test_channels_of_no_usable_form_are_refused(channels: object, words: str) -> None:
    with pytest.raises(InvalidChannels) as refused:
        checked_channels(channels, list(Channel))
    assert words in str(refused.value)
    assert SECRET not in str(refused.value)


def test_a_channel_that_is_not_configured_is_unknown() -> None:
    with pytest.raises(InvalidChannels, match="holds 'sms'; configured are 'email'"):
        checked_channels(["sms"], [Channel.EMAIL])


@pytest.mark.parametrize("channels", [["sms", "email"], (Channel.SMS, "email"), iter(["sms", "email"])])
def test_channels_keep_the_order_they_are_given_in(channels: object) -> None:
    assert checked_channels(channels, list(Channel)) == (Channel.SMS, Channel.EMAIL)


@pytest.mark.parametrize("strategy", ["both", "", None, 1, ["all"], SECRET])
def test_a_strategy_that_does_not_exist_is_refused(strategy: object) -> None:
    with pytest.raises(InvalidOption, match="must be one of 'all', 'fallback'") as refused:
        checked_strategy(strategy)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("lifetime", "expires_at", "words"),
    [
        (seconds(60), NOW, "not both"),
        (900, None, "lifetime must be a datetime.timedelta, not int"),
        ("15m", None, "lifetime must be a datetime.timedelta, not str"),
        (None, 1_700_000_000, "expires_at must be a datetime, not int"),
        (None, dt.date(2026, 10, 25), "expires_at must be a datetime, not date"),
        (None, dt.datetime(2026, 10, 25, 1), "has no time zone"),  # noqa: DTZ001
    ],
)
def test_times_of_no_usable_form_are_refused(lifetime: object, expires_at: object, words: str) -> None:
    with pytest.raises(InvalidExpiry, match=words):
        checked_times(lifetime, expires_at)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lifetime": seconds(0)}, "in the past"),
        ({"lifetime": seconds(-60)}, "in the past"),
        ({"lifetime": dt.timedelta.min}, "before the first year"),
        ({"lifetime": dt.timedelta.max}, "the longest allowed"),
        ({"lifetime": LONGEST + dt.timedelta(microseconds=1)}, "1 day, 0:00:00 is the longest allowed"),
        ({"lifetime": seconds(33.7)}, "it takes 33 s"),  # cut to a whole second, 32.75 s
        ({"expires_at": NOW}, "in the past"),
        ({"expires_at": NOW - seconds(1)}, "0:00:01 in the past"),
        ({"expires_at": dt.datetime.min.replace(tzinfo=dt.timezone(seconds(50_000)))}, "in the past"),
        ({"expires_at": dt.datetime.max.replace(tzinfo=NEW_YORK)}, "the longest allowed"),
        ({"expires_at": NOW + LONGEST + seconds(1)}, "the longest allowed"),
    ],
)
def test_an_expiry_that_is_past_or_too_near_or_too_far_is_refused(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidExpiry, match=words):
        expiry(**changes)


@pytest.mark.parametrize(
    ("changes", "after"),
    [
        ({}, seconds(899.75)),
        ({"lifetime": seconds(33.75)}, seconds(33.75)),  # the shortest of use
        ({"lifetime": seconds(60)}, seconds(59.75)),
        ({"lifetime": LONGEST}, LONGEST - seconds(0.25)),
        ({"expires_at": NOW + LONGEST}, LONGEST - seconds(0.25)),
        ({"expires_at": (NOW + seconds(90)).astimezone(NEW_YORK)}, seconds(89.75)),
    ],
)
def test_an_expiry_is_in_whole_seconds_of_utc(changes: dict[str, Any], after: dt.timedelta) -> None:
    found = expiry(**changes)
    assert found.tzinfo is dt.UTC
    assert found.microsecond == 0
    assert found == (NOW + after).replace(microsecond=0)


def test_the_shortest_lifetime_is_that_of_the_channel_that_needs_most() -> None:
    slow = RetryPolicy(expected_latency_seconds=60)
    with pytest.raises(InvalidExpiry, match="it takes 91 s"):
        absolute_expiry(
            request(lifetime=seconds(90)), now=NOW, default=DEFAULT, longest=LONGEST, policies=[POLICY, slow]
        )


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        ({"lifetime": seconds(119.999)}, True),
        ({"lifetime": seconds(120)}, False),  # though whole seconds leave 119.75 of them
        ({"expires_at": NOW + seconds(119.999)}, True),
        ({"expires_at": NOW + seconds(120)}, False),
    ],
)
def test_less_than_the_shortest_lifetime_is_refused_as_it_was_asked_for(
    asked: dict[str, Any], refused: bool
) -> None:
    outcome = pytest.raises(InvalidExpiry, match="0:02:00 is the shortest") if refused else nullcontext()
    with outcome:
        absolute_expiry(
            request(**asked),
            now=NOW,
            default=DEFAULT,
            longest=LONGEST,
            shortest=seconds(120),
            policies=[POLICY],
        )


@pytest.mark.parametrize(
    "change",
    [
        {"account_ref": "8"},
        {"account_ref": None, "submitted": "7"},
        {"channels": (Channel.SMS,)},
        {"channels": (Channel.EMAIL, Channel.SMS)},
        {"lifetime": seconds(60)},
        {"expires_at": NOW},
        {"strategy": Strategy.FALLBACK},
        {"locale": "de"},
        {"template_version": "1"},
    ],
)
def test_a_request_that_differs_has_another_fingerprint(change: dict[str, Any]) -> None:
    assert request(**change).fingerprint() != request().fingerprint()


def test_the_key_and_the_client_are_not_part_of_what_was_asked() -> None:
    assert request(idempotency_key="other", client="web").fingerprint() == request().fingerprint()


def test_one_moment_is_the_same_request_in_every_time_zone() -> None:
    there = request(expires_at=NOW.astimezone(NEW_YORK))
    assert there.fingerprint() == request(expires_at=NOW).fingerprint()


@pytest.mark.parametrize(
    "edge",
    [
        dt.datetime.max.replace(tzinfo=NEW_YORK),
        dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=5))),
    ],
)
def test_a_moment_at_the_edge_of_the_calendar_has_a_fingerprint(edge: dt.datetime) -> None:
    assert request(expires_at=edge).fingerprint() != request().fingerprint()


def test_what_names_a_person_is_not_in_the_repr_of_a_request() -> None:
    shown = repr(request(account_ref=None, submitted=SECRET, idempotency_key="key-" + SECRET))
    assert SECRET not in shown


def test_every_refusal_can_be_caught_as_one_and_as_a_value_error() -> None:
    kinds = [InvalidAccountRef, InvalidChannels, InvalidExpiry, InvalidIdempotencyKey, InvalidOption]
    assert all(issubclass(kind, (InvalidRequest, ValueError)) for kind in kinds)
