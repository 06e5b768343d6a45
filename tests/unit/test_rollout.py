"""What a step towards ours asks for, by the table; steps back ask for nothing."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from resetdelivery.domain.preconditions import findings, nothing_seen
from resetdelivery.domain.rollout import (
    Facts,
    Finding,
    Position,
    Rules,
    in_words,
    next_position,
    next_step,
)

DAY = 86_400.0
RULES = Rules(
    first_slice=50,
    min_shadowed=20,
    window=dt.timedelta(hours=1),
    verified_for=dt.timedelta(days=7),
)
#: A channel that may go anywhere; a quarter of its shortest life is 225 s.
GOOD = Facts(
    recovery="on",
    verified_seconds={"observe": 2 * DAY, "on": DAY},
    swept_seconds={"observe": 2 * DAY, "on": DAY},
    observed_seconds=2 * DAY,
    would_send=95,
    unsent=5,
    accepted=20,
    delays=95,
    delay_p95_seconds=2.0,
    oldest_due_seconds=1.0,
    lifetime_seconds=900,
    counted_seconds=4,
)
LEGACY, SHADOW = Position("legacy"), Position("shadow")
EVERYBODY = Position("live", 1000)
ALL = (LEGACY, SHADOW, Position("live", 1), Position("live", 50), Position("live", 51), EVERYBODY)


def live(per_mille: int) -> Position:
    return Position("live", per_mille)


def found(before: Position, after: Position, **facts: Any) -> tuple[Finding, ...]:
    return findings(before, after, replace(GOOD, **facts), RULES)


def failed(before: Position, after: Position, **facts: Any) -> list[str]:
    return [one.name for one in found(before, after, **facts) if not one.ok]


@pytest.mark.parametrize(
    ("before", "after"), [(b, a) for (i, b), (j, a) in product(enumerate(ALL), repeat=2) if j <= i]
)
def test_a_step_back_and_no_step_ask_for_nothing_whatever_is_seen(before: Position, after: Position) -> None:
    assert found(before, after, paused=True, recovery="off", failing=("due_too_late",)) == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (LEGACY, SHADOW),
        (SHADOW, live(1)),
        (SHADOW, live(50)),
        (live(1), live(1000)),
        (live(50), live(200)),
        (live(0), live(50)),
    ],
)
def test_a_step_forward_is_free_where_all_is_well(before: Position, after: Position) -> None:
    assert found(before, after) != ()
    assert failed(before, after) == []


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        (LEGACY, live(50), ["shadow first"]),
        (LEGACY, live(51), ["shadow first", "first slice"]),
        (LEGACY, EVERYBODY, ["shadow first", "first slice"]),
        (SHADOW, live(51), ["first slice"]),
        (SHADOW, EVERYBODY, ["first slice"]),
    ],
)
def test_live_comes_after_shadow_and_with_a_small_slice(
    before: Position, after: Position, names: list[str]
) -> None:
    assert failed(before, after) == names


@pytest.mark.parametrize(
    ("facts", "names"),
    [
        ({"would_send": 20, "unsent": 0}, []),
        ({"would_send": 19, "unsent": 0}, ["shadowed"]),
        ({"would_send": 95, "unsent": 5}, []),
        ({"would_send": 95, "unsent": 6}, ["sendable"]),
        ({"would_send": 0, "unsent": 1}, ["shadowed", "sendable"]),
        ({"would_send": 0, "unsent": 0}, ["shadowed"]),
    ],
)
def test_a_first_slice_needs_enough_shadows_of_which_hardly_any_failed(
    facts: dict[str, Any], names: list[str]
) -> None:
    assert failed(SHADOW, live(50), **facts) == names


@pytest.mark.parametrize("facts", [{"would_send": 0}, {"unsent": 90}])
def test_a_larger_slice_is_judged_by_all_that_was_measured(facts: dict[str, Any]) -> None:
    assert failed(live(50), live(200), **facts) == []


@pytest.mark.parametrize(("delays", "names"), [(20, []), (19, ["measured"])])
def test_a_larger_slice_needs_enough_deliveries(delays: int, names: list[str]) -> None:
    assert failed(live(50), live(200), delays=delays) == names


@pytest.mark.parametrize(
    ("before", "after", "least"),
    [(1, 50, 1), (50, 200, 1), (50, 1000, 1), (51, 200, 2), (200, 800, 4), (800, 1000, 16)],
)
def test_a_larger_slice_needs_messages_of_ours_that_were_accepted_by_the_share_it_has(
    before: int, after: int, least: int
) -> None:
    assert failed(live(before), live(after), accepted=least) == []
    assert failed(live(before), live(after), accepted=least - 1) == ["accepted"]


def test_a_first_slice_needs_none_that_were_accepted() -> None:
    assert failed(SHADOW, live(50), accepted=0) == []


WEEK = 7 * DAY


@pytest.mark.parametrize(
    ("recovery", "verified", "slice_ok"),
    [
        ("off", {}, False),
        ("off", {"observe": 0.0, "on": 0.0}, False),
        ("observe", {}, False),
        ("observe", {"observe": WEEK}, True),
        ("observe", {"observe": WEEK + 1}, False),
        ("observe", {"on": 0.0}, False),
        ("on", {}, False),
        ("on", {"observe": 0.0}, False),
        ("on", {"on": WEEK}, True),
        ("on", {"observe": WEEK, "on": WEEK + 1}, False),
    ],
)
@pytest.mark.parametrize(("before", "after"), [(SHADOW, live(50)), (live(50), live(999))])
def test_recovery_is_verified_as_it_is_set_for_a_slice_whoever_swept(
    before: Position, after: Position, recovery: str, verified: dict[str, float], slice_ok: bool
) -> None:
    facts: dict[str, Any] = {"recovery": recovery, "verified_seconds": verified, "swept_seconds": {}}
    assert failed(before, after, observed_seconds=None, **facts) == ([] if slice_ok else ["recovery"])


@pytest.mark.parametrize(
    ("recovery", "acts", "watched", "is_ok"),
    [
        ("on", DAY, 2 * DAY, True),
        ("on", WEEK, WEEK, True),
        ("on", WEEK, 100 * WEEK, True),
        ("on", WEEK + 1, 2 * WEEK, False),
        ("on", DAY, DAY - 1, False),
        ("on", DAY, None, False),
        ("on", None, DAY, False),
        ("observe", DAY, 2 * DAY, False),
        ("off", DAY, 2 * DAY, False),
    ],
)
def test_for_everybody_what_is_in_force_was_verified_lately_and_watched_at_any_time_before(
    recovery: str, acts: float | None, watched: float | None, is_ok: bool
) -> None:
    facts: dict[str, Any] = {
        "recovery": recovery,
        "swept_seconds": {} if acts is None else {"on": acts},
        "observed_seconds": watched,
    }
    assert failed(live(50), EVERYBODY, **facts) == ([] if is_ok else ["recovery"])


def test_for_everybody_it_says_that_a_sweep_of_the_command_is_left_out() -> None:
    told = {one.name: one.saw for one in found(live(50), EVERYBODY, swept_seconds={"observe": 2 * DAY})}
    assert told["recovery"] == (
        "RECOVERY is 'on'; 'observe' verified 2 d ago, 'on' verified never; --sweep-here left out"
    )


def test_where_nothing_can_be_seen_that_is_what_does_not_hold() -> None:
    assert (nothing_seen().ok, nothing_seen().name) == (False, "nothing seen")


def test_a_shadow_needs_no_recovery_and_no_numbers() -> None:
    assert failed(LEGACY, SHADOW, recovery="off", delays=0, would_send=0, delay_p95_seconds=None) == []


@pytest.mark.parametrize(
    ("facts", "names"),
    [
        ({"oldest_due_seconds": None}, []),
        ({"oldest_due_seconds": 225.0}, []),
        ({"oldest_due_seconds": 225.1}, ["queue age"]),
        ({"lifetime_seconds": 3.9}, ["queue delay"]),
        ({"delay_p95_seconds": 225.0}, []),
        ({"delay_p95_seconds": 225.1}, ["queue delay"]),
        ({"delay_p95_seconds": None}, ["queue delay"]),
        ({"failing": ("few_accepted",)}, ["health"]),
        ({"paused": True}, ["pause"]),
        ({"counts_stale": True}, ["counts"]),
    ],
)
@pytest.mark.parametrize(("before", "after"), [(SHADOW, live(50)), (live(50), live(200))])
def test_queue_health_and_pause_are_looked_at_before_anybody_is_sent_more(
    before: Position, after: Position, facts: dict[str, Any], names: list[str]
) -> None:
    lately = {"oldest_due_seconds": 0.5, **facts}
    assert failed(before, after, **lately) == names


@pytest.mark.parametrize(
    ("facts", "names"),
    [
        ({"oldest_due_seconds": 225.1}, ["queue age"]),
        ({"failing": ("sweep_missing",)}, ["health"]),
        ({"paused": True}, ["pause"]),
        ({"delay_p95_seconds": 225.1}, []),
    ],
)
def test_a_shadow_is_begun_where_its_queue_is_served(facts: dict[str, Any], names: list[str]) -> None:
    assert failed(LEGACY, SHADOW, **facts) == names


@pytest.mark.parametrize("after", [SHADOW, live(50), EVERYBODY])
def test_every_finding_says_what_it_saw_and_what_it_wanted(after: Position) -> None:
    assert all(one.saw and one.wanted for one in found(LEGACY, after))
    assert len({one.name for one in found(LEGACY, after)}) == len(found(LEGACY, after))


def test_a_finding_has_the_numbers_in_it() -> None:
    told = {one.name: (one.saw, one.wanted) for one in found(SHADOW, live(60), oldest_due_seconds=300.0)}
    assert told["first slice"] == ("60 per mille", "at most 50 per mille (FIRST_SLICE)")
    assert told["queue age"] == (
        "the oldest delivery is due for 300.0 s",
        "at most 225 s, a quarter of the shortest life (900 s)",
    )
    assert told["recovery"] == (
        "RECOVERY is 'on'; 'observe' verified 2 d ago, 'on' verified 1 d ago",
        "'observe' or 'on', verified within 7 d",
    )


@pytest.mark.parametrize(
    ("now", "then"),
    [
        (LEGACY, SHADOW),
        (SHADOW, live(50)),
        (live(0), live(50)),
        (live(50), live(200)),
        (live(200), live(800)),
        (live(800), EVERYBODY),
        (live(999), EVERYBODY),
        (EVERYBODY, None),
    ],
)
def test_the_next_position_is_a_few_times_the_last_one(now: Position, then: Position | None) -> None:
    assert next_position(now, RULES) == then


@pytest.mark.parametrize(
    ("now", "facts", "step"),
    [
        (LEGACY, {}, "rollout set email shadow"),
        (LEGACY, {"recovery": "on", "verified_seconds": {}}, "rollout set email shadow"),
        (SHADOW, {}, "rollout set email live --slice 50"),
        (SHADOW, {"verified_seconds": {}}, "rollout verify-recovery email"),
        (SHADOW, {"recovery": "off"}, "rollout set email live --slice 50"),
        (live(50), {"recovery": "observe", "verified_seconds": {"on": 1.0}}, "rollout verify-recovery email"),
        (live(50), {}, "rollout set email live --slice 200"),
        (live(200), {"swept_seconds": {}}, "rollout set email live --slice 800"),
        (live(800), {"swept_seconds": {}}, "rollout verify-recovery email"),
        (EVERYBODY, {"verified_seconds": {}}, ""),
        (EVERYBODY, {"paused": True}, "rollout resume email"),
        (SHADOW, {"paused": True, "verified_seconds": {}}, "rollout resume email"),
    ],
)
def test_the_next_step_is_a_command(now: Position, facts: dict[str, Any], step: str) -> None:
    assert next_step("email", now, replace(GOOD, **facts), RULES) == step


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-0.2, "0 s"),
        (3.4, "3 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (3599, "60 min"),
        (3600, "1 h"),
        (5400, "1.5 h"),
        (DAY, "1 d"),
        (7 * DAY, "7 d"),
    ],
)
def test_durations_are_short(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
