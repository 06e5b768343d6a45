from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import InternalError, connection
from django.db.models import F

from notifications.channels import Channel
from resetdelivery.clock import database_now
from resetdelivery.conf import get_settings
from resetdelivery.models import (
    Attempt,
    Delivery,
    EventMinute,
    EventTotal,
    IdempotencyKey,
    OutcomeMinute,
    OutcomeTotal,
    ResetIntent,
)
from resetdelivery.reconciliation import Balance, InvalidWindow, Report, Surplus, reconcile, rows
from resetdelivery.reconciliation.snapshot import snapshot
from resetdelivery.recovery import sweep
from resetdelivery.retention import purge
from resetdelivery.services import cancel_resets, forget_account, request_reset
from resetdelivery.telemetry.rollup import roll_up
from tests.conftest import age
from tests.interleavings.racing import alone
from tests.later_words import attempt_of, hear
from tests.moved_clock import moved_clock
from tests.rolled import pass_minutes
from tests.steps import ACCEPTED, BUSY, REFUSED, answer, record, seconds, take

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]

MakeAccount = Callable[..., Any]
HOUR = dt.timedelta(hours=1)


def report() -> Report:
    return reconcile(HOUR)


def off() -> dict[str, int]:
    """By check, channel and label, how much larger the left side is."""
    return {" ".join(filter(None, (one.check, one.of))): one.difference for one in report().differences}


def balance(check: str, channel: str = "email") -> Balance:
    (found,) = [one for one in report().balances if (one.check, one.channel) == (check, channel)]
    return found


def ask(account: Any, *channels: str) -> None:
    request_reset(account_ref=str(account.pk), channels=list(channels) or ["email"])


def close_minutes() -> None:
    """Half an hour goes by, and the minutes of what was done are closed."""
    pass_minutes(30)
    roll_up()


def purge_all() -> None:
    """Everything grows old and is purged."""
    IdempotencyKey.objects.all().delete()
    pass_minutes(get_settings().keep_minutes // dt.timedelta(minutes=1))
    purge()


@pytest.fixture
def past(make_account: MakeAccount, db: None) -> None:
    """Of everything one, in closed minutes: a retry, receipts, a refusal, a cancel, a decoy, a zombie."""
    for outcomes, receipt in (
        ([BUSY, ACCEPTED], "delivered"),
        ([ACCEPTED], "failed"),
        ([ACCEPTED], ""),
        ([REFUSED], ""),
    ):
        ask(make_account())
        for outcome in outcomes:
            answer(record(take()), outcome)
            Delivery.objects.filter(state="pending").update(due_at=database_now(connection))
        if receipt:
            hear(Attempt.objects.latest("pk"), receipt)
    account = make_account()
    ask(account)
    cancel_resets(account_ref=str(account.pk))
    request_reset(submitted="nobody@shop.example", channels=["email"])
    Delivery.objects.filter(state="pending").update(
        state="cancelled", reason="unknown_account", finished_at=database_now(connection)
    )
    ResetIntent.objects.filter(state="open").update(state="closed", closed_at=database_now(connection))
    ask(make_account())
    marked = record(take())
    age(60)
    sweep()
    answer(marked, ACCEPTED)
    age(3000)
    Delivery.objects.filter(state="pending").update(
        state="expired", reason="no_useful_time_left", finished_at=database_now(connection) - seconds(2900)
    )
    ResetIntent.objects.filter(state="open").update(
        state="closed", closed_at=database_now(connection) - seconds(2900)
    )
    roll_up()


@pytest.fixture
def present(past: None, make_account: MakeAccount) -> None:
    """The same, and beside it what goes on just now."""
    ask(make_account(), "email", "sms")
    answer(record(take(Channel.SMS)), ACCEPTED)
    answer(record(take()), BUSY)
    ask(make_account())
    ask(make_account())
    claimed = take(limit=2)
    record(claimed[:1])


# What agrees.


def test_an_empty_database_agrees(db: None) -> None:
    assert report().ok


def test_what_was_counted_agrees_with_what_is_stored(past: None) -> None:
    assert off() == {}
    assert balance("admitted_ever").left == 7


def test_what_goes_on_just_now_makes_no_difference(present: None) -> None:
    assert off() == {}
    ever = balance("admitted_ever")
    assert {state: n for state, n in ever.parts.items() if not state.startswith("finished")} == {
        "pending": 1,
        "leased": 1,
        "submitting": 1,
    }
    assert balance("admitted").parts["in flight"] == 3
    assert balance("attempts").parts["running"] == 1
    assert balance("admitted", "sms").parts == {"accepted": 1, "in flight": 0}


def test_accepted_attempts_are_those_with_a_receipt_and_the_unconfirmed(past: None) -> None:
    assert balance("accepted").parts == {"delivered": 1, "failed": 1, "unconfirmed": 1}


def test_it_agrees_while_the_rollup_stands_still(make_account: MakeAccount) -> None:
    ask(make_account())
    answer(record(take()), ACCEPTED)
    found = report()
    assert found.ok
    assert found.closed_before is None


def test_it_agrees_after_an_account_was_forgotten(past: None, make_account: MakeAccount) -> None:
    for ref in ResetIntent.objects.exclude(account_ref__startswith="~").values_list("account_ref", flat=True):
        forget_account(account_ref=ref)
    assert ResetIntent.objects.count() == 1
    assert off() == {}
    roll_up()
    assert off() == {}


def test_it_agrees_after_an_account_was_forgotten_before_its_minute_was_closed(
    make_account: MakeAccount,
) -> None:
    account = make_account()
    ask(account)
    answer(record(take()), ACCEPTED)
    forget_account(account_ref=str(account.pk))
    assert off() == {}
    ever = balance("admitted_ever")
    assert (ever.left, ever.right) == (1, 1)
    close_minutes()
    assert off() == {}


def test_it_agrees_after_decoys_were_purged(past: None, change: Callable[..., None]) -> None:
    change(KEEP_DECOYS=seconds(60))
    IdempotencyKey.objects.all().delete()
    purge()
    assert ResetIntent.objects.filter(account_ref__startswith="~").count() == 0
    assert off() == {}
    assert balance("admitted").surplus is Surplus.DECOYS_DELETED


def test_it_agrees_after_what_a_worker_held_was_purged_as_nobodys(
    account: Any, change: Callable[..., None]
) -> None:
    change(KEEP_DECOYS=seconds(60))
    ask(account, "email", "sms")
    marked = record(take())
    forget_account(account_ref=str(account.pk))
    answer(marked, ACCEPTED)
    hear(attempt_of(), "delivered")
    close_minutes()
    assert off() == {}
    purge()
    assert ResetIntent.objects.count() == 0
    assert off() == {}
    close_minutes()
    assert off() == {}


def test_it_agrees_after_everything_was_purged(past: None) -> None:
    purge_all()
    assert (ResetIntent.objects.count(), OutcomeMinute.objects.count()) == (0, 0)
    assert off() == {}


def test_a_receipt_that_was_replaced_by_a_weightier_one_is_no_difference(account: Any) -> None:
    ask(account)
    answer(record(take()), ACCEPTED)
    hear(attempt_of(), "progress")
    close_minutes()
    hear(attempt_of(), "delivered")
    assert off() == {}
    close_minutes()
    assert off() == {}


# What does not.


def test_a_deleted_attempt_is_named(past: None) -> None:
    Attempt.objects.filter(outcome="transient").delete()
    assert off() == {"attempts email": -1, "attempt_rows email": 1, "outcome_minutes email transient": 1}


def test_the_deleted_last_attempt_of_a_delivery_is_named_too(account: Any) -> None:
    ask(account)
    answer(record(take()), ACCEPTED)
    Attempt.objects.all().delete()
    assert off() == {"attempt_rows email": 1, "accepted_deliveries email": 1}


def test_a_minute_that_was_doubled_is_named(past: None) -> None:
    OutcomeMinute.objects.filter(outcome="permanent").update(attempts=F("attempts") * 2)
    EventMinute.objects.filter(event="expired_usefully").update(count=F("count") * 2)
    assert off() == {
        "attempts email": -1,
        "outcome_minutes email permanent": 1,
        "outcome_totals email permanent": -1,
        "event_minutes email expired_usefully no_useful_time_left": 1,
        "event_totals email expired_usefully no_useful_time_left": -1,
    }


def test_a_minute_that_lost_its_counts_is_named(past: None) -> None:
    OutcomeMinute.objects.filter(outcome="permanent").delete()
    assert off() == {"attempts email": 1, "outcome_minutes email permanent": -1}


def test_a_minute_too_many_and_one_too_few_are_told_apart(make_account: MakeAccount) -> None:
    for _ in range(2):
        ask(make_account())
        answer(record(take()), ACCEPTED)
        close_minutes()
    first, second = OutcomeMinute.objects.order_by("minute")
    OutcomeMinute.objects.filter(pk=first.pk).update(attempts=0)
    OutcomeMinute.objects.filter(pk=second.pk).update(attempts=2)
    found = [one for one in report().differences if one.check == "outcome_minutes"]
    assert sorted((one.difference, one.minutes) for one in found) == [(-1, 1), (1, 1)]


def test_a_lost_total_of_attempts_is_named(past: None) -> None:
    OutcomeTotal.objects.filter(outcome="accepted").update(attempts=F("attempts") - 1)
    assert off() == {"outcome_totals email accepted": -1}


def test_a_lost_total_of_events_is_named(past: None) -> None:
    EventTotal.objects.filter(event="finished", label="cancelled").delete()
    assert off() == {"admitted_ever email": 2, "event_totals email finished cancelled": -2}


def test_a_total_that_is_lost_after_its_minutes_were_purged_is_named(past: None) -> None:
    purge_all()
    EventTotal.objects.filter(event="admitted").update(count=F("count") - 1)
    assert off() == {"admitted_ever email": -1}


def test_a_deleted_delivery_is_named(past: None) -> None:
    Delivery.objects.filter(reason="withdrawn").delete()
    assert off() == {
        "admitted email": 1,
        "event_minutes email admitted pipeline": 1,
        "event_minutes email finished cancelled": 1,
    }


def test_a_deleted_open_delivery_is_named(past: None, account: Any) -> None:
    ask(account)
    close_minutes()
    Delivery.objects.filter(state="pending").delete()
    assert off() == {
        "admitted_ever email": 1,
        "admitted email": 1,
        "open_intents": 1,
        "event_minutes email admitted pipeline": 1,
    }


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("accepted", "failed", {"bounced email": 1}),
        ("accepted", "delivered", {"delivered email": 1}),
        ("delivered", "accepted", {"told email": 1}),
        (
            "accepted",
            "expired",
            {
                "accepted_attempts email": 1,
                "event_minutes email finished accepted": 1,
                "event_minutes email finished expired": -1,
                "event_minutes email expired_usefully": -1,
            },
        ),
        (
            "cancelled",
            "failed",
            {"event_minutes email finished cancelled": 2, "event_minutes email finished failed": -2},
        ),
    ],
)
def test_a_state_that_was_changed_by_hand_is_named(
    past: None, before: str, after: str, named: dict[str, int]
) -> None:
    Delivery.objects.filter(state=before).update(state=after)
    found = off()
    assert {name.replace(" ok", ""): number for name, number in found.items()} == named


def test_a_finished_delivery_that_was_opened_again_by_hand_is_named(past: None) -> None:
    Delivery.objects.filter(state="expired").update(state="pending", finished_at=None)
    assert off() == {
        "admitted_ever email": -1,
        "closed_intents": 1,
        "event_minutes email finished expired": 1,
        "event_minutes email expired_usefully no_useful_time_left": 1,
    }


def test_an_intent_that_was_opened_again_by_hand_is_named(past: None) -> None:
    ids = list(ResetIntent.objects.values_list("pk", flat=True)[:2])
    ResetIntent.objects.filter(pk__in=ids).update(state="open", closed_at=None)
    assert off() == {"open_intents": 2}


def test_a_submission_without_its_attempt_is_named(present: None) -> None:
    Attempt.objects.filter(outcome="").delete()
    assert off() == {"submitting email": 1, "attempt_rows email": 1}


def test_a_running_attempt_without_its_submission_is_named(present: None) -> None:
    Delivery.objects.filter(state="submitting").update(state="pending", lease_owner="", lease_expires_at=None)
    assert off() == {"running email": 1}


def test_a_difference_says_how_large_it_is_on_which_side_and_what_it_can_mean(past: None) -> None:
    Attempt.objects.filter(outcome="transient").delete()
    (said,) = [one.sentence() for one in report().differences if one.check == "attempts"]
    assert "attempts in the window 5" in said
    assert "1 more on the right. Perhaps attempts were deleted by hand, or counted twice." in said


# Windows.


@pytest.mark.parametrize("window", [seconds(59), dt.timedelta(days=7, seconds=1)])
def test_a_window_that_cannot_be_is_an_error(db: None, window: dt.timedelta) -> None:
    with pytest.raises(InvalidWindow, match=r"from 0:01:00 to 7 days, 0:00:00 are allowed"):
        reconcile(window)


@pytest.mark.parametrize("window", [seconds(60), dt.timedelta(days=7)])
def test_windows_from_a_minute_to_a_week_are_looked_at(present: None, window: dt.timedelta) -> None:
    assert reconcile(window).ok


def test_what_retention_does_not_keep_is_not_looked_at(past: None, change: Callable[..., None]) -> None:
    change(KEEP_ATTEMPTS=seconds(1800))
    purge()
    assert Attempt.objects.count() == 0
    found = report()
    assert found.at - found.since <= seconds(1800)
    assert found.ok


# The command.


def command(*arguments: str) -> tuple[str, int]:
    """What the command prints, and its exit code."""
    out = io.StringIO()
    try:
        call_command("reconcile", *arguments, stdout=out)
    except SystemExit as ended:
        return out.getvalue(), int(str(ended.code))
    return out.getvalue(), 0


def test_the_command_ends_well_where_nothing_differs(present: None) -> None:
    printed, code = command("--window", "1h")
    assert (printed.splitlines()[-1], code) == ("no difference", 0)
    assert "OFF" not in printed


def test_the_command_names_each_difference_and_exits_with_1(past: None) -> None:
    OutcomeTotal.objects.filter(outcome="permanent").update(attempts=0)
    printed, code = command()
    marked = [line for line in printed.splitlines() if line.startswith("OFF")]
    assert marked == [
        "OFF   email permanent: attempts in the lifetime total 0, attempts in the closed minutes that are "
        "kept 1: 1 more on the right. Perhaps the total lost counts: its counter fell."
    ]
    assert (printed.splitlines()[-1], code) == ("1 differences", 1)


def test_the_command_tells_programs(past: None) -> None:
    printed, code = command("--window=2d", "--json")
    found = json.loads(printed)
    assert (found["ok"], found["differences"], code) == (True, [], 0)
    assert {"admitted_ever", "attempts", "accepted", "event_totals"} <= {
        one["check"] for one in found["balances"]
    }


@pytest.mark.parametrize("window", ["1s", "h", "-1h", "0x1h", "1h30m", ""])
def test_the_command_refuses_what_is_no_window(db: None, window: str) -> None:
    with pytest.raises(CommandError, match="such as 15m, 1h or 7d"):
        command(f"--window={window}")


@pytest.mark.parametrize("window", ["0m", "8d"])
def test_the_command_says_which_windows_are_allowed(db: None, window: str) -> None:
    with pytest.raises(CommandError, match="are allowed"):
        command(f"--window={window}")


# The snapshot.


@pytest.mark.django_db(transaction=True)
def test_all_statements_see_one_moment_and_keep_nobody_from_writing(make_account: MakeAccount) -> None:
    ask(make_account())
    with snapshot(HOUR, using="default") as at:
        before = rows.deliveries(at)
        with ThreadPoolExecutor(1) as pool:
            account = make_account
            pool.submit(alone, lambda: ask(account())).result(30)
        assert rows.deliveries(at) == before
    assert Delivery.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_reconciliation_cannot_write_and_leaves_the_connection_as_it_was(account: Any) -> None:
    ask(account)
    assert reconcile(HOUR).ok
    if connection.vendor == "postgresql":
        with pytest.raises(InternalError, match="read-only"), snapshot(HOUR, using="default"):
            Delivery.objects.update(reason="lost")
    Delivery.objects.update(reason="lost")
    assert Delivery.objects.get().reason == "lost"


def test_nothing_is_written(present: None, django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(30) as captured:
        reconcile(HOUR)
    written = [q["sql"] for q in captured.captured_queries if "SELECT" not in q["sql"].upper()]
    assert [sql for sql in written if not sql.startswith(("SAVEPOINT", "RELEASE", "SET "))] == []
