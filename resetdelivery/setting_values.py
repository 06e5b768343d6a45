"""Reading a dict of settings into a typed dataclass, with every problem named."""

from __future__ import annotations

import datetime as dt
import difflib
import enum
import types
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, get_type_hints


def read(target: type, raw: Mapping[str, object], where: str, problems: list[str]) -> dict[str, Any]:
    """Values for the dataclass ``target`` from ``raw``, whose keys are its fields in capitals.

    What is wrong is added to ``problems`` as whole sentences that begin with ``where``.
    """
    hints = get_type_hints(target)
    names = {f.name.upper(): f.name for f in fields(target)}
    values: dict[str, Any] = {}
    for key, value in raw.items():
        if key not in names:
            problems.append(_unknown(where, str(key), list(names)))
            continue
        try:
            values[names[key]] = _converted(value, hints[names[key]])
        except (TypeError, ValueError) as error:
            problems.append(f"{where}[{key!r}] {error}")
    return values


def _unknown(where: str, key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key.upper(), known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else f" Known are {listed(known)}."
    return f"{where} has no setting {key!r}.{hint}"


def _converted(value: object, hint: Any) -> object:
    """``value`` in the type of ``hint``, or an error that completes the sentence "X …"."""
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _enum(value, hint)
    for accepted, convert in _CONVERTERS:
        if hint == accepted:
            return convert(value)
    raise TypeError(f"cannot be set here ({hint!r}).")


def _enum(value: object, hint: type[enum.Enum]) -> enum.Enum:
    try:
        return hint(value)
    except ValueError:
        raise ValueError(f"is {value!r}; use {listed([m.value for m in hint])}.") from None


def _duration(value: object) -> dt.timedelta:
    if not isinstance(value, dt.timedelta):
        raise TypeError(f"must be a datetime.timedelta, not {type(value).__name__}.")
    if value < dt.timedelta(0):
        raise ValueError(f"must not be negative, but is {value}.")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"must be True or False, not {type(value).__name__}.")
    return value


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"must be a whole number, not {type(value).__name__}.")
    if value < 1:
        raise ValueError(f"must be 1 or more, but is {value}.")
    return value


def _bound(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ValueError("must be None or a whole number of 0 or more.")


def _factor(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 1:
        raise ValueError("must be a number of 1 or more.")
    return float(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"must be a string, not {type(value).__name__}.")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) and v for v in value):
        raise TypeError("must be a list of strings, none of them empty.")
    return tuple(value)


def _options(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TypeError("must be a dict with strings as keys.")
    return types.MappingProxyType(dict(value))


def _keys(value: object) -> Mapping[str, str]:
    if not isinstance(value, Mapping) or not all(
        isinstance(i, str) and 0 < len(i) <= 8 and ":" not in i and isinstance(s, str) and s
        for i, s in value.items()
    ):
        raise TypeError("must be a dict of key ids (1 to 8 characters, no colon) and secrets.")
    return types.MappingProxyType(dict(value))


_CONVERTERS: tuple[tuple[Any, Callable[[object], object]], ...] = (
    (str, _text),
    (bool, _flag),
    (int, _whole),
    (float, _factor),
    (int | None, _bound),
    (dt.timedelta, _duration),
    (tuple[str, ...], _texts),
    (Mapping[str, str], _keys),
    (Mapping[str, Any], _options),
)


def listed(names: list[str]) -> str:
    """Names in quotes, for a sentence."""
    return ", ".join(repr(str(name)) for name in names)
