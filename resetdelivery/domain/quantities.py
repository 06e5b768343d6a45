"""Rates and times as an operator types them: ``2000/s``, ``120/min``, ``120ms``, ``1.5s``. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from resetdelivery.exceptions import ResetDeliveryError

_RATES = {"s": 1.0, "min": 60.0, "h": 3600.0}
_TIMES = {"ms": 0.001, "s": 1.0, "min": 60.0}
_NUMBER = r"(\d{1,9}(?:\.\d{1,6})?)"


class UnreadableQuantity(ResetDeliveryError, ValueError):
    """A rate or a time that is not a number with a known unit."""


def per_second(text: str) -> float:
    """``2000/s``, ``120/min`` or ``90/h`` per second. :class:`UnreadableQuantity` for anything else."""
    number, unit = _split(text, rf"{_NUMBER}\s*/\s*(\w+)", _RATES, "a rate such as 2000/s, 120/min or 90/h")
    if not number:
        raise UnreadableQuantity(f"{text!r} is no rate to plan for: write more than 0, such as 2000/s.")
    return number / unit


def seconds(text: str) -> float:
    """``120ms``, ``1.5s`` or ``2min`` in seconds. :class:`UnreadableQuantity` for anything else."""
    number, unit = _split(text, rf"{_NUMBER}\s*([a-z]+)", _TIMES, "a time such as 120ms, 1.5s or 2min")
    return number * unit


def _split(text: str, form: str, units: Mapping[str, float], wanted: str) -> tuple[float, float]:
    found = re.fullmatch(form, text.strip(), re.ASCII)
    if found is None:
        raise UnreadableQuantity(f"{text[:40]!r} cannot be read: write {wanted}.")
    number, unit = found.groups()
    if unit not in units:
        raise UnreadableQuantity(f"{text[:40]!r} has a unit that is not known: write {wanted}.")
    return float(number), units[unit]
