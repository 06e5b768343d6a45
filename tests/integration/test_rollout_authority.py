"""Who sends is decided at admission, once, and named to the caller once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import Authority
from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.services import Admission, request_reset
from tests.integration.conftest import Settings
from tests.senders import POSITIONS, SECRET, move, number_of, senders_of
from tests.steps import take

pytestmark = pytest.mark.django_db

A = Authority
EMAIL, SMS = Channel.EMAIL, Channel.SMS
BOTH = ["email", "sms"]


def ask(account: Any, *channels: str, **options: Any) -> Admission:
    return request_reset(account_ref=str(account.pk), channels=list(channels) or ["email"], **options)


# One account.


@pytest.mark.parametrize(
    ("mode", "beyond", "authority", "told"),
    [
        ("legacy", 1000, A.LEGACY, (EMAIL,)),
        ("shadow", 1000, A.SHADOW, (EMAIL,)),
        ("live", 0, A.SHADOW, (EMAIL,)),
        ("live", 1, A.PIPELINE, ()),
    ],
)
def test_a_mode_and_a_slice_say_who_sends_and_the_caller_is_told(
    account: Any, mode: str, beyond: int, authority: Authority, told: tuple[Channel, ...]
) -> None:
    move(EMAIL, mode, min(number_of(str(account.pk)) + beyond, 1000))
    first = ask(account)
    assert (senders_of(first), first.legacy_channels) == ({"email": authority}, told)


def test_a_channel_that_nobody_ever_moved_is_ours(account: Any) -> None:
    first = ask(account, *BOTH)
    assert (set(senders_of(first).values()), first.legacy_channels) == ({A.PIPELINE}, ())


def test_an_account_has_one_number_on_all_channels(account: Any) -> None:
    for channel in Channel:
        move(channel, "live", number_of(str(account.pk)) + 1)
    assert ask(account, *BOTH).legacy_channels == ()
    for channel in Channel:
        move(channel, "live", number_of(str(account.pk)))
    assert ask(account, *BOTH).legacy_channels == (EMAIL, SMS)


def test_addresses_that_nobody_has_are_spread_over_the_slices_as_well(db: None) -> None:
    move(EMAIL, "live", 500)
    seen = set()
    for n in range(12):
        first = request_reset(submitted=f"nobody{n}@shop.example", channels=["email"])
        ref = ResetIntent.objects.get(reference=first.reference).account_ref
        expected = A.PIPELINE if number_of(ref) < 500 else A.SHADOW
        assert senders_of(first) == {"email": expected}
        assert first.legacy_channels == (() if expected is A.PIPELINE else (EMAIL,))
        seen.add(expected)
    assert seen == {A.PIPELINE, A.SHADOW}


KEYS = {"t1": SECRET, "t2": "the next pseudonym key"}


@pytest.mark.parametrize("order", [("t1",), ("t1", "t2"), ("t2", "t1")])
@pytest.mark.parametrize("who", ["account", "nobody"])
def test_a_new_key_moves_nobody_wherever_it_stands(
    account: Any, change: Settings, who: str, order: tuple[str, ...]
) -> None:
    """docs/security.md has it added at the end first, and moved to the front later."""
    request: dict[str, Any] = {"submitted": account.email if who == "account" else "nobody@shop.example"}
    before = request_reset(channels=["email"], **request)
    ref = ResetIntent.objects.get(reference=before.reference).account_ref
    change(PSEUDONYM_KEYS={name: KEYS[name] for name in order})
    again = request_reset(channels=["email"], **request)
    assert (again.reference, again.coalesced) == (before.reference, True)
    for size, told in ((number_of(ref), (EMAIL,)), (number_of(ref) + 1, ())):
        move(EMAIL, "live", size)
        assert request_reset(channels=["email"], **request).legacy_channels == told


def test_who_sends_is_named_once_whatever_is_asked_again(account: Any) -> None:
    move(EMAIL, "shadow")
    first = ask(account, *BOTH, idempotency_key="1")
    replay = ask(account, *BOTH, idempotency_key="1")
    joined = ask(account, *BOTH, idempotency_key="2")
    assert (replay.replayed, joined.coalesced) == (True, True)
    assert [one.legacy_channels for one in (first, replay, joined)] == [(EMAIL,), (), ()]


def test_a_replay_after_a_step_of_the_rollout_still_names_nobody(account: Any) -> None:
    first = ask(account, idempotency_key="1")
    move(EMAIL, "legacy")
    replay = ask(account, idempotency_key="1")
    assert (replay.replayed, first.legacy_channels, replay.legacy_channels) == (True, (), ())
    assert senders_of(replay) == {"email": A.PIPELINE}


def test_what_was_rolled_back_is_told_when_it_is_asked_for_again(account: Any) -> None:
    """So an existing sender that keeps its task in the same transaction has it exactly once."""
    move(EMAIL, "legacy")
    with transaction.atomic():
        assert ask(account, idempotency_key="1").legacy_channels == (EMAIL,)
        transaction.set_rollback(True)
    again = ask(account, idempotency_key="1")
    assert (again.replayed, again.legacy_channels) == (False, (EMAIL,))


def test_who_lost_the_answer_is_told_once_a_worker_has_taken_the_reset(
    account: Any, email: ScriptedTransport
) -> None:
    """The gap of docs/delivery-semantics.md, and where it ends."""
    move(EMAIL, "legacy")
    lost = ask(account)
    joined = ask(account)
    deliver(EMAIL, fill_at_once=True)
    anew = ask(account)
    assert lost.legacy_channels == anew.legacy_channels == (EMAIL,)
    assert (joined.coalesced, joined.legacy_channels, anew.coalesced) == (True, (), False)


# A request after a step of the rollout.


@pytest.mark.parametrize("after", list(POSITIONS))
@pytest.mark.parametrize("before", list(POSITIONS))
def test_a_request_joins_only_what_has_todays_sender(account: Any, before: str, after: str) -> None:
    move(EMAIL, before)
    first = ask(account)
    move(EMAIL, after)
    second = ask(account)
    assert second.coalesced is (before == after)
    assert senders_of(second) == {"email": POSITIONS[after]}
    assert second.legacy_channels == ((EMAIL,) if before != after and after != "live" else ())
    if before != after:
        # The step takes back what nobody sent; what was told is told.
        assert senders_of(first) == {"email": POSITIONS[before]}
        assert ResetIntent.objects.get(reference=first.reference).cancel_reason == "superseded"


def test_only_the_channels_that_are_asked_for_decide_on_joining(account: Any) -> None:
    first = ask(account, *BOTH)
    move(EMAIL, "legacy")
    assert ask(account, "sms").reference == first.reference


# One typed address, several accounts.

FAMILY = "family@shop.example"


@pytest.fixture
def family(make_account: Callable[..., Any], db: None) -> list[Any]:
    """Accounts whose own numbers lie on both sides of the one they go by, which is the first one's."""
    return [make_account(id=900_000 + n, email=FAMILY) for n in (1, 2, 3)]


@pytest.fixture
def first_over_its_limit(family: list[Any], change: Settings, sms: ScriptedTransport) -> None:
    change(ACCOUNT_PER_HOUR=1)
    ask(family[0], "sms")
    deliver(SMS)


def ask_family(**options: Any) -> Admission:
    return request_reset(submitted=FAMILY, **{"channels": ["email"], **options})


def refs_of(family: list[Any]) -> list[str]:
    return [str(one.pk) for one in family]


@pytest.mark.parametrize(("beyond", "authority", "told"), [(1, A.PIPELINE, ()), (0, A.SHADOW, (EMAIL,))])
def test_accounts_that_share_an_address_have_one_sender(
    family: list[Any], beyond: int, authority: Authority, told: tuple[Channel, ...]
) -> None:
    """The existing sender, told once, sends to all of them."""
    refs = refs_of(family)
    assert number_of(refs[1]) < number_of(*refs) == number_of(refs[0]) < number_of(refs[2])
    move(EMAIL, "live", number_of(*refs) + beyond)
    assert ask_family().legacy_channels == told
    stored = Delivery.objects.values_list("intent__account_ref", "authority")
    assert dict(stored) == dict.fromkeys(refs, authority)


def test_accounts_that_share_an_address_join_together(family: list[Any]) -> None:
    move(EMAIL, "shadow")
    first, again = ask_family(), ask_family()
    assert (again.coalesced, again.legacy_channels) == (True, ())
    assert (first.legacy_channels, ResetIntent.objects.count()) == ((EMAIL,), len(family))


def test_where_one_has_to_be_told_of_anew_none_joins_what_was_told_before(
    family: list[Any], make_account: Callable[..., Any]
) -> None:
    """Else the existing sender would send twice to those who joined, or never to the new one."""
    move(EMAIL, "shadow")
    ask_family()
    before = set(ResetIntent.objects.values_list("pk", flat=True))
    newcomer = make_account(email=FAMILY)
    again = ask_family()
    new = ResetIntent.objects.exclude(pk__in=before)
    assert set(new.values_list("account_ref", flat=True)) == set(refs_of([*family, newcomer]))
    assert (again.coalesced, again.legacy_channels) == (False, (EMAIL,))
    assert set(ResetIntent.objects.filter(pk__in=before).values_list("cancel_reason", flat=True)) == {
        "superseded"
    }


def test_where_one_account_was_taken_by_a_worker_none_joins(family: list[Any]) -> None:
    move(EMAIL, "legacy")
    ask_family()
    take(limit=1)
    assert ask_family().legacy_channels == (EMAIL,)
    assert ResetIntent.objects.count() == 2 * len(family)


def test_where_all_of_it_is_ours_each_joins_for_itself(
    family: list[Any], make_account: Callable[..., Any]
) -> None:
    ask_family()
    make_account(email=FAMILY)
    assert ask_family().coalesced
    assert ResetIntent.objects.count() == len(family) + 1


def test_an_account_over_its_limit_does_not_keep_the_others_from_being_told_of(
    family: list[Any], first_over_its_limit: None
) -> None:
    move(EMAIL, "shadow")
    assert ask_family().legacy_channels == (EMAIL,)
    assert ResetIntent.objects.filter(cancel_reason="account_limit").count() == 1


def test_the_answer_and_its_replay_are_about_an_account_that_the_existing_sender_was_told_of(
    family: list[Any], first_over_its_limit: None
) -> None:
    move(EMAIL, "shadow")
    first = ask_family(idempotency_key="1")
    replay = ask_family(idempotency_key="1")
    assert (replay.replayed, replay.reference) == (True, first.reference)
    assert ResetIntent.objects.get(reference=first.reference).account_ref == str(family[1].pk)


def test_the_answer_is_about_an_account_that_a_reset_can_get_to(family: list[Any]) -> None:
    family[0].is_active = False
    family[0].save()
    move(EMAIL, "shadow")
    first = ask_family()
    assert ResetIntent.objects.get(reference=first.reference).account_ref == str(family[1].pk)


def test_where_nobody_is_told_the_answer_is_about_the_first_account(
    family: list[Any], first_over_its_limit: None
) -> None:
    assert ResetIntent.objects.get(reference=ask_family().reference).account_ref == str(family[0].pk)


def test_an_account_over_its_limit_does_not_keep_the_others_from_joining(
    family: list[Any], first_over_its_limit: None
) -> None:
    move(EMAIL, "shadow")
    ask_family()
    again = ask_family()
    assert again.legacy_channels == ()
    mine = ResetIntent.objects.filter(account_ref=str(family[1].pk))
    assert list(mine.values_list("cancel_reason", flat=True)) == [""]
