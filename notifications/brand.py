"""Who a message is from. Pure: standard library only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Brand:
    """Who the message is from, in words, and where to ask for help (an address, a URL or nothing)."""

    name: str
    support: str
