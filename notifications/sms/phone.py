"""Which phone numbers may go to a provider as they are. Pure: standard library only."""

from __future__ import annotations

import re

_E164 = re.compile(r"\+[1-9][0-9]{6,14}\Z", re.ASCII)


def is_e164(number: str) -> bool:
    """Whether ``number`` has the form of ITU-T E.164 with its plus sign: at most 15 digits."""
    return _E164.match(number) is not None
