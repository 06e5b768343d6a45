"""Marked values, the forms in which they could turn up, and the places that are searched for them."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

#: A shorter piece of base64 could turn up by chance.
_SHORTEST = 8
#: So may a shorter value as it stands.
SHORTEST_MARK = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A value that is planted, and must turn up nowhere but where it belongs.

    So long that it does not turn up by chance.
    """

    name: str
    value: str = field(repr=False)

    def __post_init__(self) -> None:
        assert len(self.value) >= SHORTEST_MARK, f"{self.name} has {len(self.value)} characters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """All that one place got to hold.

    ``says`` is a harmless word that it holds if it was really looked at. Marks named in ``allowed``
    belong there: the test itself put them in.
    """

    name: str
    content: bytes = field(repr=False)
    says: str
    allowed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A mark where it must not be, in one of its forms; ``around`` is what stands before it."""

    sink: str
    mark: str
    form: str
    around: str


def forms(value: str) -> Iterator[tuple[str, bytes]]:
    """``value`` as texts, addresses, pages and binary protocols would hold it, in small letters.

    But for base64, whose letters differ by their case; there only what does not depend on the octets
    around it.
    """
    octets = value.encode()
    yield "as it is", octets.lower()
    yield "in an address", quote(value, safe="").lower().encode()
    yield "in a page", html.escape(value).lower().encode()
    yield "in hexadecimal digits", octets.hex().encode()
    for before in range(3):
        core = _core(octets, before)
        if len(core) >= _SHORTEST:
            yield f"in base64 at {before}", core
            yield f"in base64 for addresses at {before}", core.translate(bytes.maketrans(b"+/", b"-_"))


def _core(octets: bytes, before: int) -> bytes:
    """What base64 makes of ``octets`` behind ``before`` unknown ones, whatever comes after."""
    encoded = base64.b64encode(bytes(before) + octets).rstrip(b"=")
    last = -1 if (before + len(octets)) % 3 else None
    return encoded[(0, 2, 3)[before] : last]


def search(marks: Iterable[Mark], sinks: Iterable[Sink]) -> list[Found]:
    """Every mark in every sink that it does not belong in."""
    planted = [(mark, _distinct(mark)) for mark in marks]
    return [found for sink in sinks for mark, ways in planted for found in _search(sink, mark, ways)]


def _distinct(mark: Mark) -> Sequence[tuple[str, bytes]]:
    """The forms of a mark that differ, each under its first name."""
    return [(form, octets) for octets, form in {o: f for f, o in reversed([*forms(mark.value)])}.items()]


def _search(sink: Sink, mark: Mark, ways: Sequence[tuple[str, bytes]]) -> Iterator[Found]:
    if mark.name in sink.allowed:
        return
    small = sink.content.lower()
    for form, octets in ways:
        content = sink.content if "base64" in form else small
        at = content.find(octets)
        if at >= 0:
            around = content[max(0, at - 160) : at].decode("utf-8", "replace")
            yield Found(sink=sink.name, mark=mark.name, form=form, around=around)


def not_looked_at(sinks: Iterable[Sink]) -> list[str]:
    """Sinks that do not hold what they are known to hold: searching them proves nothing."""
    return [sink.name for sink in sinks if not sink.says or sink.says.encode() not in sink.content]


def listed(sinks: Iterable[Sink]) -> str:
    """The sinks and how much of each was searched."""
    rows = [f"{len(sink.content):>11,} octets  {sink.name}" for sink in sinks]
    return "\n".join(rows)
