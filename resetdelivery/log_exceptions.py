"""Exceptions as a log line may show them: their classes and where they arose.

An exception's text repeats what was being worked on: the row that a database refuses, a provider's
answer, the value that a function could not read. A frame's variables, and its line of source where
it is generated, do so too. Standard library only.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import PurePath
from traceback import walk_tb
from typing import Any

#: Of each exception's frames, from the innermost on: so many whosever they are, and so many at all.
ANYBODYS_FRAMES = 3
MOST_FRAMES = 8
#: Of one chain.
MOST_EXCEPTIONS = 8
#: What :class:`resetdelivery.exceptions.StepFailed` says: an error's class and its place.
STEP_FAILED = re.compile(r"\w{1,64} in [\w<>]{1,64} \([\w.<> -]{1,64}:\d{1,7}\)")
#: Celery makes a base class of a class that it cannot pickle.
_SAID_BY = ("resetdelivery.exceptions.StepFailed", "resetdelivery.exceptions.ResetDeliveryError")


def exception_of(exc_info: object) -> BaseException | None:
    """The exception in what ``logging`` and structlog take as ``exc_info``, ``True`` aside."""
    if isinstance(exc_info, tuple) and len(exc_info) == 3:
        return exc_info[1] if isinstance(exc_info[1], BaseException) else None
    return exc_info if isinstance(exc_info, BaseException) else None


def described(error: BaseException, raised_at: Any = None) -> str:
    """A line for ``error`` and for each that it came from: its class and its innermost frames.

    ``module.Class at file:line function < file:line function``, the place where it was raised first.
    A database's error arises deep in other packages: behind the first few frames only those of code
    that is no installed package are shown.
    ``raised_at`` is its traceback where it has lost its own, on the way from another process.
    """
    lines: list[str] = []
    for how, one in _chain(error):
        if len(lines) == MOST_EXCEPTIONS:
            lines.append("and more")
            break
        lines.append(how + _described(one, one.__traceback__ or (raised_at if one is error else None)))
    return "\n".join(lines)


def place(path: str, line: int | None, function: str) -> str:
    """``folder/file.py:line function``."""
    return f"{'/'.join(PurePath(path).parts[-2:])}:{line} {function}"


def class_name(kind: type) -> str:
    """``module.Class``; without the module where it is Python's own."""
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _chain(error: BaseException) -> Iterator[tuple[str, BaseException]]:
    """``error``, the members of a group after it, then what it came from; each of them once."""
    seen: set[int] = set()
    waiting = [("", error)]
    while waiting:
        how, one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield how, one
        if isinstance(one, BaseExceptionGroup):
            waiting += [("one of its group: ", member) for member in one.exceptions]
        if one.__cause__ is not None:
            waiting.append(("caused by ", one.__cause__))
        elif one.__context__ is not None and not one.__suppress_context__:
            waiting.append(("while handling ", one.__context__))


def _described(error: BaseException, raised_at: Any) -> str:
    name = class_name(type(error))
    frames = _frames(raised_at)
    return name + _own_words(name, error) + (f" at {' < '.join(frames)}" if frames else "")


def _own_words(name: str, error: BaseException) -> str:
    """What a StepFailed says; nobody else is believed."""
    said = error.args[0] if name in _SAID_BY and error.args else ""
    return f" ({said})" if isinstance(said, str) and STEP_FAILED.fullmatch(said) else ""


def _frames(raised_at: Any) -> list[str]:
    """The innermost frames; billiard brings tracebacks from other processes as objects of its own."""
    frames = [(frame.f_code.co_filename, line, frame.f_code.co_name) for frame, line in walk_tb(raised_at)]
    frames.reverse()
    told = [one for at, one in enumerate(frames) if at < ANYBODYS_FRAMES or not _is_installed(one[0])]
    return [place(*one) for one in told[:MOST_FRAMES]]


def _is_installed(path: str) -> bool:
    return "site-packages" in path or path.startswith((sys.base_prefix, "<frozen"))
