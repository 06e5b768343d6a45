"""What is told of shadows is what happened: beside an oracle that counts the same in plain Python."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from notifications.channels import Channel
from notifications.outcome import Reason
from notifications.testing import ScriptedTransport
from resetdelivery.cutover.comparison import Compared, compare
from resetdelivery.delivery import deliver
from resetdelivery.domain.comparison import Comparison
from resetdelivery.domain.reasons import DeliveryReason
from resetdelivery.domain.telemetry import (
    DELAY_LABELS,
    SEGMENT_BUCKETS,
    CountedEvent,
    Ending,
    LegacyOutcome,
)
from resetdelivery.models import ChannelControl, Delivery, EventMinute, EventTotal, ResetIntent
from resetdelivery.reconciliation import reconcile
from resetdelivery.recovery import expire_overdue, sweep
from resetdelivery.retention import purge
from resetdelivery.telemetry.rollup import roll_up
from tests.integration.conftest import Settings
from tests.moved_clock import Clock, moved_clock
from tests.shadow_play import Play

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]

HOUR = dt.timedelta(hours=1)
MINUTE = dt.timedelta(minutes=1)
SEEDS = (3, 1415)


def as_said(one: Comparison) -> dict[str, Any]:
    names = ("channel", "admitted", "claimed", "endings", "refused", "delays", "segments", "reported")
    pairs = Counter({(pair.ours, pair.reason, pair.theirs): pair.number for pair in one.pairs})
    return {**{name: getattr(one, name) for name in names}, "pairs": pairs}


@pytest.fixture
def played(
    request: pytest.FixtureRequest,
    change: Settings,
    make_account: Callable[..., Any],
    moved_clock: Clock,
    email: ScriptedTransport,
    sms: ScriptedTransport,
) -> Play:
    change(KEEP_DECOYS=20 * MINUTE, KEEP_IDEMPOTENCY_KEYS=20 * MINUTE, KEEP_SHADOWS=10 * MINUTE)
    play = Play(chance=random.Random(request.param), clock=moved_clock, make_account=make_account)
    for _ in range(36):
        play.step()
    return play


@pytest.mark.parametrize("played", SEEDS, indirect=True)
def test_every_number_is_what_was_seen(played: Play) -> None:
    found = compare(HOUR)
    assert [as_said(one) for one in found.channels] == [
        played.expected(found.since, one.channel) for one in found.channels
    ]
    # Counted anew from rows, or read where it was stored: the same.
    roll_up()
    assert compare(HOUR).channels == found.channels
    assert reconcile(HOUR).ok
    assert_it_went_every_way(played, found)


def assert_it_went_every_way(played: Play, found: Compared) -> None:
    """Enough of everything happened, and much of it is gone or lies before the window."""
    rows = list(played.seen.values())
    assert len(rows) >= 200
    assert {(row.authority, row.state) for row in rows} >= {
        *{("shadow", state) for state in ("shadowed", "failed", "expired", "cancelled")},
        *{("legacy", "withheld"), ("pipeline", "accepted")},
    }
    assert len(rows) - Delivery.objects.count() >= 20
    assert EventTotal.objects.filter(event="shadow_finished").exists()
    assert sum(row.finished_at is not None and row.finished_at < found.since for row in rows) >= 40
    assert min(played.again["same"], played.again["conflict"]) >= 5
    assert {label.partition(":")[0] for label in event_labels("legacy_reported")} >= {"open", "shadowed"}
    for event, labels in LABELS.items():
        assert 0 < len(event_labels(event)) <= len(labels)
        assert event_labels(event) <= labels
    assert all(one.disagreeing and one.compared for one in found.channels)


def event_labels(event: str) -> set[str]:
    totals = set(EventTotal.objects.filter(event=event).values_list("label", flat=True))
    return totals | set(EventMinute.objects.filter(event=event).values_list("label", flat=True))


#: Every label that each event can ever have.
LABELS = {
    CountedEvent.SHADOW_CLAIMED: {""},
    CountedEvent.SHADOW_FINISHED: {"shadowed", "failed", "expired", "cancelled"},
    CountedEvent.SHADOW_REFUSED: {*DeliveryReason, *Reason},
    CountedEvent.SHADOW_DELAY: {*DELAY_LABELS},
    CountedEvent.SHADOW_SEGMENTS: {*SEGMENT_BUCKETS},
    CountedEvent.LEGACY_REPORTED: {f"{ours}:{told}" for ours in ["open", *Ending] for told in LegacyOutcome},
}


@pytest.mark.parametrize("played", SEEDS[:1], indirect=True)
def test_shadows_lose_their_account_first(played: Play) -> None:
    played.clock.pass_by(11 * MINUTE)
    expire_overdue()
    for channel in Channel:
        deliver(channel, fill_at_once=True)
    sweep()
    played.clock.pass_by(30 * MINUTE)
    ChannelControl.objects.update(mode="live")
    roll_up()
    purge()
    authorities: dict[int, set[str]] = defaultdict(set)
    for intent, authority in Delivery.objects.values_list("intent_id", "authority"):
        authorities[intent].add(authority)
    named = {pk: bool(ref) for pk, ref in ResetIntent.objects.values_list("pk", "account_ref")}
    assert {named[pk] for pk, of in authorities.items() if "pipeline" not in of} == {False}
    assert {named[pk] for pk, of in authorities.items() if "pipeline" in of} == {True}
