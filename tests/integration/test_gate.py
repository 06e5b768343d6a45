"""Each claimed row is looked at again, now, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications.channels import Channel
from notifications.exceptions import InvalidMessage
from notifications.outcome import Reason
from notifications.testing import ScriptedTransport
from resetdelivery import gate
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, ChannelControl, Delivery, ResetIntent
from resetdelivery.recovery import sweep
from resetdelivery.services import request_reset
from tests.conftest import age, the_delivery
from tests.steps import seconds, take

pytestmark = pytest.mark.django_db

S = DeliveryState
Change = Callable[[Any], None]


def ask(account: Any, *channels: str, **options: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=list(channels) or ["email"], **options)


def change_password(account: Any) -> None:
    account.set_password("another horse")
    account.save()


def change_address(account: Any) -> None:
    account.email = "new@shop.example"
    account.save()


def change_phone(account: Any) -> None:
    account.phone = "+4915100000000"
    account.save()


def deactivate(account: Any) -> None:
    account.is_active = False
    account.save()


def delete(account: Any) -> None:
    account.delete()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (change_password, "account_changed"),
        (change_address, "account_changed"),
        (change_phone, "account_changed"),
        (deactivate, "account_changed"),
        (delete, "unknown_account"),
    ],
)
def test_a_reset_of_an_account_that_changed_is_cancelled_and_not_linked_anew(
    account: Any, email: ScriptedTransport, change: Change, reason: str
) -> None:
    ask(account)
    change(account)
    deliver(Channel.EMAIL)
    row = the_delivery()
    assert (row.state, row.reason, row.attempts, email.messages) == (S.CANCELLED, reason, 0, [])
    assert (ResetIntent.objects.get().state, Attempt.objects.count()) == ("closed", 0)


@pytest.mark.parametrize(
    ("fields", "channel", "state", "reason"),
    [
        ({"is_active": False}, "email", S.CANCELLED, "account_inactive"),
        ({"password": None}, "email", S.CANCELLED, "account_inactive"),
        ({"phone": ""}, "sms", S.FAILED, "no_destination"),
        ({"phone": "12"}, "sms", S.FAILED, "no_destination"),
        ({"email": ""}, "email", S.FAILED, "no_destination"),
    ],
)
def test_an_account_that_cannot_be_reached_gets_nothing(
    make_account: Callable[..., Any],
    db: None,
    email: ScriptedTransport,
    fields: dict[str, Any],
    channel: str,
    state: S,
    reason: str,
) -> None:
    ask(make_account(**fields), channel)
    deliver(Channel(channel))
    row = the_delivery(Channel(channel))
    assert (row.state, row.reason) == (state, reason)
    assert email.messages == []


def test_a_decoy_ends_as_an_unknown_account(db: None, email: ScriptedTransport) -> None:
    request_reset(submitted="nobody@shop.example", channels=["email"])
    deliver(Channel.EMAIL)
    assert (the_delivery().state, the_delivery().reason) == (S.CANCELLED, "unknown_account")
    assert email.messages == []


@pytest.mark.parametrize(
    ("mode", "state", "rendered"), [("legacy", S.WITHHELD, False), ("shadow", S.SHADOWED, True)]
)
def test_what_the_existing_sender_sends_is_not_sent_by_us(
    account: Any,
    email: ScriptedTransport,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    state: S,
    rendered: bool,
) -> None:
    built: list[Any] = []
    build = gate.build_message

    def note_and_build(*args: Any) -> Any:
        built.append(args)
        return build(*args)

    monkeypatch.setattr(gate, "build_message", note_and_build)
    ChannelControl.objects.create(channel="email", mode=mode)
    admission = request_reset(account_ref=str(account.pk), channels=["email"])
    deliver(Channel.EMAIL)
    assert the_delivery().state == state
    assert (admission.legacy_channels, email.messages) == ((Channel.EMAIL,), [])
    assert (bool(built), Attempt.objects.count()) == (rendered, 0)


def test_a_message_that_must_not_be_submitted_fails_with_its_reason(
    account: Any, email: ScriptedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise InvalidMessage(Reason.INVALID_DESTINATION)

    monkeypatch.setattr(gate, "build_message", refuse)
    ask(account)
    deliver(Channel.EMAIL)
    assert (the_delivery().state, the_delivery().reason) == (S.FAILED, "invalid_destination")


def test_a_batch_is_judged_with_one_look_up(
    make_account: Callable[..., Any], db: None, email: ScriptedTransport
) -> None:
    for _ in range(5):
        ask(make_account())
    batch = take()
    with CaptureQueriesContext(connection) as captured:
        judged = gate.judge_batch(batch, now=batch[0].claimed_at)
    assert (len(judged.ready), len(judged.refused), len(captured)) == (5, 0, 1)


def test_one_row_that_cannot_be_judged_holds_up_no_other(
    make_account: Callable[..., Any], db: None, email: ScriptedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = [make_account() for _ in range(3)]
    for account in accounts:
        ask(account)
    poison = str(accounts[1].pk)
    build = gate.build_message

    def fail_for_one(claimed: Any, *rest: Any) -> Any:
        if claimed.account_ref == poison:
            raise ValueError(accounts[1].email)
        return build(claimed, *rest)

    monkeypatch.setattr(gate, "build_message", fail_for_one)
    assert deliver(Channel.EMAIL) == 3
    left = Delivery.objects.get(intent__account_ref=poison)
    assert (len(email.messages), left.state) == (2, S.LEASED)


def test_a_row_that_can_never_be_judged_ends_with_its_claims(
    account: Any, email: ScriptedTransport, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    def fail(*_: Any) -> None:
        raise ValueError

    settings.RESETDELIVERY = {**settings.RESETDELIVERY, "MAX_CLAIMS": 3}
    monkeypatch.setattr(gate, "build_message", fail)
    ask(account)
    for _ in range(3):
        deliver(Channel.EMAIL)
        age(31)
        sweep()
    assert (the_delivery().state, the_delivery().reason) == (S.FAILED, "claims_used_up")


class Away:
    """An account system that does not answer."""

    def get_many(self, refs: Collection[str]) -> None:
        raise TimeoutError(f"no answer about {refs}")


def test_while_the_account_system_is_away_rows_are_given_back_and_use_up_no_claim(
    account: Any, email: ScriptedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(account)
    with monkeypatch.context() as patch:
        patch.setattr(gate, "get_directory", Away)
        for _ in range(12):
            with pytest.raises(TimeoutError):
                deliver(Channel.EMAIL)
    row = the_delivery()
    assert (row.state, row.claims, row.hinted_at) == (S.PENDING, 0, None)
    deliver(Channel.EMAIL)
    assert len(email.messages) == 1


def test_a_retry_after_the_password_was_changed_is_not_made(account: Any, email: ScriptedTransport) -> None:
    ask(account)
    Delivery.objects.update(attempts=1, outcome="transient")
    change_password(account)
    deliver(Channel.EMAIL)
    row = the_delivery()
    assert (row.state, row.reason, row.outcome) == (S.CANCELLED, "account_changed", "transient")


def test_time_that_runs_out_between_the_claim_and_the_gate_expires_the_row(
    account: Any, email: ScriptedTransport
) -> None:
    ask(account)
    batch = take()
    late = batch[0].expires_at - seconds(6.9)
    judged = gate.judge_batch(batch, now=late)
    ((_, verdict),) = judged.refused
    assert (verdict.state, verdict.reason) == (S.EXPIRED, "no_useful_time_left")


@pytest.mark.parametrize(
    ("regions", "state", "reason"),
    [([], S.ACCEPTED, "ok"), (["DE"], S.ACCEPTED, "ok"), (["FR"], S.FAILED, "invalid_destination")],
)
def test_an_sms_goes_only_to_the_countries_that_are_allowed(
    regions: list[str], state: str, reason: str, account: Any, sms: ScriptedTransport, settings: Any
) -> None:
    channels = settings.RESETDELIVERY["CHANNELS"]
    channels = {**channels, "sms": {**channels["sms"], "REGIONS": regions}}
    settings.RESETDELIVERY = {**settings.RESETDELIVERY, "CHANNELS": channels}
    ask(account, "sms")
    deliver(Channel.SMS)
    row = the_delivery(Channel.SMS)
    assert (row.state, row.reason) == (state, reason)
    assert len(sms.messages) == (1 if state == S.ACCEPTED else 0)
