"""The verification of recovery passes with no sweep that is broken, and with one that somebody else makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from notifications.channels import Channel
from resetdelivery import abandoned, recovery
from resetdelivery.abandoned import PutBack
from resetdelivery.cancellation import request_intent_cancel
from resetdelivery.conf import get_settings
from resetdelivery.cutover import stranded
from resetdelivery.cutover.stranded import Strand
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import HELD_STATES, DeliveryState
from resetdelivery.domain.verification import Kind
from resetdelivery.models import AuditEntry, Delivery, JobRun
from resetdelivery.recovery import Swept
from tests.brokers import Queue
from tests.integration.conftest import Settings
from tests.moved_clock import moved_clock
from tests.polling import polling
from tests.steps import seconds, states, store, take
from tests.verifying import (
    LATER_THAN_ALL,
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


# Sweeps that are broken.


def return_no_leases(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recovery, "put_back_abandoned", lambda **_: PutBack())


def hint_at_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recovery, "_hint_forgotten", lambda *_: 0)


def hint_at_what_is_not_due(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recovery, "now_sql", lambda _: LATER_THAN_ALL)


def take_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Strand, "deliver", lambda _: None)


def fill_before_the_sweep(patch: pytest.MonkeyPatch) -> None:
    """A worker that another reset's hint woke comes first, and finds rows that are due for long."""
    sweep = recovery.sweep

    def sweep_late(**options: Any) -> Swept:
        deliver(Channel.EMAIL)
        return sweep(**options)

    patch.setattr(recovery, "sweep", sweep_late)


@pytest.mark.parametrize(
    ("breaks", "names"),
    [
        (return_no_leases, ["abandoned leases put back", "taken by a worker, and ended"]),
        (return_live_leases, ["live lease left alone"]),
        (hint_at_nothing, ["lost hints hinted at again"]),
        (hint_at_what_is_not_due, ["not due yet left alone"]),
        (take_nothing, ["taken by a worker, and ended"]),
        (fill_before_the_sweep, ["lost hints hinted at again"]),
    ],
)
def test_a_sweep_that_is_broken_does_not_pass(
    queue: Queue,
    monkeypatch: pytest.MonkeyPatch,
    breaks: Callable[[pytest.MonkeyPatch], None],
    names: list[str],
) -> None:
    breaks(monkeypatch)
    assert not_ok(run(timeout=seconds(0.3))) == names
    assert not AuditEntry.objects.exists()


def test_a_worker_that_came_before_the_sweep_is_told_apart(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_before_the_sweep(monkeypatch)
    (finding,) = [one for one in run().findings if one.name == "lost hints hinted at again"]
    assert finding.saw == "0 of 2; a worker that was at it anyhow took 2 before the sweep came"


def test_where_nobody_sweeps_it_says_so(queue: Queue) -> None:
    found = run(sweep_here=False, timeout=seconds(0.3))
    assert not_ok(found)[0] == "a sweep came"
    assert not AuditEntry.objects.exists()


def test_a_sweep_that_began_before_does_not_count(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    look = Strand.look

    def after_a_sweep(strand: Strand) -> Any:
        ended_at = strand.leases_end() + seconds(1)
        JobRun.objects.update_or_create(
            name="sweep", defaults={"succeeded_at": ended_at, "took_seconds": 1.5}
        )
        return look(strand)

    monkeypatch.setattr(Strand, "look", after_a_sweep)
    assert "a sweep came" in not_ok(run(sweep_here=False, timeout=seconds(0.3)))


# RECOVERY = observe.


def test_an_observing_sweep_counts_them_and_touches_nothing(queue: Queue, change: Settings) -> None:
    change(RECOVERY="observe")
    found = run()
    assert not_ok(found) == []
    assert of_kind(found, Kind.LEASE_ABANDONED) == ["leased"] * 2
    assert of_kind(found, Kind.HINT_LOST) == ["pending"] * 2
    assert queue.hints == []
    assert AuditEntry.objects.get().target == "email: recovery observe"


def test_leases_that_others_abandoned_are_counted_apart_and_stay(queue: Queue, change: Settings) -> None:
    change(RECOVERY="observe")
    rows = store(3, overdue=5)
    take(lease=-1)
    found = run()
    assert not_ok(found) == []
    assert found.findings[1].saw == "5, 3 of them not from here"
    assert states(rows) == [S.LEASED] * 3


def test_what_is_stranded_on_purpose_raises_no_alarm(
    queue: Queue, change: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    change(RECOVERY="observe")
    run()
    assert "sweep_would_put_back" not in caplog.text
    store(3, overdue=5)
    take(lease=-1)
    found = run()
    assert "sweep_would_put_back" in caplog.text
    assert found.findings[1].saw == "5, 3 of them not from here"


def act_all_the_same(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        recovery, "_observed", lambda using: Swept(put_back=abandoned.put_back_abandoned(using=using).rows)
    )


def hint_all_the_same(patch: pytest.MonkeyPatch) -> None:
    observed = recovery._observed

    def observe_and_hint(using: str) -> Swept:
        recovery._hint_forgotten(using, get_settings())
        return observed(using)

    patch.setattr(recovery, "_observed", observe_and_hint)


def count_one_too_few(patch: pytest.MonkeyPatch) -> None:
    observed = recovery._observed
    patch.setattr(recovery, "_observed", lambda using: Swept(put_back=observed(using).put_back - 1))


@pytest.mark.parametrize(
    ("breaks", "names"),
    [
        (act_all_the_same, ["abandoned leases left alone"]),
        (count_one_too_few, ["abandoned leases counted"]),
        (hint_all_the_same, ["no lost hint hinted at again"]),
    ],
)
def test_an_observing_sweep_that_is_broken_does_not_pass(
    queue: Queue,
    change: Settings,
    monkeypatch: pytest.MonkeyPatch,
    breaks: Callable[[pytest.MonkeyPatch], None],
    names: list[str],
) -> None:
    change(RECOVERY="observe")
    breaks(monkeypatch)
    assert not_ok(run(timeout=seconds(0.3))) == names
    assert not AuditEntry.objects.exists()


# What goes wrong at the end.


def test_a_row_that_does_not_end_keeps_no_other_from_it_nor_any_lease(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = iter(["the first", "the second"])

    def fail_twice(**options: Any) -> Any:
        if which := next(failing, None):
            raise RuntimeError(which)
        return request_intent_cancel(**options)

    with monkeypatch.context() as patch:
        patch.setattr(stranded, "request_intent_cancel", fail_twice)
        with pytest.raises(RuntimeError, match="the first"):
            run()
    # Those two ended with the sweep, but for the lease: that was given back.
    assert not Delivery.objects.filter(state__in=HELD_STATES).exists()
    assert not AuditEntry.objects.exists()


def test_an_error_at_the_end_does_not_hide_what_went_wrong_before(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = stranded.Strand.end

    def end_and_fail(strand: stranded.Strand) -> None:
        end(strand)
        raise RuntimeError("at the end")

    monkeypatch.setattr(stranded.Strand, "end", end_and_fail)
    monkeypatch.setattr(stranded.Strand, "leases_end", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run()


# Somebody else sweeps and delivers.


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("mode", ["on", "observe"])
def test_it_waits_for_the_poller_that_runs(change: Settings, mode: str) -> None:
    change(RECOVERY=mode, SWEEP_INTERVAL=seconds(0.1), POLL_INTERVAL=seconds(0.05))
    with polling():
        found = run(sweep_here=False)
    assert not_ok(found) == []
    assert AuditEntry.objects.get().why == "4 stranded"
