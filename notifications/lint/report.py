"""What the lint is given, and what it says."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace

from notifications.brand import Brand
from notifications.channels import Channel
from notifications.message import MessageKind
from notifications.rendering import MAX_SEGMENTS
from notifications.sms.segmentation import Segmentation
from notifications.sms.typography import Typography


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """The longest values that a project's messages may hold.

    ``link`` is one that looks like a real one and is as long as any; ``host`` is the only one that
    a message may lead to; ``lifetimes`` holds each channel's longest, of which every shorter one
    is tried as well: a channel that is not in it is not looked at. ``max_segments`` and
    ``typography`` are as in :func:`notifications.rendering.render_sms`.
    """

    brand: Brand
    link: str
    host: str
    lifetimes: Mapping[Channel, dt.timedelta]
    max_segments: int = MAX_SEGMENTS
    typography: Typography = Typography.PLAIN

    def of(self, kind: MessageKind) -> WorstCase:
        """What a message of ``kind`` may hold: a security notice has no link and leads nowhere."""
        return self if kind is MessageKind.RESET else replace(self, link="", host="")

    def is_link_in(self, text: str) -> bool:
        """Whether ``text`` holds the link, where there is one at all."""
        return bool(self.link) and self.link in text


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong: in which template, in which file that one is, what it is."""

    template: str
    path: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LocaleReport:
    """One locale of one version of one kind of message.

    ``subject_length`` and ``sms`` are ``None`` where the locale has no email or no SMS of its own
    and falls back, or where it cannot be rendered.
    """

    kind: MessageKind
    version: str
    locale: str
    subject_length: int | None
    sms: Segmentation | None
    findings: tuple[Finding, ...]
