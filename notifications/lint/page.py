"""The HTML part: readable by a screen reader, and without anything that a client would fetch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

from notifications.lint.report import WorstCase
from notifications.locales import direction

#: About as much of a message's beginning as a client shows in its list.
PREVIEW_CHARACTERS = 140
MIN_FONT_PIXELS = 14

_FETCHING = {"img", "script", "link", "iframe", "object", "embed", "video", "audio", "source", "form"}
_SILENT = {"head", "style", "title"}
_FONT_SIZE = re.compile(r"font-size:\s*(\d+)px")
_FETCHED_BY_STYLE = re.compile(r"url\(|@import", re.IGNORECASE)
_VOID = {"meta", "br", "hr", "img", "link", "input", "source", "embed"}


@dataclass(slots=True)
class _Page:
    """What was seen of a page."""

    elements: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    visible: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = _Page()
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.page.elements.append((tag, attributes))
        if tag not in _VOID:
            self._open.append(tag)
        if tag == "a":
            self.page.links.append((attributes.get("href", ""), ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            del self._open[len(self._open) - 1 - self._open[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        if _SILENT.isdisjoint(self._open):
            self.page.visible.append(data)
        if "a" in self._open:
            href, text = self.page.links[-1]
            self.page.links[-1] = (href, text + data)


def page_problems(html: str, locale: str, worst: WorstCase) -> Iterator[str]:
    """What a reader, a screen reader or a mail client would trip over."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    yield from _language_problems(reader.page, locale)
    yield from _structure_problems(reader.page)
    yield from _link_problems(reader.page, worst)
    if sizes := [int(size) for size in _FONT_SIZE.findall(html) if int(size) < MIN_FONT_PIXELS]:
        yield f"has text of {sizes[0]} px: {MIN_FONT_PIXELS} px are the least"
    if _FETCHED_BY_STYLE.search(html):
        yield "fetches something by its style sheet: a message needs nothing from elsewhere"


def _language_problems(page: _Page, locale: str) -> Iterator[str]:
    """Some clients throw <html> away, so the language is said again inside <body>."""
    expected = (locale, direction(locale))
    said = [(tag, a.get("lang", ""), a.get("dir", "")) for tag, a in page.elements if "lang" in a]
    if ("html", *expected) not in said:
        yield f'lacks <html lang="{expected[0]}" dir="{expected[1]}">'
    if expected not in [(lang, way) for tag, lang, way in said if tag not in {"html", "body"}]:
        yield f'lacks an element with lang="{expected[0]}" dir="{expected[1]}" around all of <body>'


def _structure_problems(page: _Page) -> Iterator[str]:
    tags = [tag for tag, _ in page.elements]
    if tags.count("h1") != 1:
        yield f"has {tags.count('h1')} <h1>: one heading says what the message is about"
    if fetched := sorted(_FETCHING.intersection(tags)):
        yield f"has <{fetched[0]}>: a message fetches nothing and asks for nothing"
    if any(tag == "table" and a.get("role") != "presentation" for tag, a in page.elements):
        yield 'has a <table> without role="presentation": a screen reader would announce its cells'


def _link_problems(page: _Page, worst: WorstCase) -> Iterator[str]:
    hrefs = {href for href, _ in page.links}
    if strays := sorted(hrefs - {worst.link, worst.brand.support, f"mailto:{worst.brand.support}"}):
        yield f"links to {strays[0]!r}: use {{{{ link }}}} only, and in a notice no link"
    if not worst.link:
        return
    texts = [" ".join(text.split()) for href, text in page.links if href == worst.link]
    if not any(text and worst.link not in text for text in texts):
        yield "has no link whose text says what it does"
    if worst.link not in texts:
        yield "does not show the whole link as text, for a reader who cannot follow it"
    if 0 <= " ".join(" ".join(page.visible).split()).find(worst.link) < PREVIEW_CHARACTERS:
        yield f"shows the link in its first {PREVIEW_CHARACTERS} characters, where lists of messages quote it"
