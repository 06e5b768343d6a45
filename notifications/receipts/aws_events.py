"""Events of AWS End User Messaging SMS, as a table.

Source: docs.aws.amazon.com/sms-voice/latest/userguide, "Event types for SMS, MMS, and voice" and
"Example event data". A receipt names its attempt in ``context``, which the sender set.
"""

from __future__ import annotations

from collections.abc import Mapping

from notifications.outcome import Reason
from notifications.receipts.callback import CallbackUnreadable, json_object, moment_of, reference_of, text_of
from notifications.receipts.receipt import Receipt, ReceiptVerdict

#: Where a message's ``Context`` holds the attempt's reference.
CONTEXT_KEY = "reference"

MAX_PROVIDER_REFERENCE = 255

_DELIVERED, _FAILED, _PROGRESS = ReceiptVerdict.DELIVERED, ReceiptVerdict.FAILED, ReceiptVerdict.PROGRESS

Meaning = tuple[ReceiptVerdict, Reason]

#: ``eventType`` → what it means. A row that is not here is progress, and counted as unknown.
EVENTS: Mapping[str, Meaning] = {
    "TEXT_QUEUED": (_PROGRESS, Reason.OK),
    "TEXT_PENDING": (_PROGRESS, Reason.OK),
    "TEXT_SENT": (_PROGRESS, Reason.OK),
    # The carrier took it. AWS uses the two for one another, by country; a final one is the last word.
    "TEXT_SUCCESSFUL": (_DELIVERED, Reason.OK),
    "TEXT_DELIVERED": (_DELIVERED, Reason.OK),
    "TEXT_BLOCKED": (_FAILED, Reason.RECIPIENT_REFUSED),  # the device or the carrier blocks
    "TEXT_CARRIER_BLOCKED": (_FAILED, Reason.CONTENT_REFUSED),  # taken for malicious or abusive
    "TEXT_CARRIER_UNREACHABLE": (_FAILED, Reason.PROVIDER_BUSY),  # a passing error at the carrier
    "TEXT_INVALID": (_FAILED, Reason.INVALID_DESTINATION),
    "TEXT_INVALID_MESSAGE": (_FAILED, Reason.INVALID_MESSAGE),
    "TEXT_PROTECT_BLOCKED": (_FAILED, Reason.POLICY_REFUSED),  # our own protect configuration
    "TEXT_SPAM": (_FAILED, Reason.CONTENT_REFUSED),
    "TEXT_TTL_EXPIRED": (_FAILED, Reason.EXPIRED_AT_PROVIDER),
    "TEXT_UNREACHABLE": (_FAILED, Reason.UNREACHABLE),  # the device is off or out of reach
    # No reason known; also AWS's own answer for a carrier that stays silent for 72 hours.
    "TEXT_UNKNOWN": (_FAILED, Reason.PROVIDER_ERROR),
}

UNKNOWN: Meaning = (_PROGRESS, Reason.UNREADABLE_REPLY)


def read_event(message: str) -> Receipt:
    """The receipt in an event's JSON text. Raises :class:`CallbackUnreadable`."""
    event = json_object(message)
    kind, message_id = text_of(event, "eventType"), text_of(event, "messageId")
    if not kind or not 0 < len(message_id) <= MAX_PROVIDER_REFERENCE:
        raise CallbackUnreadable
    verdict, reason = EVENTS.get(kind, UNKNOWN)
    if event.get("isFinal") is False:
        verdict, reason = _PROGRESS, Reason.OK if kind in EVENTS else reason
    context = event.get("context")
    milliseconds = event.get("eventTimestamp")
    return Receipt(
        attempt_reference=reference_of(text_of(context, CONTEXT_KEY) if isinstance(context, dict) else ""),
        provider_reference=message_id,
        verdict=verdict,
        reason=reason,
        occurred_at=moment_of(milliseconds / 1000) if isinstance(milliseconds, int | float) else None,
    )
