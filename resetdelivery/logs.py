"""This package's loggers: structured, held to a schema, always on their way through the standard library's.

What ``resetdelivery.log_schema`` does not name cannot be logged, also in a project that never set
structlog up, or set it up its own way.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, MutableMapping
from typing import Any, cast

import structlog
from structlog.typing import FilteringBoundLogger

from resetdelivery.log_schema import UNDECLARED, fields_of


class NotInSchema(Exception):
    """A line would have held what ``resetdelivery/log_schema.py`` does not allow: declare it there."""


class _Strictness:
    """Whether a line outside the schema raises, and how many fields were left out where it does not."""

    def __init__(self) -> None:
        self.strict = False
        self.dropped = 0
        self.lock = threading.Lock()


_state = _Strictness()


def be_strict(strict: bool = True) -> None:
    """From now on, in this process, raise :class:`NotInSchema`; for tests. Otherwise it is dropped."""
    _state.strict = strict


def is_strict() -> bool:
    """Whether :func:`be_strict` was asked for."""
    return _state.strict


def dropped_fields() -> int:
    """How many fields, and names of events, this process has left out of its lines so far."""
    return _state.dropped


def get_logger(name: str) -> FilteringBoundLogger:
    """A structlog logger that ends in ``logging``, also where a project never set structlog up.

    By itself structlog prints to standard output, which is the answer of many a command. Its lines are
    held to the schema first, and then go through what structlog is configured with.
    """
    logger = structlog.wrap_logger(logging.getLogger(name), processors=[within_schema, _as_configured])
    return cast("FilteringBoundLogger", logger)


def within_schema(_: object, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: the line with the fields of its event, in their order, and no others.

    A field whose value is ``None`` is left away. How many were dropped stands in ``dropped_fields``;
    a line that was here before stays as it is.
    """
    before = line.pop("dropped_fields", 0)
    event = line.pop("event", None)
    given = {name: value for name, value in line.items() if value is not None}
    declared = fields_of().get(event) if isinstance(event, str) else None
    if declared is None:
        _drop(f"an event that is not declared, with the fields {_listed(given)},", 1 + len(given))
        return {"event": UNDECLARED, "dropped_fields": 1 + len(given)}
    kept = {name: given[name] for name, one in declared.items() if name in given and one.admits(given[name])}
    if left_out := given.keys() - kept.keys():
        _drop(f"{event} with {_listed(left_out)}, not declared or not of its type,", len(left_out))
    dropped = before + len(left_out)
    return {"event": event, **kept} | ({"dropped_fields": dropped} if dropped else {})


def _drop(what: str, how_many: int) -> None:
    if _state.strict:
        raise NotInSchema(f"A line would be {what} which resetdelivery/log_schema.py does not have.")
    with _state.lock:
        _state.dropped += how_many


def _listed(names: Iterable[object]) -> str:
    return ", ".join(sorted(map(str, names))) or "(none)"


def _as_configured(logger: Any, method: str, line: Any) -> Any:
    """What structlog's configuration, of the moment, makes of the line."""
    for processor in structlog.get_config()["processors"]:
        line = processor(logger, method, line)
    return line
