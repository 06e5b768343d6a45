"""The loggers of this package: what the schema does not have is raised, or dropped and counted."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from resetdelivery import logs
from resetdelivery.log_schema import UNDECLARED
from resetdelivery.logs import NotInSchema, get_logger

ADDRESS = "anna@shop.example"
ATTEMPT: dict[str, Any] = {
    "intent": "8d7c1f6e-2b1a-4c3d-9e5f-0a1b2c3d4e5f",
    "channel": "email",
    "transport": "smtp",
    "attempt": 1,
    "outcome": "accepted",
    "queue_delay_seconds": 0.15,
    "remaining_seconds": 599.8,
    "duration_seconds": 0.184,
    "template_version": "1",
}


@pytest.fixture
def production() -> Iterator[None]:
    logs.be_strict(False)
    yield
    logs.be_strict()


@pytest.fixture
def lines() -> Iterator[list[Any]]:
    """What our loggers hand to the standard library, in a project that never set structlog up."""
    configured = structlog.get_config()
    structlog.configure(processors=[lambda _, __, line: ((dict(line),), {})])
    found: list[Any] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record.msg)

    handler, logger = Kept(), logging.getLogger("resetdelivery.any")
    logger.addHandler(handler)
    yield found
    logger.removeHandler(handler)
    structlog.configure(**configured)


def log() -> Any:
    # A new one each time: a logger may keep what it was configured with.
    return get_logger("resetdelivery.any")


def test_the_test_run_is_strict() -> None:
    assert logs.is_strict()


WRONG = [
    pytest.param("attempt", {**ATTEMPT, "recipient": ADDRESS}, "recipient", id="a field of no event"),
    pytest.param("attempt", {**ATTEMPT, "count": 3}, "count", id="a field of another event"),
    pytest.param("attempt", {**ATTEMPT, "outcome": "sent"}, "outcome", id="a word that is none of the set"),
    pytest.param("attempt", {**ATTEMPT, "transport": ADDRESS}, "transport", id="a text of another shape"),
    pytest.param("attempt", {**ATTEMPT, "attempt": "1"}, "attempt", id="a value of another type"),
    pytest.param("attempt", {**ATTEMPT, "exc_info": ValueError(ADDRESS)}, "exc_info", id="an exception"),
    pytest.param("attempt", {**ATTEMPT, "stack_info": True}, "stack_info", id="a stack"),
]


@pytest.mark.parametrize(("event", "fields", "named"), WRONG)
def test_a_field_outside_the_schema_raises_in_tests(event: str, fields: Any, named: str) -> None:
    with pytest.raises(NotInSchema, match=f"{event} with {named},") as caught:
        log().info(event, **fields)
    assert ADDRESS not in str(caught.value)


@pytest.mark.parametrize(("event", "fields", "named"), WRONG)
def test_in_production_it_is_dropped_and_counted(
    production: None, lines: list[Any], event: str, fields: Any, named: str
) -> None:
    before = logs.dropped_fields()
    log().info(event, **fields)
    rest = {name: value for name, value in ATTEMPT.items() if name != named}
    assert lines == [{"event": event, **rest, "dropped_fields": 1}]
    assert logs.dropped_fields() == before + 1


def test_an_event_outside_the_schema_raises_in_tests() -> None:
    with pytest.raises(NotInSchema) as caught:
        log().info(f"sent to {ADDRESS}", attempt=1)
    assert ADDRESS not in str(caught.value)


def test_in_production_its_name_is_dropped_and_counted_too(production: None, lines: list[Any]) -> None:
    before = logs.dropped_fields()
    log().info(f"sent to {ADDRESS}", attempt=1)
    assert lines == [{"event": UNDECLARED, "dropped_fields": 2}]
    assert logs.dropped_fields() == before + 2


def test_what_is_bound_to_a_logger_is_held_to_the_schema() -> None:
    with pytest.raises(NotInSchema):
        log().bind(account=ADDRESS).info("attempt", **ATTEMPT)


def test_a_field_without_a_value_is_left_away(lines: list[Any]) -> None:
    log().info("attempt", **ATTEMPT, reason=None, segments=None)
    assert lines == [{"event": "attempt", **ATTEMPT}]


def test_a_line_goes_through_a_projects_own_processors_of_the_moment(lines: list[Any]) -> None:
    ours = log()
    ours.info("attempt", **ATTEMPT)

    def marked(_: object, __: str, line: Any) -> Any:
        return ((f"{line['event']}, as the project likes it",), {})

    structlog.configure(processors=[marked])
    ours.info("attempt", **ATTEMPT)
    assert lines[1:] == ["attempt, as the project likes it"]


def test_a_line_goes_to_logging_where_a_project_never_set_structlog_up(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    configured = structlog.get_config()
    structlog.reset_defaults()
    try:
        with caplog.at_level(logging.INFO):
            log().info("malformed_hint_dropped")
            with pytest.raises(NotInSchema):
                log().info("malformed_hint_dropped", to=ADDRESS)
    finally:
        structlog.configure(**configured)
    assert "malformed_hint_dropped" in caplog.text
    assert capsys.readouterr().out == ""
