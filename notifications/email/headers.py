"""Headers with words in them, as folded ASCII lines (RFC 2047). Pure: standard library only.

The newer header classes encode word by word, and where two encoded words meet at a fold, CPython
3.11 and 3.12 lose the space between them, while 3.13 writes the words without the white space
that section 5 asks for. So words are encoded all together here, or not at all.
"""

from __future__ import annotations

import functools
from email.header import Header
from email.headerregistry import Address

CRLF = "\r\n"
#: RFC 2047, section 2: no line of a header that holds encoded words is longer.
MAX_LINE_OCTETS = 76


@functools.lru_cache(maxsize=64)
def subject_header(subject: str) -> str:
    """``subject``, which has no line break, as a whole header with its line end."""
    is_plain = subject.isascii() and "=?" not in subject
    header = Header(
        subject, "us-ascii" if is_plain else "utf-8", maxlinelen=MAX_LINE_OCTETS, header_name="Subject"
    )
    return f"Subject: {header.encode(linesep=CRLF)}{CRLF}"


def from_header(display_name: str, mailbox: str) -> str:
    """One mailbox with its name, neither of them with a line break, as a whole header."""
    if display_name.isascii() and "=?" not in display_name:
        return f"From: {Address(display_name, addr_spec=mailbox)}{CRLF}"
    name = Header(display_name, "utf-8", maxlinelen=MAX_LINE_OCTETS, header_name="From").encode(linesep=CRLF)
    # The address on a line of its own where the last one is full.
    last_line = f"From: {name}".rpartition(CRLF)[2]
    gap = " " if len(f"{last_line} <{mailbox}>") <= MAX_LINE_OCTETS else f"{CRLF} "
    return f"From: {name}{gap}<{mailbox}>{CRLF}"
