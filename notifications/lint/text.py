"""Checks that the texts of both channels share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from notifications.lint.report import WorstCase

_ADDRESS = re.compile(r"""https?://[^\s"'<>]+""")
_ENTITY = re.compile(r"&(?:#x?[0-9a-fA-F]+|amp|lt|gt|quot);")


def link_problems(text: str, worst: WorstCase) -> Iterator[str]:
    """The link is there once, alone on its line, and no other address is.

    A link that shares its line is taken for longer than it is by some mail clients, and a line
    under 76 characters is never broken by quoted-printable (RFC 2045, section 6.7).
    """
    count = text.count(worst.link) if worst.link else 0
    if worst.link and count != 1:
        yield f"holds the link {count} times: write {{{{ link }}}} once"
    elif worst.link and worst.link not in text.split("\n"):
        yield "has other characters on the link's line: put {{ link }} alone on its line, unindented"
    yield from host_problems(text, worst)


def host_problems(text: str, worst: WorstCase) -> Iterator[str]:
    """Every address leads to the host of the link, or is the project's own support address."""
    for address in _ADDRESS.findall(text):
        host = urlsplit(address.rstrip(".,;:!?)")).hostname
        if host != worst.host and address.rstrip(".,;:!?)") not in worst.brand.support:
            yield f"leads to {host!r}{_where_to(worst)}"


def _where_to(worst: WorstCase) -> str:
    if worst.host:
        return f", not to {worst.host!r}: use {{{{ link }}}} only"
    return ": a notice has no link, or readers would learn to follow the links of false ones"


def escaping_problems(text: str) -> Iterator[str]:
    """Plain text holds no HTML entities; rendered with a brand that would be escaped."""
    if found := _ENTITY.search(text):
        yield f"holds {found.group()!r}: put {{% autoescape off %}} around the whole file"
