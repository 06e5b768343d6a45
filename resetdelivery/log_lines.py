"""A log line's form: what comes first, when it was, and JSON without a needless space."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import MutableMapping
from typing import Any

_Line = MutableMapping[str, Any]
_FIRST = ("timestamp", "level", "event")
_COMPACT = (",", ":")


def stamped(_: object, __: str, line: _Line) -> _Line:
    """Add ``timestamp``: the time in UTC, to the millisecond (RFC 3339)."""
    line["timestamp"] = timestamp(dt.datetime.now(dt.UTC))
    return line


def timestamp(moment: dt.datetime) -> str:
    """``moment``, which is in UTC, as a line has it."""
    return f"{moment.isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"


def in_order(_: object, __: str, line: _Line) -> _Line:
    """When, how grave and what come first, the rest follows as it was given."""
    return {name: line[name] for name in _FIRST if name in line} | dict(line)


def as_json(_: object, __: str, line: _Line) -> str:
    """The line as it is written; what JSON does not know is a text, which holds its type only."""
    return json.dumps(line, separators=_COMPACT, default=lambda value: f"<{type(value).__name__}>")
