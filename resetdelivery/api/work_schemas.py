"""What workers outside this project send and are answered."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Annotated, Literal

from pydantic import BaseModel, Field, RootModel

from notifications.channels import Channel
from notifications.outcome import Outcome, OutcomeKind, Reason
from resetdelivery.api.bodies import StrictFields
from resetdelivery.domain.external import MAX_WORKER_ID
from resetdelivery.domain.states import DeliveryState

#: A fencing token: opaque to its holder.
LeaseToken = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,8}$", examples=["1"])]
#: Bounded once more by the settings; here only so that it is a time at all.
LeaseSeconds = Annotated[float, Field(gt=0, le=86_400, examples=[30])]

#: What an outcome is put down to where the worker gives no reason.
USUAL_REASON = {
    OutcomeKind.ACCEPTED: Reason.OK,
    OutcomeKind.THROTTLED: Reason.RATE_LIMITED,
    OutcomeKind.LATE: Reason.DEADLINE_PASSED,
}


class ClaimFields(StrictFields):
    """What to claim."""

    worker_id: str = Field(pattern=rf"^[A-Za-z0-9._-]{{1,{MAX_WORKER_ID}}}$", examples=["mailer-1"])
    limit: int = Field(ge=1, le=1000, examples=[10])
    lease_seconds: LeaseSeconds
    channel: Annotated[Channel | None, Field(strict=False)] = None


class HeldFields(StrictFields):
    """Under which token a delivery is held."""

    lease_token: LeaseToken


class RenewFields(HeldFields):
    """How long it is to be held from now."""

    lease_seconds: LeaseSeconds


class OutcomeFields(HeldFields):
    """What a submission came to."""

    outcome: Annotated[OutcomeKind, Field(strict=False)]
    reason: Annotated[Reason | None, Field(strict=False)] = None
    provider_reference: str = Field(default="", pattern=r"^[!-~]{0,255}$")
    retry_after_seconds: float | None = Field(default=None, ge=0)

    def as_outcome(self) -> Outcome:
        """The outcome as a transport of ours would report it."""
        return Outcome(
            kind=self.outcome,
            reason=self.reason or USUAL_REASON.get(self.outcome, Reason.PROVIDER_ERROR),
            retry_after_seconds=self.retry_after_seconds,
            provider_reference=self.provider_reference,
        )


class ClaimedDelivery(BaseModel):
    """A delivery that the worker holds; nothing in it is personal."""

    reference: uuid.UUID
    channel: Channel
    lease_token: str
    lease_expires_at: dt.datetime
    expires_at: dt.datetime


class ClaimedDeliveries(BaseModel):
    """What was claimed, soonest expiry first within a channel; empty where nothing is due."""

    deliveries: list[ClaimedDelivery]


class _Message(BaseModel):
    """What every message has besides its words.

    Nothing may be sent later than ``send_within_seconds`` after the moment before it was asked for.
    """

    attempt_reference: uuid.UUID
    send_within_seconds: float
    expires_at: dt.datetime
    to: str = Field(repr=False)


class EmailOut(_Message):
    """An email; Message-ID, Date and boundary stay the same on every try."""

    channel: Literal["email"] = "email"
    subject: str = Field(repr=False)
    text: str = Field(repr=False)
    html: str = Field(repr=False)
    message_id: str
    date: dt.datetime
    boundary: str


class SmsOut(_Message):
    """A text message; ``key`` stays the same on every try, for a provider with idempotency keys."""

    channel: Literal["sms"] = "sms"
    text: str = Field(repr=False)
    segments: int
    key: str


class MessageOut(RootModel[Annotated[EmailOut | SmsOut, Field(discriminator="channel")]]):
    """A message to submit, in the form of its channel."""


class DeliveryStateOut(BaseModel):
    """Where a delivery stands after the call."""

    reference: uuid.UUID
    state: DeliveryState


class RenewedOut(BaseModel):
    """Until when the delivery is held."""

    reference: uuid.UUID
    lease_expires_at: dt.datetime
