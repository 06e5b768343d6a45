"""What an existing sender tells of its own messages, kept once, beside how ours ended."""

from __future__ import annotations

import uuid

from django.db import connections, transaction

from notifications.channels import Channel
from resetdelivery.claims.sql import lock_intents
from resetdelivery.domain.states import FINISHED_STATES, Authority, DeliveryState
from resetdelivery.domain.telemetry import CountedEvent, LegacyOutcome
from resetdelivery.exceptions import ResetDeliveryError
from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.telemetry.counts import count

#: Stands for our own ending where a report comes before it.
OPEN = "open"


class InvalidReport(ResetDeliveryError, ValueError):
    """The report is of something that there is not, or that is not the existing sender's; nothing was stored.

    ``part`` is the argument that is wrong.
    """

    def __init__(self, part: str, text: str) -> None:
        super().__init__(f"{part} {text}")
        self.part = part


class OutcomeConflict(ResetDeliveryError):
    """Another outcome was reported before; that one stays."""

    def __init__(self, before: LegacyOutcome) -> None:
        super().__init__(
            f"{before.value!r} was reported of this channel before, and stays. Report the final one, once."
        )
        self.before = before


def report(reference: uuid.UUID, channel: str, outcome: str, *, using: str) -> bool:
    """Keep ``outcome`` and count it beside our ending; false where the same is on record already.

    Raises :class:`InvalidReport` or :class:`OutcomeConflict`.
    """
    on, told = _channel(channel), _outcome(outcome)
    connection = connections[using]
    with transaction.atomic(using=using):
        with connection.cursor() as cursor:
            lock_intents(connection, cursor, [_intent(reference, using)])
        # Under the lock: what ends a delivery holds it too, so an ending is told that stays.
        delivery = _delivery(reference, on, using)
        if delivery.legacy_outcome == told:
            return False
        if delivery.legacy_outcome:
            raise OutcomeConflict(LegacyOutcome(delivery.legacy_outcome))
        Delivery.objects.using(using).filter(pk=delivery.pk).update(legacy_outcome=told)
        count(connection, CountedEvent.LEGACY_REPORTED, on, f"{_ending(delivery)}:{told}")
    return True


def _ending(delivery: Delivery) -> str:
    state = DeliveryState(delivery.state)
    return state.value if state in FINISHED_STATES else OPEN


def _channel(text: str) -> Channel:
    try:
        return Channel(text)
    except ValueError:
        raise InvalidReport("channel", f"must be one of {', '.join(Channel)}.") from None


def _outcome(text: str) -> LegacyOutcome:
    try:
        return LegacyOutcome(text)
    except ValueError:
        raise InvalidReport("outcome", f"must be one of {', '.join(LegacyOutcome)}.") from None


def _intent(reference: uuid.UUID, using: str) -> int:
    if not isinstance(reference, uuid.UUID):
        raise InvalidReport("reference", "must be a UUID: pass on the admission's reference as it is.")
    found = ResetIntent.objects.using(using).filter(reference=reference).values_list("pk", flat=True).first()
    if found is None:
        raise InvalidReport(
            "reference",
            "names no reset, or one that is not kept any more. Pass on the admission's own, soon.",
        )
    return found


def _delivery(reference: uuid.UUID, channel: Channel, using: str) -> Delivery:
    found = Delivery.objects.using(using).filter(intent__reference=reference, channel=channel).first()
    if found is None:
        raise InvalidReport(
            "channel", f"{channel.value!r} is none of this reset's. Report of its legacy_channels only."
        )
    if found.authority == Authority.PIPELINE:
        raise InvalidReport(
            "channel", f"{channel.value!r} of this reset is sent by us. Report of its legacy_channels only."
        )
    return found
