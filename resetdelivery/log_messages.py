"""Other packages' log lines, without the values that they put into their sentences.

Such a value can be anything: the path that a stranger asked for, an exception's text, a task's
arguments. Shown is a sentence that stands in the source of the file that logs it, with the names of
classes where its values were, and with ``<str>`` and the like for all others. Servers and brokers may
show numbers; an application's may be those of its accounts. Of the sentences that on-call reads most,
some words are shown too, if they have the form that they must have. Standard library only.
"""

from __future__ import annotations

import ast
import functools
import logging
import re
from collections.abc import Mapping
from http import HTTPMethod, HTTPStatus
from pathlib import Path
from types import NoneType
from typing import Any

from resetdelivery.log_exceptions import class_name, place

_Forms = Mapping[int | str, re.Pattern[str]]

_TASK = re.compile(r"[A-Za-z_]\w{0,63}(\.\w{1,64}){0,7}")
_TASK_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ENTRY = re.compile(r"[\w.-]{1,64}")
_WORKER = re.compile(r"[\w.@-]{1,128}")
_ADDRESS = re.compile(r"[\w.:/\[\],-]{1,128}")
_ENDED = re.compile(r"(signal|exitcode) \d{1,3}( \(\w{1,16}\))?")
_WORDS = re.compile(r"[A-Za-z ]{1,40}\.?")
_PHRASE = re.compile("|".join(re.escape(status.phrase) for status in HTTPStatus))
_METHOD = re.compile("|".join(HTTPMethod))
#: Of the development server; never with a query.
_REQUEST_LINE = re.compile(rf"(?:{_METHOD.pattern}) /[\w./~-]{{0,200}} HTTP/1\.[01]")

#: Of a Python warning: its class, and the place.
WARNED = "%s at %s"

#: By the sentence: which of its values are words that may be shown, in which form. All sentences here
#: are known, also where they stand in another file than the one that logs them.
SHOWN: Mapping[str, _Forms] = {
    # celery.worker and celery.app.trace
    "Task %(name)s[%(id)s] received": {"name": _TASK, "id": _TASK_ID},
    "Task %(name)s[%(id)s] succeeded in %(runtime)ss: %(return_value)s": {"name": _TASK, "id": _TASK_ID},
    "Task %(name)s[%(id)s] %(description)s: %(exc)s": {"name": _TASK, "id": _TASK_ID, "description": _WORDS},
    "Task %(name)s[%(id)s] %(description)s": {"name": _TASK, "id": _TASK_ID, "description": _WORDS},
    "Task %(name)s[%(id)s] %(exc)s": {"name": _TASK, "id": _TASK_ID},
    "Task %(name)s[%(id)s] retry: %(exc)s": {"name": _TASK, "id": _TASK_ID},
    "Soft time limit (%ss) exceeded for %s[%s]": {1: _TASK, 2: _TASK_ID},
    "Hard time limit (%ss) exceeded for %s[%s]": {1: _TASK, 2: _TASK_ID},
    "Discarding revoked task: %s[%s]": {0: _TASK, 1: _TASK_ID},
    "Task %s[%s] succeeded before the worker was lost: %r": {0: _TASK, 1: _TASK_ID},
    "Failed to retry task %s[%s] after worker was lost: %r": {0: _TASK, 1: _TASK_ID},
    "%s ready.": {0: _WORKER},
    # celery.beat
    "Scheduler: Sending due task %s (%s)": {0: _ENTRY, 1: _TASK},
    # billiard
    "Process %r pid:%r exited with %r": {0: _ENTRY, 2: _ENDED},
    # django.request and django.security, by way of django.utils.log
    "%s: %s": {0: _PHRASE},
    "Forbidden (%s): %s": {},
    "Forbidden (Permission denied): %s": {},
    "Bad request (Unable to parse request body): %s": {},
    "Method Not Allowed (%s): %s": {0: _METHOD},
    "Gone: %s": {},
    "Precondition Failed: %s": {},
    # django.server
    '"%s" %s %s': {0: _REQUEST_LINE, 1: re.compile(r"\d{3}"), 2: re.compile(r"\d{1,12}|-")},
    # gunicorn.error, by way of gunicorn.glogging
    "Starting gunicorn %s": {0: re.compile(r"[\w.]{1,32}")},
    "Listening at: %s (%s)": {0: _ADDRESS},
    "Using worker: %s": {0: _ENTRY},
    "Handling signal: %s": {0: _ENTRY},
    "Booting worker with pid: %s": {},
    "Worker exiting (pid: %s)": {},
    "WORKER TIMEOUT (pid:%s)": {},
    "Worker (pid:%s) exited with code %s.": {},
    "Worker (pid:%s) was sent %s!": {1: _ENTRY},
    "Exception in worker process": {},
    "Shutting down: %s": {0: _ENTRY},
    "Error handling request %s %s": {0: _METHOD},
    "Error handling request %s": {},
    "Error handling request (no URI read)": {},
    "Error handling request": {},
    "Socket error processing request.": {},
    "Autorestarting worker after current request.": {},
    WARNED: {1: re.compile(r"[\w.<> /-]{1,128}:\d{1,7} warns")},
}
HIDDEN = "(its text is no fixed one)"
#: Whose numbers are counts, seconds, ports and process ids.
COUNTING = ("celery", "kombu", "amqp", "multiprocessing", "gunicorn", "redis", "asyncio", "tornado")
_LONGEST = 1000
_NUMBERS = (int, float)
_HARMLESS = (bool, NoneType)


class _Words(str):
    """A text that goes into a sentence as it is, whatever conversion the sentence asks for."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _Named(dict[Any, object]):
    """Values by their names; to a sentence that asks for none of them, the type of what held them."""

    __slots__ = ("_as_one",)

    def __init__(self, whole: Mapping[Any, object], forms: _Forms, *, numbers: bool) -> None:
        super().__init__({key: shown(one, forms.get(key), numbers=numbers) for key, one in whole.items()})
        self._as_one = shown(whole)

    def __repr__(self) -> str:
        return str(self._as_one)


def shown(value: object, form: re.Pattern[str] | None = None, *, numbers: bool = False) -> object:
    """``value``, if it is one of those that cannot name anybody; otherwise its type in brackets.

    That is what has ``form`` and, with ``numbers``, a number.
    """
    if type(value) in _HARMLESS or (numbers and type(value) in _NUMBERS):
        return value
    if isinstance(value, type):
        return _Words(class_name(value))
    if form is not None and isinstance(value, str) and form.fullmatch(value):
        return _Words(value)
    return _Words(f"<{type(value).__name__}>")


def request_fields(record: logging.LogRecord) -> dict[str, object]:
    """Of the request that a line of Django's is about: ``method``, ``status`` and the ``route`` it took.

    The route is the pattern in the URL configuration, not the path that somebody asked for.
    """
    request, status = getattr(record, "request", None), getattr(record, "status_code", None)
    route = getattr(getattr(request, "resolver_match", None), "route", None)
    method = getattr(request, "method", None)
    found = {
        "method": method if isinstance(method, str) and _METHOD.fullmatch(method) else None,
        "status": status if type(status) is int else None,
        "route": route if isinstance(route, str) else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def message_of(record: logging.LogRecord, arguments: object) -> dict[str, str]:
    """The line's ``event``, and ``place`` where no sentence can be shown."""
    sentence = record.msg if isinstance(record.msg, str) else ""
    if sentence and (sentence in SHOWN or sentence in _texts_in(record.pathname)):
        numbers = record.name.partition(".")[0] in COUNTING
        return {"event": _filled(sentence, arguments, SHOWN.get(sentence, {}), numbers=numbers)}
    return {"event": HIDDEN, "place": place(record.pathname, record.lineno, record.funcName)}


def _filled(sentence: str, arguments: object, forms: _Forms, *, numbers: bool) -> str:
    if not arguments:
        return sentence
    values: Any
    if isinstance(arguments, Mapping):
        values = _Named(arguments, forms, numbers=numbers)
    elif isinstance(arguments, tuple):
        values = tuple(shown(one, forms.get(at), numbers=numbers) for at, one in enumerate(arguments))
    else:
        values = shown(arguments, forms.get(0), numbers=numbers)
    try:
        return f"{sentence % values}"
    except (TypeError, ValueError, KeyError):
        # A number was asked for, or there are fewer values than places.
        return sentence


@functools.lru_cache(maxsize=512)
def _texts_in(path: str) -> frozenset[str]:
    """Every text that stands in a file of source as it is; nothing put together while it runs."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    return frozenset(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and len(node.value) <= _LONGEST
        and id(node) not in parts
    )
