"""What is asked and answered about intents."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field

from resetdelivery.api.bodies import StrictFields

ChannelName = Literal["email", "sms"]
StatusWord = Literal["pending", "accepted", "delivered", "not_sent"]

_RFC3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII
)


def moment(value: object) -> dt.datetime:
    """An aware moment from RFC 3339 text; ``ValueError`` for anything else, numbers included."""
    if not isinstance(value, str) or not _RFC3339.fullmatch(value):
        raise ValueError("must be a date and time with an offset (RFC 3339), such as 2030-01-31T12:00:00Z")
    try:
        return dt.datetime.fromisoformat(value.upper())
    except ValueError:
        raise ValueError("is a date or time that does not exist") from None


class NewIntent(StrictFields):
    """One reset: whose, over which channels, until when. No address is taken from any caller."""

    account_id: Annotated[str, Field(min_length=1, max_length=255, repr=False)]
    channels: Annotated[
        list[ChannelName], Field(min_length=1, max_length=2, json_schema_extra={"uniqueItems": True})
    ]
    expires_at: Annotated[dt.datetime, BeforeValidator(moment)]
    strategy: Literal["all", "fallback"] = "all"
    locale: Annotated[str, Field(min_length=1, max_length=16)] | None = None
    template_version: Annotated[str, Field(min_length=1, max_length=16)] | None = None


class Admitted(BaseModel):
    """The answer to a new intent, the same whether the account exists or not.

    ``state`` is the one at admission, so a replay repeats it. ``legacy_channels`` are those that the
    caller's existing sender must send; they are named once, and a replay names none.
    """

    reference: uuid.UUID
    state: Literal["open"] = "open"
    expires_at: dt.datetime
    legacy_channels: list[ChannelName]


class Withdrawn(BaseModel):
    """The answer to a withdrawal, the same whatever became of the intent before it."""

    reference: uuid.UUID
    state: Literal["cancel_requested"] = "cancel_requested"


class ChannelStatus(BaseModel):
    """Where an intent stands on one channel.

    ``not_sent`` has no reason: it would say whether an account exists.
    """

    channel: ChannelName
    state: StatusWord
    expires_at: dt.datetime
    finished_at: dt.datetime | None


class IntentStatus(BaseModel):
    """Where an intent stands."""

    reference: uuid.UUID
    state: Literal["open", "closed"]
    expires_at: dt.datetime
    channels: list[ChannelStatus]
