"""What two senders agree on, delivery by delivery."""

from __future__ import annotations

from typing import Any

import pytest

from resetdelivery.domain.comparison import NOT_EXPECTED, OPEN, UNTOLD, Comparison, Pair
from resetdelivery.domain.telemetry import DELAY_LABELS, QUEUE_DELAY_SECONDS


def compared(*pairs: Pair, **fields: Any) -> Comparison:
    names = ("admitted", "endings", "refused", "delays", "segments", "reported")
    nothing: dict[str, Any] = {name: {} for name in names}
    return Comparison(**{"channel": "email", "claimed": 0, "pairs": pairs, **nothing, **fields})


@pytest.mark.parametrize(
    ("ours", "theirs", "is_compared", "disagrees"),
    [
        ("shadowed", "accepted", True, False),
        ("shadowed", "failed", True, True),
        ("shadowed", "not_sent", True, True),
        # Whatever kept ours and theirs from being sent: neither was.
        ("failed", "failed", True, False),
        ("failed", "not_sent", True, False),
        ("expired", "failed", True, False),
        ("cancelled", "not_sent", True, False),
        ("failed", "accepted", True, True),
        ("expired", "accepted", True, True),
        ("cancelled", "accepted", True, True),
        # One side says nothing.
        ("shadowed", UNTOLD, False, False),
        ("failed", UNTOLD, False, False),
        ("failed", NOT_EXPECTED, False, False),
        ("withheld", "accepted", False, False),
        ("withheld", "failed", False, False),
        (OPEN, "accepted", False, False),
        (OPEN, UNTOLD, False, False),
    ],
)
def test_two_agree_where_both_send_or_neither_does(
    ours: str, theirs: str, is_compared: bool, disagrees: bool
) -> None:
    pair = Pair(ours=ours, theirs=theirs)
    assert (pair.is_compared, pair.disagrees) == (is_compared, disagrees)


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (Pair(ours="shadowed", theirs="failed", reason="shadow"), "we would have sent, they failed"),
        (Pair(ours="shadowed", theirs="not_sent", reason="shadow"), "we would have sent, they did not send"),
        (
            Pair(ours="failed", theirs="accepted", reason="no_destination"),
            "we would have failed (no_destination), they sent",
        ),
        (
            Pair(ours="expired", theirs="accepted", reason="no_useful_time_left"),
            "it expired with us (no_useful_time_left), they sent",
        ),
        (
            Pair(ours="cancelled", theirs="accepted", reason="superseded"),
            "we would have cancelled it (superseded), they sent",
        ),
    ],
)
def test_what_disagrees_is_said_in_words(pair: Pair, words: str) -> None:
    assert compared(pair).disagreements == {words: 1}


def test_totals_are_of_what_both_sides_speak_of() -> None:
    found = compared(
        Pair(ours="shadowed", theirs="accepted", number=90),
        Pair(ours="shadowed", theirs="failed", number=4),
        Pair(ours="failed", theirs="accepted", reason="no_destination", number=3),
        Pair(ours="failed", theirs="not_sent", reason="no_destination", number=3),
        Pair(ours="shadowed", theirs=UNTOLD, number=7),
        Pair(ours="withheld", theirs=UNTOLD, number=11),
        Pair(ours="cancelled", theirs=NOT_EXPECTED, reason="account_limit", number=19),
        Pair(ours=OPEN, theirs=UNTOLD, number=13),
        Pair(ours=OPEN, theirs="accepted", number=17),
    )
    assert found.compared == 100
    assert (found.would_send_of_compared, found.sent_of_compared) == (94, 93)
    assert found.disagreeing == 7
    assert found.not_reported == 18


def test_what_was_not_reported_is_split_by_why_we_would_not_have_sent_it() -> None:
    found = compared(
        Pair(ours="cancelled", theirs=UNTOLD, reason="unknown_account", number=2),
        Pair(ours="cancelled", theirs=UNTOLD, reason="superseded", number=1),
        Pair(ours="shadowed", theirs=UNTOLD, reason="shadow", number=4),
        Pair(ours="withheld", theirs=UNTOLD, reason="sent_by_existing_sender", number=3),
        Pair(ours="cancelled", theirs="not_sent", reason="unknown_account", number=9),
    )
    assert list(found.untold.items()) == [
        ("shadowed", 4),
        ("withheld", 3),
        ("unknown_account", 2),
        ("superseded", 1),
    ]


@pytest.mark.parametrize("theirs", ["accepted", "not_sent"])
def test_a_later_channel_of_a_chain_is_not_compared(theirs: str) -> None:
    found = compared(Pair(ours="cancelled", theirs=theirs, reason="not_needed", number=3))
    assert (found.left_to_them, found.compared, found.disagreeing) == (3, 0, 0)


def test_a_later_channel_of_which_nothing_is_told_is_only_not_reported() -> None:
    found = compared(Pair(ours="cancelled", theirs=UNTOLD, reason="not_needed", number=3))
    assert (found.left_to_them, found.not_reported) == (0, 3)


def test_the_most_frequent_disagreement_comes_first() -> None:
    found = compared(
        Pair(ours="shadowed", theirs="failed", number=1),
        Pair(ours="failed", theirs="accepted", reason="no_destination", number=5),
        Pair(ours="shadowed", theirs="not_sent", number=2),
    )
    assert list(found.disagreements.values()) == [5, 2, 1]


@pytest.mark.parametrize(
    ("of_1000", "tolerated", "is_within"), [(0, 0, True), (1, 0, False), (5, 5, True), (6, 5, False)]
)
def test_as_many_as_are_tolerated_may_disagree(of_1000: int, tolerated: int, is_within: bool) -> None:
    found = compared(
        Pair(ours="shadowed", theirs="accepted", number=1000 - of_1000),
        Pair(ours="shadowed", theirs="failed", number=of_1000),
    )
    assert found.is_within(tolerated) is is_within


def test_where_nothing_is_reported_nothing_disagrees() -> None:
    assert compared(Pair(ours="shadowed", theirs=UNTOLD, number=9)).is_within(0)


def test_the_table_adds_reasons_up() -> None:
    found = compared(
        Pair(ours="failed", theirs="accepted", reason="no_destination", number=2),
        Pair(ours="failed", theirs="accepted", reason="invalid_message", number=3),
        Pair(ours="shadowed", theirs=UNTOLD, number=4),
    )
    assert found.table() == {"failed": {"accepted": 5}, "shadowed": {UNTOLD: 4}}


def test_each_bound_has_a_label_that_reads_as_its_number() -> None:
    assert [float(label) for label in DELAY_LABELS] == [*QUEUE_DELAY_SECONDS, float("inf")]


@pytest.mark.parametrize(
    ("delays", "share", "seconds"),
    [
        ({"1": 10}, 0.5, 0.75),
        ({"1": 10}, 1.0, 1.0),
        ({"0.1": 50, "30": 50}, 0.95, 28.0),
        ({"inf": 1}, 0.5, None),
        ({}, 0.5, None),
    ],
)
def test_a_percentile_of_the_wait_lies_in_its_bucket(
    delays: dict[str, int], share: float, seconds: float | None
) -> None:
    assert compared(delays=delays).delay_seconds(share) == (
        None if seconds is None else pytest.approx(seconds)
    )
