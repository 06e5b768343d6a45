"""Spans of what happens apart from an intent's own way: a sweep, a conflict of keys, a stale link."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from opentelemetry import trace

from resetdelivery.exceptions import IdempotencyConflict
from resetdelivery.recovery import sweep
from resetdelivery.telemetry import traces
from resetdelivery.telemetry.traces import collector, moments
from resetdelivery.telemetry.traces.moments import Ration
from tests import span_sink
from tests.conftest import age
from tests.reset_page import path_of_link
from tests.steps import record, take
from tests.traced import SPAN_ID, TRACE_ID, ask, hosts_span, parent_id, taken, told, trace_id

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("traced")]

Settings = Callable[..., None]
WRONG = "/reset/MQ/ditab6-378a2f1dd9e42bb6548118d507ac006d/"


@pytest.fixture(autouse=True)
def _new_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_conflicts", "_stale"):
        monkeypatch.setattr(moments, name, Ration(3))


def queued() -> dict[str, list[Any]]:
    assert collector.flush_queue()
    return taken()


def conflict(account: Any) -> None:
    with pytest.raises(IdempotencyConflict):
        ask(account, "email", "sms", idempotency_key="k")


# Keys.


def test_a_conflict_of_keys_is_told_in_the_trace_of_the_intent_that_has_the_key(account: Any) -> None:
    intent = ask(account, idempotency_key="k")
    conflict(account)
    (span,) = queued()["key_conflict"]
    assert trace_id(span) == intent.reference.hex
    assert intent.traceparent.split("-")[2] == parent_id(span)


def test_a_conflict_with_an_intent_that_has_no_trace_has_one_of_its_own(
    account: Any, change: Settings
) -> None:
    change(TRACE_EXPORTER="")
    ask(account, idempotency_key="k")
    change(TRACE_EXPORTER="tests.span_sink.Sink")
    conflict(account)
    (span,) = queued()["key_conflict"]
    assert parent_id(span) == ""


def test_a_request_that_is_the_same_is_no_conflict(account: Any) -> None:
    for _ in range(2):
        ask(account, idempotency_key="k")
    assert queued() == {}


@pytest.mark.django_db(transaction=True)
def test_a_conflict_is_told_once_its_transaction_is_over(
    account: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[bool] = []
    monkeypatch.setattr(moments, "queue_span", lambda span: inside.append(connection.in_atomic_block))
    ask(account, idempotency_key="k")
    conflict(account)
    assert inside == [False]


# Links.


def test_a_link_that_does_not_work_is_told_in_the_trace_of_its_request(account: Any) -> None:
    with trace.use_span(hosts_span()):
        Client().get(WRONG)
    (span,) = queued()["stale_token"]
    assert (trace_id(span), parent_id(span)) == (TRACE_ID, SPAN_ID)


def test_nothing_of_the_link_is_told(account: Any) -> None:
    Client().get(WRONG)
    (span,) = queued()["stale_token"]
    assert dict(span.attributes or {}) == {}
    assert "ditab6" not in span.to_json()


def test_a_link_that_works_is_not_told_of(account: Any) -> None:
    client = Client()
    client.get(path_of_link(account), follow=True)
    assert queued() == {}


def test_a_flood_of_links_is_no_flood_of_spans(account: Any) -> None:
    for _ in range(10):
        Client().get(WRONG)
    assert len(queued()["stale_token"]) == 3


def test_the_first_of_the_next_minute_tells_how_many_were_left_out() -> None:
    now = 0.0
    ration = Ration(2, clock=lambda: now)
    assert [ration.take() for _ in range(5)] == [0, 0, None, None, None]
    now = 60.0
    assert [ration.take() for _ in range(3)] == [3, 0, None]


def test_a_span_tells_how_many_were_left_out(account: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(moments, "_stale", Ration(1, clock=lambda: now))
    for _ in range(5):
        Client().get(WRONG)
    now = 60.0
    Client().get(WRONG)
    assert [told(span, "left_out") for span in queued()["stale_token"]] == [None, 4]


@pytest.mark.parametrize("exporter", ["tests.span_sink.Missing", "tests.span_sink.Away"])
def test_an_exporter_that_cannot_be_used_is_no_matter_of_the_page(
    account: Any, change: Settings, exporter: str
) -> None:
    change(TRACE_EXPORTER=exporter)
    assert Client().get(WRONG).status_code == 200


# Sweeps.


def test_a_sweep_names_the_traces_of_the_rows_that_it_took_back(make_account: Callable[..., Any]) -> None:
    intents = [ask(make_account()) for _ in range(3)]
    taken_rows = take()
    record(taken_rows[:1])
    age(60)
    sweep()
    (span,) = taken()["sweep"]
    assert {f"{link.context.trace_id:032x}" for link in span.links} == {one.reference.hex for one in intents}
    assert told(span, "rows") == 3
    assert trace_id(span) not in {one.reference.hex for one in intents}


def test_a_sweep_names_no_more_traces_than_it_may(
    make_account: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moments, "LINKS", 2)
    for _ in range(5):
        ask(make_account())
    take()
    age(60)
    sweep()
    (span,) = taken()["sweep"]
    assert (len(span.links), told(span, "rows")) == (2, 5)


def test_a_sweep_that_took_nothing_back_is_not_told_of(account: Any) -> None:
    ask(account)
    sweep()
    assert taken() == {}


@pytest.mark.parametrize(
    "exporter", ["tests.span_sink.Missing", "tests.span_sink.Away", "tests.span_sink.Broken"]
)
def test_a_sweep_does_its_work_without_a_collector(account: Any, change: Settings, exporter: str) -> None:
    change(TRACE_EXPORTER=exporter)
    ask(account)
    take()
    age(60)
    assert sweep().put_back == 1


def test_where_traces_are_off_no_moment_is_told(account: Any, change: Settings) -> None:
    change(TRACE_EXPORTER="")
    ask(account, idempotency_key="k")
    conflict(account)
    Client().get(WRONG)
    take()
    age(60)
    sweep()
    assert span_sink.TAKEN == []
    assert not traces.is_on()
