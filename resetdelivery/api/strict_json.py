"""JSON that means one thing to every reader (RFC 8259, with the options of RFC 7493). Pure.

Refused: anything but UTF-8, a name twice in one object, NaN and infinities, numbers longer than
anybody needs, deep nesting, half surrogate pairs and NUL.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NoReturn

MAX_DEPTH = 16
MAX_DIGITS = 20


class NotStrict(ValueError):
    """The text is no strict JSON; the message says why and repeats nothing of it."""


def parsed(raw: bytes) -> Any:
    """The value of ``raw``; :class:`NotStrict` if it is not exactly one strict JSON value."""
    try:
        value = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_int=_whole,
            parse_float=_real,
        )
    except NotStrict:
        raise
    except UnicodeDecodeError:
        raise NotStrict("The body is not UTF-8.") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise NotStrict("The body is no JSON.") from None
    for text in _texts(value):
        _check_text(text)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotStrict("An object has one name twice.")
    return found


def _constant(_: str) -> NoReturn:
    raise NotStrict("NaN and Infinity are no JSON.")


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise NotStrict(f"A number has more than {MAX_DIGITS} digits.")
    return int(digits)


def _real(digits: str) -> float:
    value = float(digits)
    if len(digits) > 2 * MAX_DIGITS or not math.isfinite(value):
        raise NotStrict("A number is too large or too long.")
    return value


def _texts(value: Any) -> Iterator[str]:
    """Every string in ``value``, names included."""
    left: list[tuple[Any, int]] = [(value, 0)]
    while left:
        item, depth = left.pop()
        if depth > MAX_DEPTH:
            raise _too_deep()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            yield from item
            left += [(inner, depth + 1) for inner in item.values()]
        elif isinstance(item, list):
            left += [(inner, depth + 1) for inner in item]


def _too_deep() -> NotStrict:
    return NotStrict(f"The body is nested deeper than {MAX_DEPTH}.")


def _check_text(text: str) -> None:
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise NotStrict("A string holds NUL or half a surrogate pair.")
