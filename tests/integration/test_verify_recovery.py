"""Rows stranded on purpose: the verification passes with a sweep that works, and ends all of them."""

from __future__ import annotations

import datetime as dt
import threading
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from notifications.channels import Channel
from resetdelivery import recovery
from resetdelivery.account_locks import hold_accounts
from resetdelivery.claims import claim
from resetdelivery.conf import get_settings
from resetdelivery.cutover import stranded
from resetdelivery.cutover.stranded import CannotStrand
from resetdelivery.cutover.verification import CannotVerify
from resetdelivery.domain.states import Authority, DeliveryState
from resetdelivery.domain.verification import Kind
from resetdelivery.exceptions import AccountBusy
from resetdelivery.models import AuditEntry, Delivery, ResetIntent
from resetdelivery.reconciliation import reconcile
from resetdelivery.recovery import Swept
from resetdelivery.retention.policy import IS_DECOY
from resetdelivery.services import Admission, request_reset
from resetdelivery.telemetry.rollup import roll_up
from tests.brokers import Queue
from tests.integration.conftest import Settings
from tests.moved_clock import moved_clock
from tests.steps import pause, seconds, store
from tests.verifying import (
    not_ok,
    nothing_sent_or_left,
    of_kind,
    return_live_leases,
    run,
    short_waits,
)

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock", "nothing_sent_or_left", "short_waits"]

S = DeliveryState


# A sweep that works.


def test_a_sweep_claims_what_was_stranded_and_only_that(queue: Queue) -> None:
    found = run()
    assert not_ok(found) == []
    assert of_kind(found, Kind.LEASE_ABANDONED) == of_kind(found, Kind.HINT_LOST) == ["cancelled"] * 2
    assert (of_kind(found, Kind.LEASE_LIVE), of_kind(found, Kind.NOT_DUE)) == (["leased"], ["pending"])
    hinted = {
        str(one) for one in Delivery.objects.filter(pk__in=queue.ids).values_list("reference", flat=True)
    }
    assert hinted == {one.name for one in found.courses if one.kind in ("lease abandoned", "hint lost")}


def test_each_step_of_a_row_has_its_time(queue: Queue) -> None:
    for one in run().courses:
        if one.kind is Kind.LEASE_ABANDONED:
            times = (one.stranded.at, one.put_back_at, one.hinted_at, one.taken_at, one.ended_at)
            assert None not in times
            assert times == tuple(sorted(times))  # type: ignore[type-var]  # none is None


def test_they_live_no_shorter_than_a_reset_usually_does(queue: Queue) -> None:
    run()
    shortest = min(one.expires_at - one.created_at for one in ResetIntent.objects.all())
    assert shortest > get_settings().lifetime - seconds(1)


def test_what_passed_is_in_the_audit_trail_with_who_and_how(queue: Queue) -> None:
    run()
    entry = AuditEntry.objects.get()
    assert (entry.who, entry.action, entry.target) == ("anna", "recovery_verified", "email: recovery on")
    assert entry.why == "4 stranded, swept by the command"


def test_without_a_broker_all_of_them_lose_their_leases(change: Settings) -> None:
    change(DISPATCH="database")
    found = run()
    assert not_ok(found) == []
    assert of_kind(found, Kind.LEASE_ABANDONED) == ["cancelled"] * 4
    assert of_kind(found, Kind.HINT_LOST) == []


def test_rows_of_others_are_not_taken(queue: Queue) -> None:
    (row,) = store(overdue=5)
    assert not_ok(run()) == []
    row.refresh_from_db()
    assert (row.state, row.lease_token, row.claims) == (S.PENDING, 0, 0)


def test_a_row_of_others_that_filled_a_gap_is_given_back(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    (row,) = store(overdue=5)

    def late(channel: Channel, *, ids: Any, limit: int, **options: Any) -> Any:
        # As if a worker had taken one of ours between the look and the claim.
        return claim(channel, ids=ids, limit=limit + (options["lease_seconds"] == 30), **options)

    monkeypatch.setattr(stranded, "claim", late)
    assert not_ok(run()) == []
    row.refresh_from_db()
    assert (row.state, row.lease_token, row.claims) == (S.PENDING, 1, 0)


def test_the_rows_are_deleted_as_those_of_unknown_accounts_are(queue: Queue) -> None:
    run()
    assert ResetIntent.objects.extra(where=[IS_DECOY]).count() == ResetIntent.objects.count() == 6


def test_what_they_add_to_the_counts_agrees_with_the_rows(queue: Queue) -> None:
    run()
    roll_up()
    report = reconcile(dt.timedelta(hours=1))
    assert report.ok, "\n".join(report.lines())


# One row of an account of the operator's own.


def test_a_row_of_a_test_account_is_rendered_and_shadowed(queue: Queue, account: Any) -> None:
    found = run(account_ref=str(account.pk))
    assert not_ok(found) == []
    assert sorted(of_kind(found, Kind.LEASE_ABANDONED)) == ["cancelled", "shadowed"]


def test_an_unknown_test_account_is_refused_without_naming_it(queue: Queue) -> None:
    with pytest.raises(CannotStrand, match=r"no account of this reference \(9 characters\)"):
        run(account_ref="999999999")
    assert not Delivery.objects.exists()


def test_a_test_account_with_a_reset_under_way_is_not_disturbed(queue: Queue, account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    with pytest.raises(CannotStrand, match="has a reset under way"):
        run(account_ref=str(account.pk))
    assert Delivery.objects.get().state == S.PENDING


def test_what_a_test_account_asks_for_meanwhile_is_a_request_of_its_own(
    queue: Queue, monkeypatch: pytest.MonkeyPatch, account: Any
) -> None:
    asked: list[Admission] = []
    sweep = recovery.sweep

    def ask_and_sweep(**options: Any) -> Swept:
        asked.append(request_reset(account_ref=str(account.pk), channels=["email"]))
        return sweep(**options)

    monkeypatch.setattr(recovery, "sweep", ask_and_sweep)
    run(account_ref=str(account.pk), timeout=seconds(0.1))
    assert not asked[0].coalesced
    assert Delivery.objects.get(intent__reference=asked[0].reference).authority == Authority.PIPELINE


@pytest.mark.django_db(transaction=True)
def test_a_test_account_whose_request_is_being_stored_is_waited_for_and_no_longer(
    queue: Queue, change: Settings, account: Any
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer")
    change(ADMISSION_LOCK_TIMEOUT=seconds(0.1))
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            hold_accounts([str(account.pk)], using="default")
            held.set()
            done.wait(20)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(20)
        with pytest.raises(AccountBusy):
            run(account_ref=str(account.pk))
    finally:
        done.set()
        thread.join(20)
    assert not Delivery.objects.exists()


# Ends before it began, or in the middle.


@pytest.mark.parametrize(
    ("changed", "options", "words"),
    [
        ({"RECOVERY": "off"}, {}, "Set it to observe"),
        ({}, {"number": 1}, "write 2 to 20"),
        ({}, {"number": 21}, "write 2 to 20"),
        ({}, {"timeout": seconds(601)}, "write 1 to 600"),
        ({"CHANNELS": {"sms": {"TRANSPORT": "tests.transports.sms"}}}, {}, "has no email"),
    ],
)
def test_what_cannot_be_verified_strands_nothing(
    change: Settings, changed: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    change(**changed)
    with pytest.raises(CannotVerify, match=words):
        run(**options)
    assert not Delivery.objects.exists()


def test_a_paused_channel_is_not_verified(queue: Queue) -> None:
    pause()
    with pytest.raises(CannotStrand, match="Resume it first"):
        run()
    assert not Delivery.objects.exists()


@pytest.mark.parametrize(
    "stops", ["resetdelivery.recovery.sweep", "resetdelivery.cutover.stranded.Strand.deliver"]
)
@pytest.mark.parametrize("with_", [KeyboardInterrupt, RuntimeError])
def test_nothing_is_left_open_where_it_is_stopped(
    queue: Queue, monkeypatch: pytest.MonkeyPatch, stops: str, with_: type[BaseException]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise with_

    monkeypatch.setattr(stops, stop)
    with pytest.raises(with_):
        run()
    assert Delivery.objects.count() == 6
    assert not AuditEntry.objects.exists()


# The command.


def test_the_command_says_what_became_of_each_row(queue: Queue, capsys: Any) -> None:
    call_command("rollout", "verify-recovery", "email", "--sweep-here", "--number", "4")
    said = capsys.readouterr().out
    assert said.count("lease abandoned") == said.count("hint lost") == 2
    assert said.count("cancelled (unknown_account)") == 4
    assert said.count("left alone") == 4  # each in its row, and in its line below
    assert "Verified, and in the audit trail" in said


def test_the_command_takes_every_channel_where_it_is_given_none(queue: Queue) -> None:
    call_command("rollout", "verify-recovery", "--sweep-here")
    assert set(AuditEntry.objects.values_list("target", flat=True)) == {
        "email: recovery on",
        "sms: recovery on",
    }


def test_the_command_exits_with_one_and_says_what_was_wanted(
    queue: Queue, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    return_live_leases(monkeypatch)
    with pytest.raises(SystemExit) as ended:
        call_command("rollout", "verify-recovery", "email", "--sweep-here", "--timeout", "1")
    assert ended.value.code == 1
    said = capsys.readouterr().out
    (line,) = [line for line in said.splitlines() if line.startswith("not ok")]
    assert " ".join(line.split()) == "not ok live lease left alone it was touched; wanted: untouched"
    assert "Not verified" in said


def test_the_command_names_what_to_set_first(change: Settings) -> None:
    change(RECOVERY="off")
    with pytest.raises(CommandError, match="Set it to observe everywhere first"):
        call_command("rollout", "verify-recovery", "email")
