from __future__ import annotations

from typing import Any, get_args

import pytest

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from resetdelivery.domain.health import (
    FAILING,
    MEANINGS,
    WINDOWS,
    ChannelNumbers,
    HealthReason,
    LifeLeft,
    Verdict,
)
from resetdelivery.domain.reasons import PauseReason
from resetdelivery.domain.verdict import (
    Patience,
    channel_reasons,
    counts_reason,
    due_patience,
    sweep_patience,
    sweep_reason,
    verdict_of,
)

R = HealthReason
DUE = Patience(late_seconds=70, too_late_seconds=200)


def numbers(
    *, accepted: int = 0, ambiguous: int = 0, transient: int = 0, quarter: int = 0, **fields: Any
) -> ChannelNumbers:
    kinds = (OutcomeKind.ACCEPTED, OutcomeKind.AMBIGUOUS, OutcomeKind.TRANSIENT)
    return ChannelNumbers(
        channel=Channel.EMAIL,
        attempts=dict(zip(kinds, (accepted, ambiguous, transient), strict=True)),
        life_left_at_acceptance=LifeLeft(quarter_or_less=quarter),
        **fields,
    )


MISCONFIGURED = PauseReason.MISCONFIGURED


@pytest.mark.parametrize(
    ("fields", "reasons"),
    [
        ({}, ()),
        ({"accepted": 500, "finished": 500, "pending": 40, "oldest_due_seconds": 69.9}, ()),
        # How long it has been due.
        ({"oldest_due_seconds": 70.0}, (R.DUE_LATE,)),
        ({"oldest_due_seconds": 199.9}, (R.DUE_LATE,)),
        ({"oldest_due_seconds": 200.0}, (R.DUE_TOO_LATE,)),
        # Pauses; one that is probed is not known to be mended.
        ({"paused": True, "pause_reason": PauseReason.OPERATOR}, (R.PAUSED_BY_OPERATOR,)),
        ({"paused": True}, (R.PAUSED_BY_OPERATOR,)),
        ({"paused": True, "pause_reason": MISCONFIGURED}, (R.PAUSED_MISCONFIGURED,)),
        ({"paused": False, "pause_reason": MISCONFIGURED}, (R.PAUSED_MISCONFIGURED,)),
        # What was given up, of what was finished: at least three, and a fiftieth.
        ({"expired_usefully": 2, "finished": 2}, ()),
        ({"expired_usefully": 3, "finished": 150}, (R.EXPIRING,)),
        ({"expired_usefully": 3, "finished": 151}, ()),
        ({"expired_usefully": 9, "finished": 9}, (R.EXPIRING,)),
        ({"expired_usefully": 10, "finished": 50}, (R.EXPIRING_MANY,)),
        ({"expired_usefully": 10, "finished": 51}, (R.EXPIRING,)),
        # What came late, of what was accepted: at least three, and a tenth.
        ({"accepted": 2, "quarter": 2}, ()),
        ({"accepted": 30, "quarter": 3}, (R.ACCEPTED_LATE,)),
        ({"accepted": 31, "quarter": 3}, ()),
        # What was not accepted, of all attempts: at least ten, and half of them; or none of twenty.
        ({"transient": 9}, ()),
        ({"transient": 10, "accepted": 10}, (R.FEW_ACCEPTED,)),
        ({"transient": 10, "accepted": 11}, ()),
        ({"transient": 19}, (R.FEW_ACCEPTED,)),
        ({"transient": 20}, (R.NONE_ACCEPTED,)),
        ({"transient": 20, "accepted": 1}, (R.FEW_ACCEPTED,)),
        # Ambiguous, of all attempts: at least three, and a fiftieth.
        ({"ambiguous": 2, "accepted": 2}, ()),
        ({"ambiguous": 3, "accepted": 147}, (R.AMBIGUOUS,)),
        ({"ambiguous": 3, "accepted": 148}, ()),
        # Leases that ran out, for all attempts: at least three, and a hundredth.
        ({"lease_recoveries": 2}, ()),
        ({"lease_recoveries": 3, "accepted": 300}, (R.LEASES_LOST,)),
        ({"lease_recoveries": 3, "accepted": 301}, ()),
        # A lease can be lost without any attempt.
        ({"lease_recoveries": 3}, (R.LEASES_LOST,)),
        # Several at once.
        (
            {"paused": True, "oldest_due_seconds": 900.0, "expired_usefully": 12, "finished": 12},
            (R.PAUSED_BY_OPERATOR, R.DUE_TOO_LATE, R.EXPIRING_MANY),
        ),
    ],
)
def test_a_channels_numbers_are_reasons_from_a_closed_list(
    fields: dict[str, Any], reasons: tuple[HealthReason, ...]
) -> None:
    assert channel_reasons(numbers(**fields), DUE) == reasons


@pytest.mark.parametrize(
    ("reasons", "verdict"),
    [
        ([], Verdict.OK),
        ([R.PAUSED_BY_OPERATOR], Verdict.DEGRADED),
        ([R.BROKER_AWAY, R.COUNTS_STALE], Verdict.DEGRADED),
        ([R.PAUSED_MISCONFIGURED], Verdict.FAILING),
        ([R.PAUSED_BY_OPERATOR, R.DUE_TOO_LATE], Verdict.FAILING),
    ],
)
def test_the_worst_reason_makes_the_verdict(reasons: list[HealthReason], verdict: Verdict) -> None:
    assert verdict_of(reasons) is verdict


@pytest.mark.parametrize(
    ("useful_life", "recovery", "late", "too_late"),
    [
        (868, 70, 70, 217),  # fifteen minutes: what recovery takes
        (400, 70, 50, 100),  # a short life: half of what is too late
        (0, 70, 0, 0),
    ],
)
def test_how_long_may_be_due_follows_from_the_useful_life(
    useful_life: float, recovery: float, late: float, too_late: float
) -> None:
    found = due_patience(useful_life_seconds=useful_life, recovery_seconds=recovery)
    assert (found.late_seconds, found.too_late_seconds) == (late, too_late)


@pytest.mark.parametrize(
    ("interval", "useful_life", "late", "too_late"),
    [
        (10, 868, 30, 217),
        (1, 868, 30, 217),  # a restart takes longer than three seconds
        (60, 868, 180, 360),
        (10, 100, 30, 60),
    ],
)
def test_how_long_ago_a_sweep_may_be_follows_from_its_interval(
    interval: float, useful_life: float, late: float, too_late: float
) -> None:
    found = sweep_patience(interval_seconds=interval, shortest_useful_life_seconds=useful_life)
    assert (found.late_seconds, found.too_late_seconds) == (late, too_late)


@pytest.mark.parametrize(
    ("age", "reason"),
    [(0, None), (69.9, None), (70, R.SWEEP_LATE), (199.9, R.SWEEP_LATE), (200, R.SWEEP_MISSING)],
)
def test_an_old_sweep_is_a_reason(age: float, reason: HealthReason | None) -> None:
    assert sweep_reason(age, DUE) is reason


def test_a_sweep_that_never_was_is_missing() -> None:
    assert sweep_reason(None, DUE) is R.SWEEP_MISSING


@pytest.mark.parametrize(("age", "reason"), [(0, None), (119.9, None), (120, R.COUNTS_STALE)])
def test_old_counts_are_a_reason(age: float, reason: HealthReason | None) -> None:
    assert counts_reason(age, unclosed_seconds=None) is reason


def test_what_was_never_counted_is_stale() -> None:
    assert counts_reason(None, unclosed_seconds=None) is R.COUNTS_STALE


@pytest.mark.parametrize(
    ("unclosed", "reason"), [(-900, None), (0, None), (3599.9, None), (3600, R.COUNTS_STALE)]
)
def test_minutes_that_nobody_can_close_are_a_reason(unclosed: float, reason: HealthReason | None) -> None:
    assert counts_reason(5, unclosed_seconds=unclosed) is reason


def test_every_reason_has_a_meaning() -> None:
    assert set(MEANINGS) == set(HealthReason)
    assert set(HealthReason) > FAILING


def test_the_endpoint_knows_the_same_windows() -> None:
    from resetdelivery.api.health import WindowName

    assert get_args(WindowName) == tuple(WINDOWS)
