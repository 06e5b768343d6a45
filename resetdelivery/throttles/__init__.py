"""Limits that live in Redis: callers, clients of the API, phone prefixes, money spent on SMS.

They come on top of the limits per account and per destination, which are counted in the database.
Callers and clients pass while Redis is away; text messages, which cost money, do not.
"""

from __future__ import annotations

from resetdelivery.throttles.clients import admit_api_call

__all__ = ["admit_api_call"]
