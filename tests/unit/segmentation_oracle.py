"""A second way to cut a text into SMS segments: octets first, then back off from bad cuts.

It shares nothing with :mod:`notifications.sms`: its table is written by code points, row by row
of 3GPP TS 23.038, it encodes before it counts, and it can read a segment back.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

_ROWS = """
0040 00A3 0024 00A5 00E8 00E9 00F9 00EC 00F2 00C7 000A 00D8 00F8 000D 00C5 00E5
0394 005F 03A6 0393 039B 03A9 03A0 03A8 03A3 0398 039E ---- 00C6 00E6 00DF 00C9
0020 0021 0022 0023 00A4 0025 0026 0027 0028 0029 002A 002B 002C 002D 002E 002F
0030 0031 0032 0033 0034 0035 0036 0037 0038 0039 003A 003B 003C 003D 003E 003F
00A1 0041 0042 0043 0044 0045 0046 0047 0048 0049 004A 004B 004C 004D 004E 004F
0050 0051 0052 0053 0054 0055 0056 0057 0058 0059 005A 00C4 00D6 00D1 00DC 00A7
00BF 0061 0062 0063 0064 0065 0066 0067 0068 0069 006A 006B 006C 006D 006E 006F
0070 0071 0072 0073 0074 0075 0076 0077 0078 0079 007A 00E4 00F6 00F1 00FC 00E0
"""
_EXTENSION = "0A:000C 14:005E 28:007B 29:007D 2F:005C 3C:005B 3D:007E 3E:005D 40:007C 65:20AC"
_ESCAPE = 0x1B

DECODED: dict[bytes, str] = {
    bytes([code]): chr(int(point, 16)) for code, point in enumerate(_ROWS.split()) if point != "----"
} | {
    bytes([_ESCAPE, int(code, 16)]): chr(int(point, 16))
    for code, _, point in (entry.partition(":") for entry in _EXTENSION.split())
}
ENCODED = {char: octets for octets, char in DECODED.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A text's encoding ("gsm7" or "ucs2"), its units, and each segment's octets."""

    encoding: str
    units: int
    segments: list[bytes]


def cut(text: str) -> Cut:
    """``text`` as octets in segments: one octet for a septet, or UTF-16BE."""
    if all(char in ENCODED for char in text):
        octets, width, single, part = b"".join(ENCODED[char] for char in text), 1, 160, 153
    else:
        octets, width, single, part = text.encode("utf-16-be", "surrogatepass"), 2, 140, 134
    segments = [octets] if len(octets) <= single else _parts(octets, width, part)
    encoding = "gsm7" if width == 1 else "ucs2"
    return Cut(encoding=encoding, units=len(octets) // width, segments=[s for s in segments if s])


def _parts(octets: bytes, width: int, part: int) -> list[bytes]:
    parts = []
    while octets:
        end = min(part, len(octets))
        while end < len(octets) and _is_inside(octets, width, end):
            end -= width
        parts.append(octets[:end])
        octets = octets[end:]
    return parts


def _is_inside(octets: bytes, width: int, end: int) -> bool:
    if width == 1:
        return octets[end - 1] == _ESCAPE
    return 0xD8 <= octets[end - 2] <= 0xDB


def read(encoding: str, segment: bytes) -> str:
    """What a handset shows of one segment alone; ``ValueError`` if it ends inside a character."""
    if encoding == "ucs2":
        return segment.decode("utf-16-be")
    shown, rest = "", segment
    while rest:
        length = 2 if rest[0] == _ESCAPE else 1
        if rest[:length] not in DECODED:
            raise ValueError(f"No character has the code {rest[:length].hex()}.")
        shown, rest = shown + DECODED[rest[:length]], rest[length:]
    return shown


def is_refused(text: str) -> bool:
    """Whether ``text`` has a control character other than LF and CR, or half of a surrogate pair."""
    return any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\r" for char in text)
