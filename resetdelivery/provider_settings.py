"""The list of a channel's providers, as settings give it."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from resetdelivery.setting_values import read

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSettings:
    """One provider: ``name`` is how attempts, circuits and log lines call it."""

    name: str
    transport: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)


class ProviderFault(enum.Enum):
    """What is wrong with a list of providers."""

    EMPTY = "empty"
    NAMED_TWICE = "named twice"
    ENTRY = "entry"


class ProviderProblem(str):
    """A sentence about a list of providers, of a kind that has a check of its own."""

    fault: ProviderFault
    hint: str

    def __new__(cls, text: str, fault: ProviderFault, hint: str) -> ProviderProblem:
        problem = super().__new__(cls, text)
        problem.fault = fault
        problem.hint = hint
        return problem


_EXAMPLE = "Write a list such as [{'NAME': 'main', 'TRANSPORT': '…', 'OPTIONS': {…}}]."


def read_providers(
    options: Mapping[str, object], where: str, problems: list[str]
) -> tuple[ProviderSettings, ...]:
    """The providers of a channel's ``options``; what is wrong is added to ``problems``."""
    place = f"{where}['PROVIDERS']"
    raw = options["PROVIDERS"]
    if not isinstance(raw, (list, tuple)):
        problems.append(f"{place} must be a list, not {type(raw).__name__}.")
        return ()
    for beside in sorted({"TRANSPORT", "OPTIONS"} & set(options)):
        hint = f"Move it into an entry of {place}."
        text = f"{where}[{beside!r}] stands beside 'PROVIDERS'."
        problems.append(ProviderProblem(text, ProviderFault.ENTRY, hint))
    if not raw:
        problems.append(ProviderProblem(f"{place} is empty.", ProviderFault.EMPTY, _EXAMPLE))
    entries = [_entry(one, f"{place}[{number}]", problems) for number, one in enumerate(raw)]
    providers = tuple(entry for entry in entries if entry is not None)
    problems.extend(_named_twice(providers, place))
    return providers


def _entry(raw: object, where: str, problems: list[str]) -> ProviderSettings | None:
    if not isinstance(raw, Mapping):
        text = f"{where} must be a dict, not {type(raw).__name__}."
        problems.append(ProviderProblem(text, ProviderFault.ENTRY, _EXAMPLE))
        return None
    found: list[str] = []
    values = read(ProviderSettings, raw, where, found)
    missing = [key for key in ("NAME", "TRANSPORT") if key not in raw]
    found += [f"{where} has no {key!r}." for key in missing]
    name = values.get("name", "x")
    if not _NAME.fullmatch(name):
        found.append(f"{where}['NAME'] is {name!r}: use 1 to 32 of a-z, 0-9, '-' and '_'.")
    problems += [ProviderProblem(text, ProviderFault.ENTRY, _EXAMPLE) for text in found]
    return None if found else ProviderSettings(**values)


def _named_twice(providers: Sequence[ProviderSettings], place: str) -> Iterator[ProviderProblem]:
    names = [provider.name for provider in providers]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield ProviderProblem(
            f"{place} has {names.count(name)} providers called {name!r}.",
            ProviderFault.NAMED_TWICE,
            "Give each its own name: attempts and circuits are told apart by it.",
        )
