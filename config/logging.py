"""One pipeline for every log line: ours, Django's, Celery's, gunicorn's. JSON in production.

In either form a line of ours holds what ``resetdelivery.log_schema`` names, anybody else's the fixed
part of its sentence (``resetdelivery.log_messages``), and an exception is its class and its place.
"""

from __future__ import annotations

import datetime as dt
import logging
import logging.config
import re
import sys
import threading
import warnings
from contextlib import suppress
from types import TracebackType
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from resetdelivery.log_exceptions import described, exception_of, place
from resetdelivery.log_lines import as_json, in_order, stamped, timestamp
from resetdelivery.log_messages import WARNED, message_of, request_fields, shown
from resetdelivery.log_scrubbing import without_links
from resetdelivery.logs import within_schema

OURS = ("resetdelivery", "notifications")
#: A name, of one's own choice; other packages' events and fields can be called by anything.
_EVENT = re.compile(r"[a-z]{1,24}(_[a-z]{1,24}){0,5}")
_AFTER: list[Processor] = [structlog.stdlib.add_log_level, stamped]


def without_values(_: WrappedLogger, __: str, line: EventDict) -> EventDict:
    """Of a record of the standard library: its sentence without values, its request, its exception."""
    record: logging.LogRecord = line["_record"]
    known = {"logger": record.name, **request_fields(record)}
    sentence = message_of(record, line.get("positional_args", ()))
    frame = {key: line[key] for key in ("_record", "_from_structlog")}
    return {**frame, **sentence, **known, **_exception(line.get("exc_info"))}


def without_texts(logger: WrappedLogger, method: str, line: EventDict) -> EventDict:
    """Of a line of structlog: what the schema allows where it is ours, otherwise each field by its type."""
    name = getattr(logger, "name", "")
    if name.partition(".")[0] in OURS:
        return within_schema(logger, method, line)
    error = _exception(line.pop("exc_info", None))
    event = shown(line.pop("event", None), _EVENT)
    fields = {name: shown(value) for name, value in line.items() if _EVENT.fullmatch(name)}
    dropped = {"dropped_fields": len(line) - len(fields)} if len(fields) < len(line) else {}
    return {"event": event, "logger": name, **fields, **dropped, **error}


def _exception(exc_info: object) -> dict[str, str]:
    error = sys.exc_info()[1] if exc_info is True else exception_of(exc_info)
    raised_at = exc_info[2] if isinstance(exc_info, tuple) else None
    return {} if error is None else {"exception": described(error, raised_at)}


class StderrHandler(logging.StreamHandler[TextIO]):
    """Writes lines; of one that cannot be written it says so, where logging would print its values."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        line = {
            "timestamp": timestamp(dt.datetime.now(dt.UTC)),
            "level": "error",
            "event": "A line was lost.",
            "logger": record.name,
            "place": place(record.pathname, record.lineno, record.funcName),
            **_exception(sys.exc_info()),
        }
        with suppress(OSError, ValueError):
            self.stream.write(as_json(None, "", line) + self.terminator)


def logging_config(*, form: str, debug: bool) -> None:
    """Send all logs to standard error, as ``json`` lines or for the ``console``.

    As JSON, warnings of Python's and what nobody caught, or could catch, are lines, too.
    """
    structlog.configure(
        processors=[without_texts, *_AFTER, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    logging.config.dictConfig(configuration(form=form, debug=debug))
    if form == "json":
        warnings.showwarning = _log_warning
        sys.excepthook = _log_uncaught
        threading.excepthook = _log_uncaught_of_a_thread
        sys.unraisablehook = _log_unraisable


def configuration(*, form: str, debug: bool) -> dict[str, Any]:
    """What :func:`logging_config` gives to ``logging.config.dictConfig``."""
    console = structlog.dev.ConsoleRenderer(colors=False, sort_keys=False)
    renderer: Processor = as_json if form == "json" else console
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "structured": {
                "()": structlog.stdlib.ProcessorFormatter,
                # A message is put together here, from those values that may be shown.
                "use_get_message": False,
                "pass_foreign_args": True,  # nosec B105
                "foreign_pre_chain": [without_values, *_AFTER],
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    without_links,
                    in_order,
                    renderer,
                ],
            }
        },
        "handlers": {"stderr": {"class": "config.logging.StderrHandler", "formatter": "structured"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            "django.server": {"level": "INFO" if debug else "WARNING"},
            # A line for every tick of the control worker says nothing; attempts have their own.
            "celery.app.trace": {"level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},
            # Takes the handler away that gunicorn gave it.
            "gunicorn.error": {"level": "INFO", "handlers": [], "propagate": True},
            # billiard, of Celery's worker processes, keeps its lines from the root logger.
            "multiprocessing": {"level": "INFO", "handlers": ["stderr"], "propagate": False},
        },
    }


def _log_warning(
    message: Warning | str,  # noqa: ARG001 - never shown
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> None:
    """For ``warnings.showwarning``: which warning, and where; its text may hold anything."""
    logging.getLogger("py.warnings").warning(WARNED, category, place(filename, lineno, "warns"))


def _log_uncaught(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, tb)
    else:
        logging.getLogger("python").critical("Nobody caught this.", exc_info=(kind, error, tb))


def _log_uncaught_of_a_thread(of: threading.ExceptHookArgs) -> None:
    error = of.exc_value
    logging.getLogger("python").critical("Nobody in a thread caught this.", exc_info=error)


def _log_unraisable(of: sys.UnraisableHookArgs) -> None:
    """Of a finalizer or a callback; the object that it belongs to is not shown, as it can say anything."""
    error = of.exc_value
    logging.getLogger("python").critical("Nobody could catch this (%s).", of.exc_type, exc_info=error)
