"""What an intent is stored with, so that all that follows is found in one trace."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from opentelemetry import trace

from notifications.channels import Channel
from resetdelivery.delivery import deliver
from resetdelivery.domain.spans import SpanRef
from resetdelivery.models import ResetIntent
from resetdelivery.services import notify_password_changed
from resetdelivery.telemetry import traces
from resetdelivery.telemetry.traces import switch
from tests.steps import answer, record, take
from tests.traced import SPAN_ID, TRACE_ID, ask, hosts_span, parent_id, taken, trace_id

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("traced")]

Settings = Callable[..., None]


def test_an_intent_begins_a_trace_with_its_own_reference(account: Any) -> None:
    intent = ask(account)
    ref = SpanRef.of(intent.traceparent)
    assert ref is not None
    assert (ref.trace_id, intent.trace_parent_span) == (intent.reference.hex, "")
    assert intent.admission_seconds is not None
    assert 0 < intent.admission_seconds < 60


def test_an_intent_joins_the_trace_that_the_host_opened_around_it(account: Any) -> None:
    with trace.use_span(hosts_span()):
        intent = ask(account)
    answer(record(take()))
    traces.export_closed()
    assert intent.trace_parent_span == SPAN_ID
    assert {trace_id(span) for spans in taken().values() for span in spans} == {TRACE_ID}
    assert parent_id(taken()["admit reset"][0]) == SPAN_ID


def test_a_header_that_somebody_sent_is_not_believed(account: Any) -> None:
    header = {"traceparent": f"00-{TRACE_ID}-{SPAN_ID}-01"}
    Client().post("/accounts/forgot/", {"email": account.email}, headers=header)
    assert [TRACE_ID in one for one in ResetIntent.objects.values_list("traceparent", flat=True)] == [False]


def test_a_notice_is_traced_as_a_reset_is(account: Any, email: Any, sms: Any) -> None:
    notify_password_changed(account_ref=str(account.pk))
    for channel in ("email", "sms"):
        deliver(Channel(channel))
    traces.export_closed()
    assert {"admit security_notice", "submit email", "submit sms"} <= set(taken())


def test_who_joins_an_intent_joins_its_trace(account: Any) -> None:
    first, second = ask(account), ask(account)
    assert (first.pk, first.traceparent) == (second.pk, second.traceparent)


def test_an_admission_takes_no_statement_more(account: Any, change: Settings) -> None:
    numbers = []
    for exporter in ("", "tests.span_sink.Sink"):
        change(TRACE_EXPORTER=exporter)
        ResetIntent.objects.all().delete()
        with CaptureQueriesContext(connection) as captured:
            ask(account)
        numbers.append(len(captured))
    assert numbers[0] == numbers[1] > 0


OFF: list[Callable[[Any, pytest.MonkeyPatch], None]] = [
    lambda change, patch: change(TRACE_EXPORTER=""),
    lambda change, patch: patch.setenv("OTEL_SDK_DISABLED", "True"),
    lambda change, patch: patch.setattr(switch, "has_packages", lambda: False),
]


@pytest.mark.parametrize("off", OFF, ids=["not set", "switched off", "not installed"])
def test_where_traces_are_off_nothing_is_stored_and_nothing_exported(
    off: Callable[[Any, pytest.MonkeyPatch], None],
    account: Any,
    change: Settings,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_num_queries: Any,
) -> None:
    off(change, monkeypatch)
    intent = ask(account)
    answer(record(take()))
    assert (intent.traceparent, intent.trace_parent_span, intent.admission_seconds) == ("", "", None)
    with django_assert_num_queries(0):
        assert traces.export_closed() == traces.Exported()
    assert taken() == {}


OTEL = "resetdelivery.telemetry.traces.otel"


def test_packages_that_are_broken_stop_no_admission(
    account: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, OTEL, None)
    intent = ask(account)
    ref = SpanRef.of(intent.traceparent)
    assert ref is not None
    assert (ref.trace_id, intent.trace_parent_span) == (intent.reference.hex, "")
    assert "trace_failed" in caplog.text


def test_packages_that_cannot_be_looked_for_are_none(
    account: Any, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    def broken(name: str) -> None:
        raise AttributeError(name)

    monkeypatch.setattr(switch, "find_spec", broken)
    switch.has_packages.cache_clear()
    request.addfinalizer(switch.has_packages.cache_clear)
    assert ask(account).traceparent == ""
