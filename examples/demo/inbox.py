"""What the local provider received: the same messages that its pages show."""

from __future__ import annotations

import dataclasses
import json
import re
import urllib.request

CHANNELS = {"email": "the email", "sms": "the SMS"}
LINK = re.compile(r"https?://[^\s\"'<>]+")
SECONDS = 5.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One received message, its text decoded."""

    channel: str
    text: str = dataclasses.field(repr=False)

    @property
    def link(self) -> str | None:
        """The first link in the text."""
        found = LINK.search(self.text)
        return found.group() if found else None


class Inbox:
    """The provider at `url`."""

    def __init__(self, url: str) -> None:
        self._url = url
        # No proxy of the environment's: the provider is on this machine.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def messages(self) -> list[Message]:
        """All messages, oldest first."""
        with self._opener.open(f"{self._url}/_control/submissions", timeout=SECONDS) as answer:
            return [Message(channel=row["channel"], text=row["text"]) for row in json.load(answer)]
