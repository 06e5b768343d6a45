"""What the canary test's processes are made of that fails as a careless one would, and their spans' file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NoReturn

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from tests.acceptance.harness.canary_texts import PROVIDER_TEXT

if TYPE_CHECKING:
    from notifications.deadline import Deadline
    from notifications.message import Message

#: Of the environment: the file that spans are appended to.
SPAN_FILE = "CANARY_SPANS"


class LoudTransport:
    """Raises, with everything it was given and what a provider might have said in the text."""

    name: ClassVar[str] = "loud"

    def submit(self, message: Message, deadline: Deadline) -> NoReturn:
        said = f"{PROVIDER_TEXT}: {message.to} {message.text}"
        # As if it had come from another exception that says the same.
        raise RuntimeError(said, message) from ConnectionError(said)

    def close(self) -> None:
        """Nothing is open."""


class SpanFile(SpanExporter):
    """Appends each span to a file, as JSON with everything that it holds."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        with Path(os.environ[SPAN_FILE]).open("a") as file:
            file.writelines(f"{span.to_json(indent=None)}\n" for span in spans)
        return SpanExportResult.SUCCESS
