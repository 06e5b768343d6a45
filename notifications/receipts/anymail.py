"""The ``tracking`` signal of django-anymail.

Anymail checks each provider's webhook as well as that provider allows (anymail.dev, "Securing
webhooks"), and for most of them no time: what it passes on may be a replay. The window here is over
the event's own time; an event without one is refused.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Protocol

from notifications.outcome import Reason
from notifications.receipts.callback import check_window, reference_of
from notifications.receipts.problems import checked_window
from notifications.receipts.receipt import Receipt, ReceiptVerdict

#: Where a message's metadata holds the attempt's reference.
METADATA_KEY = "reference"

MAX_PROVIDER_REFERENCE = 255

_DELIVERED, _FAILED, _PROGRESS = ReceiptVerdict.DELIVERED, ReceiptVerdict.FAILED, ReceiptVerdict.PROGRESS

#: anymail.dev, "Tracking sent mail status", ``event_type``.
EVENTS: Mapping[str, ReceiptVerdict] = {
    "queued": _PROGRESS,
    "sent": _PROGRESS,
    "deferred": _PROGRESS,  # a bounce or a delivery follows
    "delivered": _DELIVERED,  # the receiving server took it
    "rejected": _FAILED,
    "failed": _FAILED,
    "bounced": _FAILED,
    # Of a person, after it arrived: they say nothing about a delivery that "delivered" did not.
    "autoresponded": _PROGRESS,
    "opened": _PROGRESS,
    "clicked": _PROGRESS,
    "complained": _PROGRESS,
    "unsubscribed": _PROGRESS,
    "subscribed": _PROGRESS,
}

#: The same page, ``reject_reason``.
REJECTIONS: Mapping[str, Reason] = {
    "invalid": Reason.INVALID_DESTINATION,
    "bounced": Reason.MAILBOX_UNAVAILABLE,
    "timed_out": Reason.UNREACHABLE,
    "blocked": Reason.POLICY_REFUSED,
    "spam": Reason.CONTENT_REFUSED,
    "unsubscribed": Reason.OPTED_OUT,
}


class TrackingEvent(Protocol):
    """What is used of ``anymail.signals.AnymailTrackingEvent``."""

    event_type: str
    timestamp: dt.datetime | None
    message_id: str | None
    metadata: Mapping[str, object] | None
    reject_reason: str | None


class AnymailReceiver:
    """Reads tracking events. ``window`` is how old one may be; it must be set, as nothing else is."""

    def __init__(self, *, window: dt.timedelta | None = None) -> None:
        self._window = checked_window(window)

    def read(self, event: TrackingEvent, received_at: dt.datetime) -> Receipt:
        """The receipt in ``event``. Raises ``CallbackStale``."""
        check_window(event.timestamp, received_at, self._window)
        verdict = EVENTS.get(event.event_type)
        return Receipt(
            attempt_reference=reference_of(str((event.metadata or {}).get(METADATA_KEY, ""))),
            provider_reference=str(event.message_id or "")[:MAX_PROVIDER_REFERENCE],
            verdict=verdict or _PROGRESS,
            reason=_reason(verdict, event.reject_reason),
            occurred_at=event.timestamp,
        )


def _reason(verdict: ReceiptVerdict | None, rejection: str | None) -> Reason:
    if verdict is None:
        return Reason.UNREADABLE_REPLY
    if verdict is _FAILED:
        return REJECTIONS.get(rejection or "", Reason.PROVIDER_ERROR)
    return Reason.OK
