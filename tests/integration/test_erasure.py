from __future__ import annotations

import datetime as dt
import io
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.admission.transaction import DECOY_PREFIX
from resetdelivery.audit import InvalidAuditEntry
from resetdelivery.clock import database_now
from resetdelivery.conf import get_settings
from resetdelivery.delivery import deliver
from resetdelivery.directory import get_directory
from resetdelivery.erasure import NOBODY, ErasedRows, ErasureReceipt
from resetdelivery.exceptions import InvalidAccountRef
from resetdelivery.models import (
    Attempt,
    AuditEntry,
    Delivery,
    IdempotencyKey,
    LimitUse,
    ResetIntent,
)
from resetdelivery.recovery import sweep
from resetdelivery.retention import purge
from resetdelivery.services import forget_account, notify_password_changed, request_reset
from resetdelivery.telemetry.rollup import roll_up
from resetdelivery.timeline.answers import lasting
from tests.conftest import age
from tests.moved_clock import moved_clock
from tests.rolled import Numbers, counts, displayed, pass_minutes, truth
from tests.steps import ACCEPTED, BUSY, answer, record, take

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]


def ask(account: Any, *channels: str, **options: Any) -> ResetIntent:
    admission = request_reset(
        account_ref=str(account.pk), channels=list(channels) or ["email", "sms"], **options
    )
    return ResetIntent.objects.get(reference=admission.reference)


def forget(account: Any) -> ErasureReceipt:
    return forget_account(account_ref=str(account.pk))


def left() -> dict[str, int]:
    """How many rows there are of what may name an account."""
    return {
        model.__name__: model._default_manager.count()
        for model in (ResetIntent, Delivery, Attempt, IdempotencyKey, LimitUse)
    }


NOTHING = dict.fromkeys(("ResetIntent", "Delivery", "Attempt", "IdempotencyKey", "LimitUse"), 0)


def counted() -> Numbers:
    """Every counter, as it is scraped after a pass of the rollup."""
    roll_up()
    return counts(displayed())


# What goes.


def test_everything_of_an_account_is_deleted(
    account: Any, email: ScriptedTransport, sms: ScriptedTransport
) -> None:
    ask(account)
    for channel in Channel:
        deliver(channel)
    receipt = forget(account)
    assert receipt.deleted == ErasedRows(
        intents=1, deliveries=2, attempts=2, idempotency_keys=1, limit_uses=3
    )
    assert (receipt.stopped, receipt.held, receipt.held_until) == (0, 0, None)
    assert left() == NOTHING


def test_other_accounts_stay_as_they_are(
    make_account: Callable[..., Any], db: None, email: ScriptedTransport
) -> None:
    mine, other = make_account(), make_account()
    ask(mine)
    kept = ask(other)
    deliver(Channel.EMAIL)
    others = [
        list(model._default_manager.filter(**{way: kept}).values())
        for model, way in ((Delivery, "intent"), (Attempt, "delivery__intent"), (IdempotencyKey, "intent"))
    ]
    forget(mine)
    assert left() == {"ResetIntent": 1, "Delivery": 2, "Attempt": 1, "IdempotencyKey": 1, "LimitUse": 3}
    assert others == [
        list(model._default_manager.filter(**{way: kept}).values())
        for model, way in ((Delivery, "intent"), (Attempt, "delivery__intent"), (IdempotencyKey, "intent"))
    ]


def test_what_is_open_is_stopped_and_deleted_where_nobody_holds_it(
    account: Any, email: ScriptedTransport
) -> None:
    ask(account, strategy="fallback")
    receipt = forget(account)
    assert (receipt.stopped, receipt.deleted.deliveries, receipt.held) == (1, 2, 0)
    assert left() == NOTHING
    deliver(Channel.EMAIL)
    assert email.messages == []


def test_a_notice_is_stopped_too(account: Any) -> None:
    assert notify_password_changed(account_ref=str(account.pk))
    assert forget(account).stopped == 1
    assert left() == NOTHING


def test_uses_that_an_older_key_names_are_deleted_as_well(account: Any, change: Callable[..., None]) -> None:
    ask(account)
    change(PSEUDONYM_KEYS={"t2": "a newer pseudonym key for tests", "t1": "a pseudonym key for tests"})
    ask(account)
    assert len(set(LimitUse.objects.values_list("key_digest", flat=True))) == 6
    assert forget(account).deleted.limit_uses == 6
    assert left() == NOTHING


def test_uses_of_destinations_that_an_account_had_not_are_deleted(make_account: Callable[..., Any]) -> None:
    account = make_account(phone="")
    ask(account)
    account.phone = "+4915199999999"
    account.save()
    forget(account)
    assert LimitUse.objects.count() == 0


def test_an_account_that_the_directory_lost_leaves_only_what_cannot_be_named(account: Any) -> None:
    ask(account)
    ref = str(account.pk)
    account.delete()
    receipt = forget_account(account_ref=ref)
    assert receipt.destinations_known is False
    assert left() == {**NOTHING, "LimitUse": 2}


def test_an_account_of_which_nothing_is_stored_is_forgotten_as_well(account: Any) -> None:
    receipt = forget(account)
    assert (receipt.deleted, receipt.stopped, receipt.held) == (ErasedRows(), 0, 0)


def test_more_intents_than_one_statement_takes_are_deleted(
    account: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resetdelivery.erasure.BATCH", 2)
    for _ in range(5):
        intent = ask(account)
        Delivery.objects.filter(intent=intent).update(lease_token=1)  # nobody joins it any more
    assert ResetIntent.objects.count() == 5
    assert forget(account).deleted.intents == 5
    assert left() == NOTHING


# What a worker holds.


def test_what_is_leased_is_unlinked_at_once_and_never_sent(account: Any) -> None:
    intent = ask(account, "email")
    claimed = take()
    receipt = forget(account)
    assert (receipt.stopped, receipt.held, receipt.deleted.intents) == (1, 1, 0)
    assert receipt.held_until == Delivery.objects.get().lease_expires_at
    intent.refresh_from_db()
    assert (intent.account_ref, intent.account_digest) == (NOBODY, "")
    assert record(claimed) == []
    assert left() == {**NOTHING, "ResetIntent": 1, "Delivery": 1}


def test_what_is_being_submitted_settles_without_its_account(account: Any) -> None:
    intent = ask(account, "email")
    marked = record(take())
    assert forget(account).held == 1
    answer(marked, BUSY)
    intent.refresh_from_db()
    assert (intent.state, intent.account_ref) == ("closed", NOBODY)
    assert Delivery.objects.get().reason == "withdrawn"


def test_what_was_accepted_meanwhile_stays_accepted(account: Any) -> None:
    ask(account, "email")
    marked = record(take())
    forget(account)
    answer(marked, ACCEPTED)
    assert Delivery.objects.get().state == "accepted"


def test_a_held_intent_whose_worker_died_is_ended_by_the_sweep(account: Any) -> None:
    ask(account, "email")
    take()
    forget(account)
    age(60)
    sweep()
    assert Delivery.objects.get().state == "cancelled"
    assert ResetIntent.objects.get().state == "closed"


def test_what_was_held_is_purged_like_a_decoy(account: Any) -> None:
    ask(account, "email")
    marked = record(take())
    forget(account)
    answer(marked, ACCEPTED)
    rows = truth()
    pass_minutes(get_settings().keep_decoys // dt.timedelta(minutes=1) + 1)
    roll_up()
    purge()
    assert left() == NOTHING
    assert counted() == counts(rows)


def test_nobodys_reference_is_one_that_no_directory_resolves_to(account: Any) -> None:
    assert NOBODY.startswith(DECOY_PREFIX)
    assert get_directory().get_many({NOBODY}) == {}


def test_the_account_can_ask_again_while_its_old_intent_is_held(account: Any) -> None:
    ask(account, "email", idempotency_key="k")
    take()
    forget(account)
    again = request_reset(account_ref=str(account.pk), channels=["email"], idempotency_key="k")
    assert (again.replayed, again.coalesced) == (False, False)


def test_a_worker_that_comes_back_after_its_row_is_gone_changes_nothing(account: Any) -> None:
    ask(account, "email")
    marked = record(take())
    age(60)
    Delivery.objects.update(due_at=database_now(connection))
    forget(account)
    sweep()
    ResetIntent.objects.update(account_ref=str(account.pk), scrubbed_at=None)
    forget(account)
    (settled,) = answer(marked, ACCEPTED)
    assert settled.fenced_out
    assert left() == NOTHING


# What stays right.


def test_counters_stay_as_they_were(account: Any, email: ScriptedTransport, sms: ScriptedTransport) -> None:
    ask(account)
    for channel in Channel:
        deliver(channel)
    before = counted()
    assert before == counts(truth())
    assert before["finished", "email", "accepted"] == 1
    forget(account)
    assert counted() == before
    pass_minutes(30)
    assert counted() == before


def test_counters_stay_as_they_were_after_their_minutes_were_closed(
    account: Any, email: ScriptedTransport
) -> None:
    ask(account, "email")
    deliver(Channel.EMAIL)
    pass_minutes(30)
    before = counted()
    assert before["finished", "email", "accepted"] == 1
    forget(account)
    assert counted() == before


def test_what_was_not_counted_yet_is_counted_as_it_goes(account: Any, email: ScriptedTransport) -> None:
    ask(account, "email")
    deliver(Channel.EMAIL)
    rows = truth()
    forget(account)
    assert counted() == counts(rows)


def test_the_audit_trail_says_who_and_why_and_not_whose(account: Any, email: ScriptedTransport) -> None:
    ask(account, "email")
    deliver(Channel.EMAIL)
    forget_account(account_ref=str(account.pk), who="anna", why="ticket 4711")
    entry = AuditEntry.objects.get()
    assert (entry.who, entry.action, entry.why) == ("anna", "forget_account", "ticket 4711")
    assert entry.target == "an account: 1 intents, 1 deliveries, 1 attempts"


def test_a_refused_audit_entry_leaves_everything(account: Any) -> None:
    ask(account)
    before = left()
    with pytest.raises(InvalidAuditEntry):
        forget_account(account_ref=str(account.pk), who="")
    assert left() == before
    assert ResetIntent.objects.get().state == "open"


def test_no_reference_is_no_account() -> None:
    with pytest.raises(InvalidAccountRef):
        forget_account(account_ref=" ")


def test_no_column_names_the_account_afterwards(make_account: Callable[..., Any], db: None) -> None:
    account = make_account(pk=77_700_001)
    ask(account, "email")
    take()
    ask(account, "sms")
    forget_account(account_ref="77700001", why="asked for")
    for model in apps.get_app_config("resetdelivery").get_models():
        assert "77700001" not in repr(list(model._default_manager.values()))


# The command.


def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("forget_account", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_the_command_prints_what_was_done_and_not_whose(
    make_account: Callable[..., Any], email: ScriptedTransport
) -> None:
    account = make_account(pk=77_700_002)
    ask(account, "email")
    deliver(Channel.EMAIL)
    printed = command("77700002", "--no-input", "--why", "ticket 4711")
    assert "its reference has 8 characters" in printed
    assert "77700002" not in printed
    assert [line.split() for line in printed.splitlines() if line.startswith("  ")] == [
        ["1", "intents"],
        ["1", "deliveries"],
        ["1", "attempts"],
        ["1", "idempotency", "keys"],
        ["2", "limit", "uses"],
    ]
    assert "left: nothing" in printed
    assert AuditEntry.objects.get().why == "ticket 4711"


def test_the_command_says_what_a_worker_holds_and_until_when(account: Any) -> None:
    ask(account, "email")
    take()
    printed = command(str(account.pk), "--no-input")
    until = Delivery.objects.get().lease_expires_at
    assert until
    assert f"left: 1 intents that a worker holds. They name the account no more, end by {until:%H:%M:%S}" in (
        printed
    )
    assert f"deleted by purge {lasting(get_settings().keep_decoys)} later" in printed


def test_the_command_says_what_it_could_not_name() -> None:
    assert "the directory does not know the account" in command("404", "--no-input")


@pytest.mark.parametrize("answered", ["no", "", "y"])
def test_the_command_changes_nothing_unless_told_to(
    account: Any, monkeypatch: pytest.MonkeyPatch, answered: str
) -> None:
    ask(account)
    before = left()
    monkeypatch.setattr("builtins.input", lambda _: answered)
    with pytest.raises(CommandError, match="Nothing was changed"):
        command(str(account.pk))
    assert left() == before


def test_the_command_goes_on_where_it_is_told_to(account: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(account)
    monkeypatch.setattr("builtins.input", lambda _: "yes")
    command(str(account.pk))
    assert left() == NOTHING


def test_the_command_reads_the_reference_where_it_leaves_no_trace(
    account: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(account)
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{account.pk}\n"))
    command("-", "--no-input")
    assert left() == NOTHING


def test_the_command_cannot_ask_whom_it_reads_from(account: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(account)
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{account.pk}\n"))
    with pytest.raises(CommandError, match="--no-input"):
        command("-")
    assert ResetIntent.objects.count() == 1


def test_the_command_repeats_no_reference_that_it_refuses() -> None:
    with pytest.raises(CommandError) as raised:
        command("\x07" + "7" * 300, "--no-input")
    assert "777" not in str(raised.value)
