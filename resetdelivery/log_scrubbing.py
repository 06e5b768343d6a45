"""Keep reset links out of logs: whoever reads one there could follow it.

Django's lines quote the path of a request that failed ("Internal Server Error: /reset/…"), gunicorn's
that of each request. Standard library only, for settings and servers that load it before Django.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, MutableMapping
from types import TracebackType
from typing import Any

#: A link's token as Django and we write it; not a part of something longer, such as a trace's id.
_SIGNED = r"(?<![0-9A-Za-z-])[0-9a-z]{1,13}-[0-9a-f]{32}(?![0-9A-Za-z-])"
#: The account's part goes too where it stands before a token, or before what Django puts in its place.
#: Looked for once in each run of its characters, whole: anybody can send a path that is one long run.
_LINK = re.compile(rf"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]++/(?:{_SIGNED}|set-password(?=/))|{_SIGNED}")

#: Who logs the path of a request, whatever the project's own code does. A logger's filter sees what
#: is logged to that logger itself and not to one below it, so that each is named.
LOGGERS = (
    "django.request",
    "django.server",
    "django.security.csrf",
    "gunicorn.access",
    "gunicorn.error",
)


def scrubbed(text: str) -> str:
    """``text`` with ``[link]`` in the place of every reset link's secret part."""
    return _LINK.sub("[link]", text)


def without_links(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: the event with all its texts scrubbed. Put it right before the renderer."""
    return {key: scrubbed(v) if isinstance(v, str) else v for key, v in event.items()}


class LinkFilter(logging.Filter):
    """Scrubs message, arguments, traceback and stack of a record; lets every record pass.

    For loggers and handlers. ``record.exc_info`` stays as it is, for handlers that make a report of
    their own; the standard formatter prints ``exc_text``, which is scrubbed.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        _scrub_message(record)
        if record.exc_info and record.exc_info[0] and not record.exc_text:
            record.exc_text = _traceback_if_linked(record.exc_info)
        for name in ("exc_text", "stack_info"):
            text = getattr(record, name)
            if text:
                setattr(record, name, scrubbed(text))
        return True


def _scrub_message(record: logging.LogRecord) -> None:
    """Where the links are in texts among its arguments, a record keeps its sentence and the others."""
    if not isinstance(record.msg, str):
        return  # structlog's, whose renderer asks without_links
    message = _message(record)
    if message is None:
        return  # its handlers will say so
    clean = scrubbed(message)
    if clean == message:
        return
    record.args = _arguments(record.args)
    if _message(record) != clean:
        record.msg, record.args = clean, None


def _message(record: logging.LogRecord) -> str | None:
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        return None


def _arguments(given: Any) -> Any:
    if isinstance(given, Mapping):
        return {name: scrubbed(one) if isinstance(one, str) else one for name, one in given.items()}
    return tuple(scrubbed(one) if isinstance(one, str) else one for one in given or ())


_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def _traceback_if_linked(exc_info: _ExcInfo) -> str | None:
    text = logging.Formatter().formatException(exc_info)
    return text if _LINK.search(text) else None


def install() -> None:
    """Put a :class:`LinkFilter` on each of :data:`LOGGERS` that has none; called at start."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(present, LinkFilter) for present in logger.filters):
            logger.addFilter(LinkFilter())
