"""What is counted, and in which buckets: closed sets, so that every label's size is known."""

from __future__ import annotations

import enum
from bisect import bisect_left
from collections.abc import Iterable, Sequence


class CountedEvent(enum.StrEnum):
    """What is counted per channel, beside attempts; the label's values stand behind each."""

    #: A delivery was admitted: its authority.
    ADMITTED = "admitted"
    #: Our own work on a delivery that is no shadow ended: :class:`Ending`.
    FINISHED = "finished"
    #: A delivery of ours expired, as what was left of its life was of no use: its reason.
    EXPIRED_USEFULLY = "expired_usefully"
    #: A provider told us later: the receipt's verdict.
    RECEIPT = "receipt"
    #: A worker came back after its lease was taken for lost: the outcome that it saw.
    LATE_OUTCOME = "late_outcome"
    #: What became of the hint that an admission owed: :class:`FirstHint`.
    HINT = "hint"
    #: Hints of the sweep, of retries and of fallbacks that were armed, as they went: :class:`FirstHint`.
    LATER_HINT = "later_hint"
    #: A lease ran out and the sweep took a delivery of ours back: ``leased`` or ``submitting``.
    LEASE_RECOVERED = "lease_recovered"
    #: Our own work on a shadowed delivery ended, and a worker had taken it; no label.
    SHADOW_CLAIMED = "shadow_claimed"
    #: Our own work on a shadowed delivery ended: :class:`Ending`.
    SHADOW_FINISHED = "shadow_finished"
    #: A shadowed delivery would not have been sent, whichever way it ended: its reason.
    SHADOW_REFUSED = "shadow_refused"
    #: A shadowed delivery would have been sent: from due until then, of :data:`DELAY_LABELS`.
    SHADOW_DELAY = "shadow_delay"
    #: A shadowed text message would have been sent: :data:`SEGMENT_BUCKETS`.
    SHADOW_SEGMENTS = "shadow_segments"
    #: An existing sender told what became of its own: our ending, a colon, :class:`LegacyOutcome`.
    LEGACY_REPORTED = "legacy_reported"


#: Counted as they happen, in the transaction in which they do; the others are counted from rows.
AS_THEY_HAPPEN = frozenset(
    {CountedEvent.LATER_HINT, CountedEvent.LEASE_RECOVERED, CountedEvent.LEGACY_REPORTED}
)


class LegacyOutcome(enum.StrEnum):
    """What an existing sender reports of a delivery that it sent, or did not send."""

    #: A provider took it.
    ACCEPTED = "accepted"
    #: No provider took it.
    FAILED = "failed"
    #: It decided not to send: expired, no destination, over a limit of its own.
    NOT_SENT = "not_sent"


class Ending(enum.StrEnum):
    """How our own work on a delivery ended; what a receipt says later does not change it."""

    ACCEPTED = "accepted"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    WITHHELD = "withheld"
    SHADOWED = "shadowed"


class FirstHint(enum.StrEnum):
    """What became of the hint that followed an admission; empty where no hint was owed."""

    NONE = ""
    PUBLISHED = "published"
    #: Enough hints stood in the queue already.
    SUPPRESSED = "suppressed"
    #: The broker could not be reached.
    FAILED = "failed"


class Job(enum.StrEnum):
    """Periodic work of which is kept when it last succeeded."""

    SWEEP = "sweep"
    EXPIRE_OVERDUE = "expire_overdue"
    ROLL_UP = "roll_up"
    PURGE = "purge"
    EXPORT_TRACES = "export_traces"


#: Upper bounds in seconds, each bucket with its bound included; what is above them all has one more.
QUEUE_DELAY_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0)
#: The same bounds as labels of events, and what is above them all.
DELAY_LABELS = (*(f"{bound:g}" for bound in QUEUE_DELAY_SECONDS), "inf")
DURATION_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
#: Shares: of a delivery's life that is left, and of a lease that is used up.
REMAINING_RATIO = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
LEASE_USED_RATIO = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
#: Of :func:`notifications.sms.segmentation.segments_bucket`, in the order of their counts.
SEGMENT_BUCKETS = ("1", "2", "3", "4-6", "7+")


def bucket_of(value: float, bounds: Sequence[float]) -> int:
    """The index of the bucket that holds ``value``: as many buckets as bounds, and one above them."""
    return bisect_left(bounds, value)


def no_counts(bounds: Sequence[object]) -> list[int]:
    """Empty buckets for ``bounds``."""
    return [0] * (len(bounds) + 1)


def summed(*counts: Sequence[int]) -> list[int]:
    """Bucket by bucket the sum of ``counts``; all must be of one length, or none at all."""
    return [sum(bucket) for bucket in zip(*(one for one in counts if one), strict=True)]


def counted(values: Iterable[float], bounds: Sequence[float]) -> list[int]:
    """How many of ``values`` fall into each bucket."""
    counts = no_counts(bounds)
    for value in values:
        counts[bucket_of(value, bounds)] += 1
    return counts
