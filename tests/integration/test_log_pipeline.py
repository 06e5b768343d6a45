"""This project's pipeline, in both forms: what Django, Celery and others log leaves no value in a line."""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog
from billiard.util import get_logger as billiard_logger
from celery import Celery
from django.db import transaction
from django.dispatch import Signal
from django.test import Client

from config.logging import logging_config
from resetdelivery import logs
from resetdelivery.logs import NotInSchema, dropped_fields, get_logger
from tests.sinks import formatters, own_hooks

ADDRESS = "marked.buyer.1618@shop.example"
TOKEN = "ditab6-378a2f1dd9e42bb6548118d507ac006d"
LINK = f"/reset/MQ/{TOKEN}/"
FORMS = pytest.mark.parametrize("form", ["json", "console"])


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    with own_hooks():
        yield
    logging_config(form="console", debug=False)


@pytest.fixture
def production() -> Iterator[None]:
    logs.be_strict(False)
    yield
    logs.be_strict()


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """What reached standard error; nothing of a log is on standard output."""

    def read() -> str:
        captured = capsys.readouterr()
        assert captured.out == ""
        return captured.err

    return read


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def refuse(*_: object, **__: object) -> Any:
    person = ADDRESS
    raise LookupError(f"nobody is called {person}")


# Ours.


ATTEMPT = {
    "intent": "8d7c1f6e-2b1a-4c3d-9e5f-0a1b2c3d4e5f",
    "channel": "sms",
    "transport": "twilio",
    "attempt": 1,
    "outcome": "accepted",
    "queue_delay_seconds": 0.15,
    "remaining_seconds": 599.8,
    "duration_seconds": 0.184,
    "template_version": "1",
    "segments": "2",
}


def test_a_line_of_ours_is_compact_json_with_time_level_and_event_first(written: Callable[[], str]) -> None:
    logging_config(form="json", debug=False)
    get_logger("resetdelivery.attempt").info("attempt", **ATTEMPT)
    text = written()
    (line,) = lines(text)
    assert list(line) == ["timestamp", "level", "event", *ATTEMPT]
    assert text == json.dumps(line, separators=(",", ":")) + "\n"


def test_a_line_of_ours_is_readable_on_the_console(written: Callable[[], str]) -> None:
    logging_config(form="console", debug=True)
    get_logger("resetdelivery.attempt").info("attempt", **ATTEMPT)
    (text,) = written().splitlines()
    assert "[info     ] attempt " in text
    assert text.endswith("duration_seconds=0.184 template_version=1 segments=2")


@FORMS
def test_what_production_dropped_is_counted_on_the_line_and_once(
    form: str, written: Callable[[], str], production: None
) -> None:
    logging_config(form=form, debug=False)
    before = dropped_fields()
    get_logger("resetdelivery.attempt").info("attempt", **ATTEMPT, to=ADDRESS)
    get_logger("resetdelivery.attempt").info(f"sent to {ADDRESS}")
    text = written()
    assert text.count("undeclared_event") == 1
    assert re.findall(r'dropped_fields"?[:=](\d+)', text) == ["1", "1"]
    assert dropped_fields() == before + 2
    assert ADDRESS not in text


def test_a_logger_of_structlogs_own_with_our_name_is_held_to_the_schema() -> None:
    logging_config(form="json", debug=False)
    with pytest.raises(NotInSchema):
        structlog.get_logger("resetdelivery.any").info("attempt", to=ADDRESS)


def test_the_forms_that_tests_search_leave_pytests_own_hooks() -> None:
    before = sys.excepthook, threading.excepthook, sys.unraisablehook
    assert len(list(formatters())) == 3
    assert (sys.excepthook, threading.excepthook, sys.unraisablehook) == before


# Others'.


@FORMS
def test_a_line_of_somebody_elses_structlog_shows_types(form: str, written: Callable[[], str]) -> None:
    logging_config(form=form, debug=True)
    structlog.get_logger("shop.orders").warning("order_failed", to=ADDRESS, number=31415, paid=True)
    structlog.get_logger("shop.orders").warning(f"failed for {ADDRESS}", exc_info=LookupError(ADDRESS))
    text = written()
    assert ADDRESS not in text
    assert "31415" not in text
    assert "order_failed" in text
    assert "LookupError" in text


@FORMS
def test_fields_of_somebody_elses_structlog_that_have_no_plain_names_are_counted(
    form: str, written: Callable[[], str]
) -> None:
    logging_config(form=form, debug=True)
    structlog.get_logger("shop.orders").warning("order_failed", paid=True, **{ADDRESS: 1, "+49151": 2})
    text = written()
    assert [name for name in (ADDRESS, "49151") if name in text] == []
    assert re.search(r'paid"?[:=](true|True)\W', text)
    assert re.search(r'dropped_fields"?[:=]2\b', text)


@FORMS
@pytest.mark.django_db
def test_a_page_that_breaks_on_a_link_says_where_and_not_with_what(
    form: str, written: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    logging_config(form=form, debug=False)
    monkeypatch.setattr("resetdelivery.views.directory_token_generator", refuse)
    response = Client(raise_request_exception=False).get(LINK)
    text = written()
    assert response.status_code == 500
    assert "Internal Server Error: <str>" in text
    assert "reset/<uidb64>/<token>/" in text
    assert "LookupError at integration/test_log_pipeline.py:" in text
    assert [secret for secret in (TOKEN, ADDRESS) if secret in text] == []


@FORMS
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda client: client.get(f"/nothing/{ADDRESS}/"), "Not Found: <str>"),
        (lambda client: client.get("/", headers={"host": ADDRESS}), "DisallowedHost"),
        (lambda client: client.get("/accounts/logout/"), "Method Not Allowed (GET): <str>"),
    ],
    ids=["404", "400", "405"],
)
def test_what_a_stranger_asked_for_is_not_in_djangos_lines(
    form: str, written: Callable[[], str], ask: Callable[[Client], Any], said: str
) -> None:
    logging_config(form=form, debug=False)
    ask(Client(raise_request_exception=False))
    text = written()
    assert said in text
    assert "marked" not in text


@FORMS
@pytest.mark.django_db(transaction=True)
def test_what_django_survives_is_told_without_its_text(form: str, written: Callable[[], str]) -> None:
    logging_config(form=form, debug=False)
    signal = Signal()
    signal.connect(refuse, weak=False)
    signal.send_robust(None)
    with transaction.atomic():
        transaction.on_commit(refuse, robust=True)
    text = written()
    assert "Error calling <str> in Signal.send_robust() (<LookupError>)" in text
    assert text.count("LookupError at ") == 2
    assert ADDRESS not in text


@pytest.fixture
def failing_task() -> Any:
    app = Celery("any", set_as_current=False, broker="memory://")
    return app.task(name="shop.any_task")(refuse)


@FORMS
def test_a_task_that_failed_is_named_with_its_id_and_not_with_its_arguments(
    form: str, written: Callable[[], str], failing_task: Any
) -> None:
    logging_config(form=form, debug=False)
    task_id = "8d7c1f6e-2b1a-4c3d-9e5f-0a1b2c3d4e5f"
    failing_task.apply(args=[ADDRESS], task_id=task_id)
    text = written()
    assert f"Task shop.any_task[{task_id}] raised unexpected: <str>" in text
    assert "LookupError at integration/test_log_pipeline.py:" in text
    assert "marked" not in text


@FORMS
def test_lines_of_celerys_process_pool_go_the_same_way(form: str, written: Callable[[], str]) -> None:
    logging_config(form=form, debug=False)
    billiard_logger().error("Process %r pid:%r exited with %r", "ForkPoolWorker-1", 77, "signal 9 (SIGKILL)")
    billiard_logger().error("Thread %r crashed: %r", ADDRESS, LookupError(ADDRESS))
    text = written()
    assert "Process ForkPoolWorker-1 pid:77 exited with signal 9 (SIGKILL)" in text
    assert "Thread <str> crashed: <LookupError>" in text
    assert len(text.splitlines()) == 2


@FORMS
def test_a_sentence_with_a_value_in_it_is_left_out(form: str, written: Callable[[], str]) -> None:
    logging_config(form=form, debug=False)
    logging.getLogger("kombu.any").error(f"cannot restore {ADDRESS}")
    logging.getLogger("celery.any").error(LookupError(ADDRESS))
    text = written()
    assert text.count("integration/test_log_pipeline.py:") == 2
    assert ADDRESS not in text


@FORMS
def test_a_link_whose_sentence_was_cleaned_already_keeps_the_sentence(
    form: str, written: Callable[[], str]
) -> None:
    logging_config(form=form, debug=False)
    logging.getLogger("django.request").error("Internal Server Error: %s", LINK)
    text = written()
    assert "Internal Server Error: <str>" in text
    assert TOKEN not in text


@FORMS
def test_an_exception_shows_neither_its_text_nor_a_stack_nor_variables(
    form: str, written: Callable[[], str]
) -> None:
    logging_config(form=form, debug=True)
    try:
        refuse()
    except LookupError:
        logging.getLogger("any").exception("It failed", stack_info=True)
    text = written()
    assert "It failed" in text
    assert "LookupError at integration/test_log_pipeline.py:" in text
    assert "nobody is called" not in text
    assert "Stack" not in text
    assert "raise LookupError" not in text


@FORMS
def test_a_line_that_cannot_be_put_together_is_still_one_line(form: str, written: Callable[[], str]) -> None:
    logging_config(form=form, debug=False)
    too_few = (ADDRESS,)
    logging.getLogger("any").error("%d of %d", *too_few)
    (text,) = written().splitlines()
    assert "%d of %d" in text
    assert ADDRESS not in text


@FORMS
def test_a_line_that_cannot_be_written_is_named_without_what_it_held(
    form: str, written: Callable[[], str]
) -> None:
    logging_config(form=form, debug=False)

    class Broken:
        method = property(refuse)

    logging.getLogger("django.request").error("to %s", ADDRESS, extra={"request": Broken()})
    (line,) = lines(written())
    assert (line["event"], line["logger"]) == ("A line was lost.", "django.request")
    assert line["exception"].startswith("LookupError at integration/test_log_pipeline.py:")
    assert ADDRESS not in str(line)
