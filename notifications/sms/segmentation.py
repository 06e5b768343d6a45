"""How a text is cut into SMS segments, and what that costs. Pure: standard library only.

Sources: 3GPP TS 23.038, 4 (the alphabets) and 3GPP TS 23.040, 9.2.3.24.1 (concatenation with an
8-bit reference, whose header takes 6 of a segment's 140 octets).
"""

from __future__ import annotations

import enum
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from notifications.sms.gsm7 import septets


class Encoding(enum.StrEnum):
    """How a whole message is encoded; one character outside the 7-bit alphabet decides."""

    GSM7 = "gsm7"
    #: UTF-16BE in practice: handsets join surrogate pairs, though UCS-2 knows none.
    UCS2 = "ucs2"


class _Capacity(NamedTuple):
    single: int
    part: int


_CAPACITY = {
    Encoding.GSM7: _Capacity(single=160, part=153),
    Encoding.UCS2: _Capacity(single=70, part=67),
}

# Everything of category Cc but LF and CR, and whatever of a surrogate pair came alone. A form feed
# has a code in the extension table, but no handset makes a page of it.
_REFUSED = re.compile(r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")

_BUCKETS = ("0", "1", "2", "3", "4-6", "4-6", "4-6")


class InvalidSmsText(ValueError):
    """A text that no SMS may carry, for its character ``code_point`` at ``position`` (from 0).

    The text itself is not in the message: it may hold a link.
    """

    def __init__(self, *, code_point: int, position: int) -> None:
        kind = "half of a surrogate pair" if 0xD800 <= code_point <= 0xDFFF else "a control character"
        super().__init__(
            f"U+{code_point:04X} at position {position} (counted from 0) is {kind}, which no SMS may "
            "carry: remove it. Of the control characters only LF and CR are allowed."
        )
        self.code_point = code_point
        self.position = position


@dataclass(frozen=True, slots=True, kw_only=True)
class Segmentation:
    """What a text costs on the air.

    ``units`` are septets in GSM-7 and UTF-16 code units in UCS-2, without the headers of
    concatenation; ``forcing`` is the first character that is not in the 7-bit alphabet.
    """

    encoding: Encoding
    units: int
    segments: int
    forcing: str | None

    @property
    def bucket(self) -> str:
        """``segments`` as it may be recorded: see :func:`segments_bucket`."""
        return segments_bucket(self.segments)


def normalized(text: str) -> str:
    """``text`` as it is counted and sent: in NFC, where "é" is in the 7-bit alphabet.

    :class:`InvalidSmsText` for control characters other than LF and CR, and for lone surrogates.
    """
    found = _REFUSED.search(text)
    if found:
        raise InvalidSmsText(code_point=ord(found.group()), position=found.start())
    return unicodedata.normalize("NFC", text)


def segment(text: str) -> Segmentation:
    """The segments of ``text`` after :func:`normalized`, which says what is refused."""
    return count(normalized(text))


def count(text: str) -> Segmentation:
    """The segments of ``text`` exactly as it is: any string, nothing changed and nothing refused."""
    forcing = next((char for char in text if septets(char) is None), None)
    encoding = Encoding.GSM7 if forcing is None else Encoding.UCS2
    widths = _widths(text, encoding)
    return Segmentation(
        encoding=encoding,
        units=sum(widths),
        segments=len(_starts(widths, _CAPACITY[encoding])),
        forcing=forcing,
    )


def split(text: str) -> list[str]:
    """The text of each segment of :func:`count`, in order."""
    encoding = count(text).encoding
    starts = _starts(_widths(text, encoding), _CAPACITY[encoding])
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def segments_bucket(segments: int) -> str:
    """A number of segments as one of "0", "1", "2", "3", "4-6", "7+".

    ``ValueError`` for a negative one.
    """
    if segments < 0:
        raise ValueError(f"A text has no {segments} segments: give 0 or more.")
    return _BUCKETS[segments] if segments < len(_BUCKETS) else "7+"


def _widths(text: str, encoding: Encoding) -> list[int]:
    if encoding is Encoding.GSM7:
        return [septets(char) or 0 for char in text]
    return [2 if ord(char) > 0xFFFF else 1 for char in text]


def _starts(widths: Sequence[int], capacity: _Capacity) -> list[int]:
    """Where segments begin: each takes whole characters as long as they fit.

    So an escape or the first half of a surrogate pair never ends a segment, and there may be
    more of them than units divided by capacity.
    """
    if sum(widths) <= capacity.single:
        return [0] if widths else []
    starts: list[int] = []
    room = 0
    for index, width in enumerate(widths):
        if width > room:
            starts.append(index)
            room = capacity.part
        room -= width
    return starts
