"""The closed set of channels. Pure: standard library only."""

from __future__ import annotations

import enum


class Channel(enum.StrEnum):
    """How a message reaches a person; the values are stored and are metric labels."""

    EMAIL = "email"
    SMS = "sms"
