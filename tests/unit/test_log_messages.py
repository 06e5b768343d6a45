"""Other packages' sentences: which are shown, and which of their values."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from celery.app import trace
from django.http import QueryDict

from resetdelivery.log_messages import HIDDEN, SHOWN, message_of, request_fields

ADDRESS = "anna@shop.example"
TASK, TASK_ID = "resetdelivery.deliver", "8d7c1f6e-2b1a-4c3d-9e5f-0a1b2c3d4e5f"


def said(name: str, sentence: Any, *values: Any) -> str:
    """What is shown of a line that this file logs."""
    return shown_of(logging.LogRecord(name, logging.ERROR, __file__, 1, sentence, values, None))


def shown_of(record: logging.LogRecord) -> str:
    return message_of(record, record.args)["event"]


@pytest.mark.parametrize(
    ("sentence", "values", "shown"),
    [
        ("Nobody is named here", (), "Nobody is named here"),
        ("to %s, %r times", (ADDRESS, 3), "to <str>, 3 times"),
        ("%s took %.1f s, and %s", (ValueError, 0.25, None), "ValueError took 0.2 s, and None"),
        ("failed: %r", (ValueError(ADDRESS),), "failed: <ValueError>"),
        ("failed: %s", ([ADDRESS, 1],), "failed: <list>"),
        ("of %(who)s: %(count)d", ({"who": ADDRESS, "count": 3},), "of <str>: 3"),
        ("sent to %s", ({ADDRESS: 1},), "sent to <dict>"),
        ("100%%(%r)", ({ADDRESS: 1},), "100%(<dict>)"),
        ("%(many)s are many", ({"many": {ADDRESS: 1}},), "<dict> are many"),
        ("%d of them", ({ADDRESS: 1},), "%d of them"),
        ("got %s", (QueryDict(ADDRESS),), "got <QueryDict>"),
        ("%d of them", (ADDRESS,), "%d of them"),
        ("%s and %s", (ADDRESS,), "%s and %s"),
        ("100 %", (), "100 %"),
    ],
)
def test_a_sentence_of_the_source_is_shown_with_its_values_by_type(
    sentence: str, values: Any, shown: str
) -> None:
    assert said("celery.worker", sentence, *values) == shown


def test_numbers_of_an_application_can_be_those_of_its_accounts() -> None:
    assert said("shop.accounts", "Failed for %s", 31415) == "Failed for <int>"
    assert said("django.contrib.auth", "Failed for %s", 31415) == "Failed for <int>"


@pytest.mark.parametrize("sentence", [f"to {ADDRESS}", "to " + ADDRESS, "", ValueError(ADDRESS), 7])
def test_a_sentence_that_was_put_together_is_not_shown_but_where(sentence: Any) -> None:
    assert said("celery.worker", sentence) == HIDDEN


def test_where_an_unknown_sentence_was_logged_is_told(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("celery.worker").error(f"to {ADDRESS}")
    line = message_of(caplog.records[-1], ())
    assert line["place"].startswith("unit/test_log_messages.py:")
    assert line["place"].endswith(" test_where_an_unknown_sentence_was_logged_is_told")


def test_a_part_of_a_text_with_values_in_it_is_no_sentence() -> None:
    unused = f"just this part{ADDRESS}"
    assert said("celery.worker", unused.partition(ADDRESS)[0]) == HIDDEN


def test_without_its_source_no_sentence_is_known() -> None:
    record = logging.LogRecord("celery", logging.ERROR, "/nowhere/at_all.py", 1, "to them", (), None)
    assert shown_of(record) == HIDDEN


@pytest.mark.parametrize(
    ("sentence", "described_as"),
    [
        (trace.LOG_RECEIVED, f"Task {TASK}[{TASK_ID}] received"),
        (trace.LOG_SUCCESS, f"Task {TASK}[{TASK_ID}] succeeded in 0.5s: <str>"),
        (trace.LOG_FAILURE, f"Task {TASK}[{TASK_ID}] raised unexpected: <str>"),
        (trace.LOG_INTERNAL_ERROR, f"Task {TASK}[{TASK_ID}] raised unexpected: <str>"),
        (trace.LOG_IGNORED, f"Task {TASK}[{TASK_ID}] raised unexpected"),
        (trace.LOG_REJECTED, f"Task {TASK}[{TASK_ID}] <str>"),
        (trace.LOG_RETRY, f"Task {TASK}[{TASK_ID}] retry: <str>"),
    ],
)
def test_of_a_task_name_and_id_are_shown(sentence: str, described_as: str) -> None:
    values = {
        "name": TASK,
        "id": TASK_ID,
        "description": "raised unexpected",
        "exc": f"LookupError('{ADDRESS}')",
        "return_value": ADDRESS,
        "runtime": 0.5,
        "args": f"('{ADDRESS}',)",
        "kwargs": "{}",
    }
    assert said("celery.app.trace", sentence, values) == described_as


@pytest.mark.parametrize("name", [ADDRESS, "Anna Smith", "+4915112345678", "a" * 200, "", TASK + "\n"])
def test_a_name_of_another_form_is_not_shown(name: str) -> None:
    assert (
        said("celery.app.trace", trace.LOG_RECEIVED, {"name": name, "id": name})
        == "Task <str>[<str>] received"
    )


@pytest.mark.parametrize(
    ("sentence", "values", "shown"),
    [
        ("%s: %s", ("Not Found", f"/{ADDRESS}"), "Not Found: <str>"),
        ("%s: %s", (f"No such {ADDRESS}", f"/{ADDRESS}"), "<str>: <str>"),
        ("Method Not Allowed (%s): %s", ("PUT", "/"), "Method Not Allowed (PUT): <str>"),
        ('"%s" %s %s', ("GET /goods/ HTTP/1.1", "200", "512"), '"GET /goods/ HTTP/1.1" 200 512'),
        ('"%s" %s %s', ("GET /goods/?q=anna HTTP/1.1", "200", "512"), '"<str>" 200 512'),
        (
            "Process %r pid:%r exited with %r",
            ("ForkPoolWorker-1", 77, "signal 9 (SIGKILL)"),
            "Process ForkPoolWorker-1 pid:<int> exited with signal 9 (SIGKILL)",
        ),
        ("Forbidden (%s): %s", (ADDRESS, "/"), "Forbidden (<str>): <str>"),
    ],
)
def test_known_sentences_show_some_words(sentence: str, values: Any, shown: str) -> None:
    assert said("any", sentence, *values) == shown


@pytest.mark.parametrize("sentence", sorted(SHOWN))
def test_no_word_that_is_shown_can_be_an_address_or_number(sentence: str) -> None:
    forms = SHOWN[sentence]
    worker_name = {("%s ready.", 0)}
    words = [ADDRESS, "+4915112345678", f"{ADDRESS}: refused", "Anna Smith, Berlin"]
    found = [
        (key, word)
        for key, form in forms.items()
        for word in words
        if form.fullmatch(word) and (sentence, key) not in worker_name
    ]
    assert found == []


class Request:
    method = "POST"

    class resolver_match:  # noqa: N801
        route = "reset/<uidb64>/<token>/"


def record_of(**extra: Any) -> logging.LogRecord:
    record = logging.LogRecord("django.request", logging.ERROR, __file__, 1, "%s", ("/",), None)
    record.__dict__.update(extra)
    return record


def test_of_a_request_method_status_and_route_are_shown() -> None:
    shown = request_fields(record_of(request=Request(), status_code=500))
    assert shown == {"method": "POST", "status": 500, "route": "reset/<uidb64>/<token>/"}


def test_a_method_that_is_none_and_a_route_not_taken_are_left_away() -> None:
    request = Request()
    request.method, request.resolver_match = f"GET {ADDRESS}", None  # type: ignore[assignment]
    assert request_fields(record_of(request=request, status_code="404")) == {}


def test_a_line_of_no_request_has_none_of_it() -> None:
    assert request_fields(record_of(request=object())) == {}
    assert request_fields(record_of()) == {}
