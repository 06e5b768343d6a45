"""Values such as a field really has: varied, and the same in every run."""

from __future__ import annotations

import random
import re
import uuid

from resetdelivery.log_schema import Field

#: How often a field holds something else than usual: few attempts are not the first, or not accepted.
UNUSUAL_SHARE = 0.1
#: Of the logarithm of a duration.
SPREAD = 0.6

_HEX = re.compile(r"[0-9a-f]{16,}")


def varied(field: Field, chance: random.Random) -> object:
    """One value of ``field``: an identifier is a new one each time, a duration near the typical one.

    Of words and counts mostly the typical one, otherwise any other. ``None`` where the field is missing.
    """
    typical = field.typical
    if isinstance(typical, float):
        return round(typical * chance.lognormvariate(0, SPREAD), _decimals(typical))
    if isinstance(typical, str) and (made := _identifier(typical, chance)):
        return made
    return _other(field, chance) if chance.random() < UNUSUAL_SHARE else typical


def _other(field: Field, chance: random.Random) -> object:
    if field.words:
        return chance.choice(sorted(field.words))
    if field.type is int and isinstance(field.worst, int) and isinstance(field.typical, int):
        return field.typical + min(round(chance.expovariate(1)), field.worst)
    return field.worst


def _identifier(text: str, chance: random.Random) -> str:
    """Another identifier of the form that ``text`` has; empty where it is none."""
    if _HEX.fullmatch(text):
        return f"{chance.getrandbits(4 * len(text)):0{len(text)}x}"
    try:
        uuid.UUID(text)
    except ValueError:
        return ""
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


def _decimals(number: float) -> int:
    """Digits behind the point."""
    return len(repr(number).partition(".")[2].removesuffix("0"))
