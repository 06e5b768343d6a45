"""What the caller of ``request_reset`` gets."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass

from notifications.channels import Channel


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The answer to a request: the intent's opaque reference and its expiry.

    ``replayed``: this key had asked for just this before. ``coalesced``: the request joined an
    intent of which nothing was sent yet. Neither is for the person who asked: known and unknown
    accounts must look alike. ``legacy_channels`` are those that the caller's existing sender must
    send, to every account that the request means: named once, to the request that stored them, so
    none on a replay or where it joined; none of those that a limit suppresses. With ``fallback`` one
    sender has the whole chain: all channels or none, but for those that a limit suppresses. Send
    after your own transaction has committed.
    """

    reference: uuid.UUID
    expires_at: dt.datetime
    replayed: bool = False
    coalesced: bool = False
    legacy_channels: tuple[Channel, ...] = ()
