from __future__ import annotations

from typing import Any

import pytest

from notifications.channels import Channel
from resetdelivery.conf import get_settings
from resetdelivery.directory import Account
from resetdelivery.domain.limits import Limit, LimitKind, Suppression, Uses, is_used_up, total
from resetdelivery.domain.reasons import CancelReason, SuppressReason
from resetdelivery.limits import AccountKeys, counting, limit_keys, suppression

EMAIL, SMS = Channel.EMAIL, Channel.SMS
LIMIT = Limit(per_hour=3, per_day=8)


# The arithmetic.


@pytest.mark.parametrize(
    ("in_hour", "in_day", "used_up"),
    [
        (0, 0, False),
        (2, 2, False),
        (2, 7, False),
        (3, 3, True),
        (4, 4, True),
        (0, 7, False),
        (0, 8, True),
        (3, 8, True),
    ],
)
def test_a_limit_is_used_up_when_one_more_would_be_one_too_many(
    in_hour: int, in_day: int, used_up: bool
) -> None:
    assert is_used_up(LIMIT, Uses(in_hour=in_hour, in_day=in_day)) is used_up


def test_what_was_counted_under_an_older_key_is_added() -> None:
    found = [Uses(in_hour=1, in_day=4), Uses(in_hour=2, in_day=2)]
    assert total(found) == Uses(in_hour=3, in_day=6)
    assert total([]) == Uses(in_hour=0, in_day=0)


@pytest.mark.parametrize(
    ("account", "over", "asked", "reason"),
    [
        (False, [], [EMAIL, SMS], None),
        (False, [EMAIL], [EMAIL, SMS], None),
        (False, [EMAIL], [EMAIL], CancelReason.DESTINATION_LIMIT),
        (False, [EMAIL, SMS], [SMS, EMAIL], CancelReason.DESTINATION_LIMIT),
        (True, [], [EMAIL, SMS], CancelReason.ACCOUNT_LIMIT),
        (True, [EMAIL, SMS], [EMAIL, SMS], CancelReason.ACCOUNT_LIMIT),
    ],
)
def test_an_intent_is_stopped_where_nothing_of_it_could_be_sent(
    account: bool, over: list[Channel], asked: list[Channel], reason: CancelReason | None
) -> None:
    assert Suppression(account=account, channels=frozenset(over)).of_intent(asked) is reason


def test_a_delivery_is_suppressed_on_the_channel_whose_destination_is_used_up() -> None:
    suppressed = Suppression(channels=frozenset({SMS}))
    assert suppressed.of_delivery(SMS) is SuppressReason.DESTINATION_LIMIT
    assert suppressed.of_delivery(EMAIL) is SuppressReason.NONE


# What is counted by.


def account(email: str = "anna@shop.example", phone: str = "+4915112345678") -> Account:
    return Account(ref="7", state="", email=email, phone=phone)


def keys(of: Account | None, ref: str = "7") -> AccountKeys:
    return limit_keys(ref, of, [EMAIL, SMS])


@pytest.mark.parametrize("of", [account(), account(email="", phone=""), account(phone=""), None])
def test_everybody_has_one_key_and_one_for_each_channel(of: Account | None) -> None:
    assert [key.kind for key in keys(of).all()] == [LimitKind.ACCOUNT] + [LimitKind.DESTINATION] * 2
    assert len({key.name for key in keys(of).all()}) == 3


@pytest.mark.parametrize(
    "spelling", ["anna@shop.example", "ANNA@Shop.Example", " anna@shop.example ", "Anna@shop.example"]
)
def test_spellings_of_one_mailbox_are_one_destination(spelling: str) -> None:
    assert keys(account(email=spelling)).destinations[EMAIL] == keys(account()).destinations[EMAIL]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("anna@münchen.example", "anna@xn--mnchen-3ya.example"),
        ("anna@MÜNCHEN.example", "anna@münchen.example"),
        ("anna@no host", "ANNA@no host"),
        ("no address at all", "No address at all"),
    ],
)
def test_two_forms_of_one_address_are_one_destination(one: str, other: str) -> None:
    assert keys(account(email=one)).destinations[EMAIL] == keys(account(email=other)).destinations[EMAIL]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("+5491123456789", "+541123456789"),
        ("+5215512345678", "+525512345678"),
        ("12", "12"),
    ],
)
def test_two_forms_of_one_number_are_one_destination(one: str, other: str) -> None:
    assert keys(account(phone=one)).destinations[SMS] == keys(account(phone=other)).destinations[SMS]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (account(), account(email="bert@shop.example", phone="+4915112345679")),
        (account(email="", phone=""), account()),
        (None, account()),
    ],
)
def test_different_destinations_are_counted_apart(one: Account | None, other: Account) -> None:
    names = [{key.name for key in keys(of).destinations.values()} for of in (one, other)]
    assert names[0].isdisjoint(names[1])


def test_accounts_without_a_destination_share_none() -> None:
    nowhere = account(email="", phone="")
    one, other = keys(nowhere, "7"), keys(nowhere, "8")
    assert {k.name for k in one.all()}.isdisjoint(k.name for k in other.all())


def test_a_destination_is_the_same_for_every_account_that_has_it() -> None:
    one, other = keys(account(), "7"), keys(account(), "8")
    assert one.destinations == other.destinations
    assert one.account != other.account


def test_an_address_cannot_be_made_to_look_like_a_stand_in() -> None:
    """A channel, a kind and a text are parts of their own, whatever the text is."""
    nowhere = keys(account(email=""), "7").destinations[EMAIL]
    assert keys(account(email="nowhere7"), "8").destinations[EMAIL] != nowhere
    assert keys(account(email="7"), "8").destinations[EMAIL] != nowhere


def test_no_key_shows_what_it_was_made_of() -> None:
    shown = repr(keys(account()))
    assert "anna" not in shown
    assert "15112345678" not in shown


def test_a_key_is_looked_for_under_every_configured_key_and_stored_under_the_first(settings: Any) -> None:
    settings.RESETDELIVERY = {
        "PSEUDONYM_KEYS": {"new": "the new key", "old": "the old key"},
        "RESET_BASE_URL": "https://shop.example",
    }
    key = keys(account()).account
    assert [name.partition(":")[0] for name in key.names] == ["new", "old"]
    assert key.name == key.names[0]
    assert list(get_settings().pseudonym_keys) == ["new", "old"]


# What a request uses.


def by_name(own: AccountKeys) -> dict[str, str]:
    return {"account": own.account.name} | {c.value: key.name for c, key in own.destinations.items()}


@pytest.mark.parametrize(
    ("suppressed", "used"),
    [
        (Suppression(), {"account", EMAIL, SMS}),
        (Suppression(channels=frozenset({SMS})), {"account", EMAIL}),
        (Suppression(channels=frozenset({EMAIL, SMS})), set()),
        (Suppression(account=True), set()),
        (Suppression(account=True, channels=frozenset({SMS})), set()),
    ],
)
def test_only_what_may_be_sent_is_counted(suppressed: Suppression, used: set[str]) -> None:
    own = keys(account())
    names = by_name(own)
    assert set(counting(own, suppressed)) == {names[one] for one in used}


@pytest.mark.parametrize("over", [[], ["account"], [EMAIL], ["account", EMAIL, SMS]])
def test_what_is_used_up_is_what_is_suppressed(over: list[str]) -> None:
    own = keys(account())
    names = by_name(own)
    found = suppression(own, {names[one] for one in over})
    assert found.account is ("account" in over)
    assert found.channels == frozenset(over) - {"account"}
