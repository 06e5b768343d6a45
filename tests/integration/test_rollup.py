"""What rows come to by the minute, and when a minute is closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications.channels import Channel
from resetdelivery.domain.telemetry import CountedEvent
from resetdelivery.models import Attempt, Delivery, EventTotal, OutcomeMinute, OutcomeTotal
from resetdelivery.recovery import expire_overdue, sweep
from resetdelivery.telemetry import ledger, rollup
from resetdelivery.telemetry.rollup import RolledUp, roll_up
from tests.conftest import age
from tests.later_words import hear
from tests.moved_clock import moved_clock
from tests.rolled import closed_before, counts, displayed, pass_minutes, sums, truth
from tests.steps import ACCEPTED, BUSY, CUT, REFUSED, answer, record, seconds, store, take

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]


def send(number: int = 1, outcome: Any = ACCEPTED, **fields: Any) -> list[Attempt]:
    """Attempts that started in one minute: in the middle of the last one, or of the one before."""
    known = set(Attempt.objects.values_list("pk", flat=True))
    marked = record(take(ids=[row.pk for row in store(number, **fields)]))
    answer(marked, outcome)
    age(30 + marked[0].started_at.second)
    return list(Attempt.objects.exclude(pk__in=known).order_by("pk"))


def events(*of: str) -> dict[tuple[str, ...], int]:
    """What is displayed of these events, or of all."""
    names = set(of) or set(CountedEvent)
    return {key: number for key, number in counts(displayed()).items() if key[0] in names}


def lose() -> Callable[[], object]:
    """An attempt whose worker is taken for dead; what that worker does as it comes back."""
    store()
    marked = record(take())
    Delivery.objects.filter(state="submitting").update(lease_expires_at=marked[0].started_at - seconds(1))
    sweep()
    return lambda: answer(marked, ACCEPTED)


@pytest.mark.parametrize("outcome", [ACCEPTED, BUSY, CUT, REFUSED], ids=lambda one: one.kind.value)
def test_attempts_are_counted_by_minute_channel_outcome_and_version(outcome: Any) -> None:
    (first, *_) = send(3, outcome)
    roll_up()
    row = OutcomeMinute.objects.get()
    assert row.minute == first.started_at.replace(second=0, microsecond=0)
    assert (row.channel, row.outcome, row.template_version) == ("email", outcome.kind.value, "1")
    assert (row.attempts, row.kept) == (3, False)


def test_each_measure_falls_into_its_bucket() -> None:
    send(overdue=3, life=600)
    Attempt.objects.update(queue_delay_seconds=2.5, duration_seconds=0.07, lease_used=0.8)
    Delivery.objects.update(segments_bucket="4-6")
    roll_up()
    row = OutcomeMinute.objects.get()
    assert row.queue_delay_counts == [0, 0, 0, 0, 1, *[0] * 9]
    assert row.duration_counts == [0, 1, *[0] * 8]
    assert row.remaining_counts == [*[0] * 6, 1]
    assert row.lease_used_counts == [0, 0, 0, 0, 1, 0, 0]
    assert row.segments_counts == [0, 0, 0, 1, 0]
    assert row.queue_delay_seconds == 2.5
    assert row.duration_seconds == pytest.approx(0.07, abs=0.001)


def test_what_was_not_measured_is_in_no_bucket() -> None:
    send()
    Attempt.objects.update(duration_seconds=None, lease_used=None)
    roll_up()
    row = OutcomeMinute.objects.get()
    assert (sum(row.duration_counts), sum(row.lease_used_counts), sum(row.segments_counts)) == (0, 0, 0)
    assert row.attempts == sum(row.queue_delay_counts) == 1


def test_a_life_that_was_over_counts_as_nothing_left() -> None:
    send(life=5)
    Delivery.objects.update(expires_at=Attempt.objects.get().started_at)
    roll_up()
    row = OutcomeMinute.objects.get()
    assert (row.remaining_counts[0], row.remaining_ratio) == (1, 0)


def test_counting_twice_is_counting_once() -> None:
    send(2)
    roll_up()
    before = displayed()
    roll_up()
    assert displayed() == before == displayed()
    assert counts(before) == counts(truth())


def test_where_nothing_changed_nothing_is_written() -> None:
    send(2)
    roll_up()
    with CaptureQueriesContext(connection) as captured:
        roll_up()
    writing = ("INSERT", "UPDATE", "DELETE")
    assert not [q["sql"] for q in captured.captured_queries if q["sql"].lstrip().startswith(writing)]


def test_an_attempt_that_runs_is_not_counted_yet() -> None:
    store()
    marked = record(take())
    roll_up()
    assert not OutcomeMinute.objects.exists()
    answer(marked)
    roll_up()
    assert OutcomeMinute.objects.get().attempts == 1


def test_a_minute_is_closed_fifteen_minutes_after_it_ended() -> None:
    send()
    pass_minutes(14)
    roll_up()
    assert not OutcomeTotal.objects.exists()
    pass_minutes(2)
    roll_up()
    assert OutcomeTotal.objects.get().attempts == 1


def test_the_wait_is_a_setting(change: Callable[..., None]) -> None:
    change(ROLLUP_CLOSE_AFTER=seconds(120))
    send()
    pass_minutes(3)
    roll_up()
    assert OutcomeTotal.objects.get().attempts == 1


def test_an_attempt_that_runs_holds_its_minute_open_and_all_after_it() -> None:
    send()
    pass_minutes(5)
    store()
    marked = record(take())
    pass_minutes(5)
    send()
    pass_minutes(60)
    roll_up()
    assert OutcomeTotal.objects.get().attempts == 1
    assert closed_before() == Attempt.objects.get(outcome="").started_at.replace(second=0, microsecond=0)
    answer(marked)
    roll_up()
    assert OutcomeTotal.objects.get().attempts == 3


def test_nothing_at_all_is_no_work() -> None:
    assert roll_up() == RolledUp()
    assert closed_before() is None


def test_what_comes_after_a_minute_was_closed_counts_in_its_own() -> None:
    late = lose()
    pass_minutes(30)
    roll_up()
    late()
    roll_up()
    assert events("late_outcome") == {("late_outcome", "email", "accepted"): 1}
    assert OutcomeTotal.objects.get().outcome == "ambiguous"
    pass_minutes(30)
    roll_up()
    assert EventTotal.objects.get(event="late_outcome").count == 1
    assert counts(displayed()) - counts(truth()) == {("lease_recovered", "email", "submitting"): 1}


def test_what_a_late_worker_measured_does_not_count_as_a_duration() -> None:
    late = lose()
    late()
    assert Attempt.objects.get(number=1).duration_seconds is not None
    roll_up()
    assert sum(OutcomeMinute.objects.get(outcome="ambiguous").duration_counts) == 0


def test_admissions_ends_and_expiries_are_counted_with_their_labels() -> None:
    send(2)
    send(1, REFUSED)
    store(3, Channel.SMS, life=1, overdue=5)
    expire_overdue()
    roll_up()
    assert events() == {
        ("admitted", "email", "pipeline"): 3,
        ("admitted", "sms", "pipeline"): 3,
        ("finished", "email", "accepted"): 2,
        ("finished", "email", "failed"): 1,
        ("finished", "sms", "expired"): 3,
        ("expired_usefully", "sms", "no_useful_time_left"): 3,
    }


@pytest.mark.parametrize("verdict", ["delivered", "failed"])
def test_what_a_receipt_says_later_does_not_change_how_our_work_ended(verdict: str) -> None:
    (attempt,) = send()
    hear(attempt, verdict)
    roll_up()
    assert events("finished", "receipt") == {
        ("finished", "email", "accepted"): 1,
        ("receipt", "email", verdict): 1,
    }


def test_hints_are_counted_once_they_can_be_taken_back_no_more() -> None:
    store(2, first_hint="published")
    store(1, first_hint="failed")
    store(1)
    roll_up()
    assert not events("hint")
    age(40)
    roll_up()
    assert events("hint") == {("hint", "email", "published"): 2, ("hint", "email", "failed"): 1}


def test_rows_that_are_gone_are_counted_no_more_in_an_open_minute() -> None:
    send()
    roll_up()
    Attempt.objects.all().delete()
    roll_up()
    assert not OutcomeMinute.objects.exists()


def test_rows_that_are_gone_stay_in_the_totals() -> None:
    send(2)
    pass_minutes(30)
    roll_up()
    before = displayed()
    Delivery.objects.all().delete()
    pass_minutes(30)
    roll_up()
    assert displayed() == before


def test_an_error_in_the_middle_of_closing_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    send(2)
    pass_minutes(30)
    before = counts(displayed())

    def fold_and_fail(*args: Any) -> None:
        fold(*args)
        raise RuntimeError

    fold = ledger.fold
    monkeypatch.setattr(ledger, "fold", fold_and_fail)
    with pytest.raises(RuntimeError):
        roll_up()
    assert (counts(displayed()), closed_before()) == (before, None)
    assert not OutcomeTotal.objects.exists()
    monkeypatch.undo()
    roll_up()
    assert counts(displayed()) == counts(truth())


def test_much_that_is_old_is_closed_in_steps_over_several_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(6):
        send(3)
        pass_minutes(7)
    pass_minutes(30)
    monkeypatch.setattr(rollup, "CHUNK_ROWS", 4)
    monkeypatch.setattr(rollup, "CHUNKS", 2)
    passes: list[RolledUp] = []
    while not passes or passes[-1].behind:
        passes.append(roll_up())
        known = closed_before()
        assert known is not None
        assert OutcomeTotal.objects.get().attempts == Attempt.objects.filter(started_at__lt=known).count()
    assert [one.closed for one in passes[:-1]] == [2] * (len(passes) - 1)
    assert len(passes) > 2
    assert counts(displayed()) == counts(truth())


def test_a_long_time_without_anything_is_no_work() -> None:
    send()
    pass_minutes(60 * 24 * 60)
    send()
    pass_minutes(30)
    assert roll_up().closed == 2
    assert OutcomeTotal.objects.get().attempts == 2


def test_sums_are_what_the_attempts_measured() -> None:
    send(3, overdue=2)
    pass_minutes(30)
    send(2, overdue=1)
    roll_up()
    assert sums(displayed()) == pytest.approx(sums(truth()), abs=0.01)


def test_many_minutes_are_closed_an_hour_at_a_time() -> None:
    for _ in range(4):
        send()
        pass_minutes(25)
    assert roll_up().closed == 2
    assert counts(displayed()) == counts(truth())
