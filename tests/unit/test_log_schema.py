"""Every line that the package logs is in the schema, and nothing that names a person fits into it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from resetdelivery.log_schema import EVENTS, RECORDED, UNDECLARED, Field, fields_of
from resetdelivery.receipts import RecordedReceipt

PACKAGES = ("resetdelivery", "notifications")
LEVELS = {"debug", "info", "warning", "error", "critical", "exception", "log"}
FIELDS = [(event.name, field) for event in EVENTS for field in event.fields]


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of ``log.<level>``, or one made later by ``functools.partial``."""

    where: str
    event: str
    names: frozenset[str]
    and_others: bool


def modules() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted(Path(package).rglob("*.py"))


def is_log_method(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in LEVELS
        and isinstance(node.value, ast.Name)
        and node.value.id in {"log", "logger"}
    )


def calls() -> Iterator[Call]:
    for path in modules():
        for node in ast.walk(ast.parse(path.read_bytes())):
            if not isinstance(node, ast.Call):
                continue
            arguments = node.args
            if arguments and is_log_method(arguments[0]):
                arguments = arguments[1:]
            elif not is_log_method(node.func):
                continue
            event = arguments[0] if len(arguments) == 1 else None
            yield Call(
                where=f"{path}:{node.lineno}",
                event=str(event.value) if isinstance(event, ast.Constant) else "",
                names=frozenset(k.arg for k in node.keywords if k.arg),
                and_others=any(k.arg is None for k in node.keywords),
            )


def test_every_line_that_is_logged_is_declared_with_its_fields() -> None:
    wrong = [
        f"{call.where}: {call.event or 'an event that is put together'} with {sorted(call.names)}"
        for call in calls()
        if call.event not in fields_of() or not call.names <= fields_of()[call.event].keys()
    ]
    assert wrong == [], (
        "Declare the event and its fields in EVENTS of resetdelivery/log_schema.py: words from a closed "
        "set, numbers, or a text whose shape no address, number, link or token has."
    )


def test_every_declared_line_is_logged_somewhere_with_all_its_fields() -> None:
    logged: dict[str, set[str]] = {UNDECLARED: set()}
    for call in calls():
        names = fields_of().get(call.event, {}).keys() if call.and_others else call.names
        logged.setdefault(call.event, set()).update(names)
    missing = {
        event.name: sorted({field.name for field in event.fields} - logged.get(event.name, set()))
        for event in EVENTS
        if event.name not in logged or {field.name for field in event.fields} - logged[event.name]
    }
    assert missing == {}, "Take what nobody logs out of resetdelivery/log_schema.py."


def test_the_search_finds_the_calls() -> None:
    found = {call.event for call in calls()}
    # One of each form: over several lines, by partial, with keywords from elsewhere.
    assert {"attempt", "reset_suppressed", "receipt_callback"} <= found


def test_only_resetdelivery_logs_makes_loggers() -> None:
    makers = {
        f"{path}"
        for path in modules()
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Attribute) and node.attr in {"getLogger", "get_logger", "wrap_logger"}
    }
    known = {
        "resetdelivery/logs.py",
        # Puts its filter on other packages' loggers.
        "resetdelivery/log_scrubbing.py",
        # Keeps a library quiet whose lines hold what it reads.
        "notifications/email/dkim_inspection.py",
    }
    assert makers == known, "Use resetdelivery.logs.get_logger: it holds lines to the schema."


def test_no_event_is_declared_twice_and_no_field_of_one() -> None:
    assert len(fields_of()) == len(EVENTS)
    assert [e.name for e in EVENTS if len({f.name for f in e.fields}) < len(e.fields)] == []


@pytest.mark.parametrize(("event", "field"), FIELDS, ids=lambda part: getattr(part, "name", part))
def test_the_examples_of_a_field_are_values_that_it_takes(event: str, field: Field) -> None:
    assert field.admits(field.worst)
    assert field.typical is None or field.admits(field.typical)
    assert len(str(field.worst)) >= len(str(field.typical if field.typical is not None else ""))


def test_what_becomes_of_a_receipt_is_told_in_the_words_of_its_record() -> None:
    assert set(RECORDED) == set(RecordedReceipt)


PERSONAL = [
    "anna@shop.example",
    "anna.smith+1@shop.example",
    "+4915112345678",
    "4915112345678",
    "015112345678",
    "https://shop.example/reset/MQ/ditab6-378a2f1dd9e42bb6548118d507ac006d/",
    "/reset/MQ/ditab6-378a2f1dd9e42bb6548118d507ac006d/",
    "rd_abcdefgh2345_0123456789012345678901234567890123456789abc",
    "550 5.1.1 <anna@shop.example>: Recipient address rejected",
    "UNIQUE constraint failed: Key (email)=(anna@shop.example)",
    "Anna Smith",
    "",
]
#: Names from the settings and from our own code, which can look like much: nothing else is given to them.
CODE = {"hook", "error_class", "provider", "transport", "template_version"}
TEXTS = [(event, field) for event, field in FIELDS if field.type is str]


@pytest.mark.parametrize(("event", "field"), TEXTS, ids=lambda part: getattr(part, "name", part))
def test_nothing_that_names_a_person_fits_into_a_field(event: str, field: Field) -> None:
    given = [text for text in PERSONAL if not (field.name in CODE and text.isalnum())]
    assert len(given) >= len(PERSONAL) - 3
    assert [text for text in given if field.admits(text)] == []


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        (int, 3, True),
        (int, True, False),  # a truth value is an int to Python
        (int, 3.0, False),
        (int, "3", False),
        (float, 0.5, True),
        (float, 3, True),
        (float, False, False),
        (float, float("nan"), False),  # JSON has no word for it
        (float, float("inf"), False),
        (bool, True, True),
        (bool, 1, False),
        (str, "a", True),
        (str, "b", False),
        (str, b"a", False),
        (str, ["a"], False),
    ],
)
def test_a_value_fits_by_its_type(kind: type, value: object, fits: bool) -> None:
    field = Field(name="any", type=kind, worst=None, typical=None, words=frozenset({"a"}))
    assert field.admits(value) is fits
