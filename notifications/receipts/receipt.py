"""What a provider said later about a submission, as one value. Pure: standard library only.

No number, address or provider text is in it: a receipt's payload names the destination, and none
of that gets past the module that reads it.
"""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from dataclasses import dataclass

from notifications.outcome import Reason


class ReceiptVerdict(enum.StrEnum):
    """What a receipt means for its attempt."""

    #: It reached the handset or the mailbox, as far as the provider can know.
    DELIVERED = "delivered"
    #: It will not arrive.
    FAILED = "failed"
    #: On its way, or something this package does not know: changes nothing.
    PROGRESS = "progress"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One receipt.

    ``attempt_reference`` is the attempt's own, ``None`` where the provider named none or something
    else; ``provider_reference`` is the provider's id for the message; ``occurred_at`` is aware and
    the provider's, where it says.
    """

    attempt_reference: uuid.UUID | None
    provider_reference: str = ""
    verdict: ReceiptVerdict
    reason: Reason = Reason.OK
    occurred_at: dt.datetime | None = None
