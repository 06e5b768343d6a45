"""The GSM 7-bit default alphabet and its extension table. Pure: standard library only.

Source: 3GPP TS 23.038, 6.2.1 and 6.2.1.1. National language shift tables (6.2.1.2.4) are left
out: providers rarely offer them, and a handset without the table shows other characters.
"""

from __future__ import annotations

from typing import Literal

#: Announces a character of the extension table; as text it would turn the next one into another.
ESCAPE = "\x1b"

#: The default alphabet: a character's place is its code.
ALPHABET = (
    "@£$¥èéùìòÇ\nØø\rÅå"
    "Δ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ"
    " !\"#¤%&'()*+,-./"
    "0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNO"
    "PQRSTUVWXYZÄÖÑÜ§"
    "¿abcdefghijklmno"
    "pqrstuvwxyzäöñüà"
)

#: The extension table: codes that follow an escape.
EXTENSION = {
    "\f": 0x0A,
    "^": 0x14,
    "{": 0x28,
    "}": 0x29,
    "\\": 0x2F,
    "[": 0x3C,
    "~": 0x3D,
    "]": 0x3E,
    "|": 0x40,
    "€": 0x65,
}

_SEPTETS: dict[str, Literal[1, 2]] = {
    **dict.fromkeys(ALPHABET.replace(ESCAPE, ""), 1),
    **dict.fromkeys(EXTENSION, 2),
}


def septets(char: str) -> Literal[1, 2] | None:
    """How many septets ``char`` takes: 2 for one of the extension table, ``None`` if it has none."""
    return _SEPTETS.get(char)
