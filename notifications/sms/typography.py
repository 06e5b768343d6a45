"""Typographic characters in plain ones, where that keeps an SMS in the 7-bit alphabet. Pure.

One curly apostrophe makes a message of 160 septets one of 70 units. Letters are never touched: a
Polish or Turkish word without its marks is another word, and costs its second segment instead.
"""

from __future__ import annotations

import enum
import unicodedata
from types import MappingProxyType

from notifications.sms.segmentation import Encoding, count


class Typography(enum.StrEnum):
    """What becomes of typographic characters in an SMS."""

    AS_WRITTEN = "as_written"
    #: Plain where that keeps the message in the 7-bit alphabet.
    PLAIN = "plain"


#: Every replacement there is. The joiners (U+200C, U+200D) and the direction marks are not in it:
#: scripts that use them mean something by them.
PLAIN = MappingProxyType(
    {
        # Single quotes and primes
        "\u2018": "'",
        "\u2019": "'",
        "\u201a": "'",
        "\u201b": "'",
        "\u2032": "'",
        "\u2039": "'",
        "\u203a": "'",
        "\u00b4": "'",
        "`": "'",
        # Double quotes
        "\u201c": '"',
        "\u201d": '"',
        "\u201e": '"',
        "\u201f": '"',
        "\u2033": '"',
        "\u00ab": '"',
        "\u00bb": '"',
        # Hyphens, dashes, minus
        "\u2010": "-",
        "\u2011": "-",
        "\u2012": "-",
        "\u2013": "-",
        "\u2014": "-",
        "\u2015": "-",
        "\u2212": "-",
        # Dots and signs
        "\u2024": ".",
        "\u2025": "..",
        "\u2026": "...",
        "\u2022": "*",
        "\u2044": "/",
        # Spaces
        "\u00a0": " ",
        "\u2000": " ",
        "\u2001": " ",
        "\u2002": " ",
        "\u2003": " ",
        "\u2004": " ",
        "\u2005": " ",
        "\u2006": " ",
        "\u2007": " ",
        "\u2008": " ",
        "\u2009": " ",
        "\u200a": " ",
        "\u202f": " ",
        "\u205f": " ",
        "\u3000": " ",
        # Line ends
        "\u2028": "\n",
        "\u2029": "\n",
        # Without width
        "\u00ad": "",
        "\u200b": "",
        "\u2060": "",
        "\ufeff": "",
    }
)

_TRANSLATION = str.maketrans(dict(PLAIN))


def plain(text: str) -> str:
    """``text`` with every character of :data:`PLAIN` replaced, in NFC."""
    # Once more after it: without what stood between them, two characters may compose.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).translate(_TRANSLATION))


def plain_if_gsm7(text: str) -> str:
    """:func:`plain` of ``text`` if that is in the 7-bit alphabet, and ``text`` itself otherwise.

    In a message that a letter makes UCS-2 anyway, plain quotes would save nothing, and the three
    dots of an ellipsis cost two units.
    """
    replaced = plain(text)
    return replaced if count(replaced).encoding is Encoding.GSM7 else text
