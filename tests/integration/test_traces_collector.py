"""A collector that is away, and traces that it does not take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import F

from resetdelivery.domain.spans import Span, spans_of
from resetdelivery.domain.trace_sampling import Sampled
from resetdelivery.domain.traced import TracedIntent
from resetdelivery.models import ResetIntent
from resetdelivery.telemetry import traces
from resetdelivery.telemetry.traces import Exported, collector, exporting
from tests import span_sink
from tests.steps import answer, record, take
from tests.traced import ask, exported_ids

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("traced")]

Settings = Callable[..., None]
SINK = "tests.span_sink.Sink"


def test_what_the_collector_refused_is_exported_later(account: Any, change: Settings) -> None:
    change(TRACE_EXPORTER="tests.span_sink.Away")
    ask(account)
    answer(record(take()))
    assert traces.export_closed() == Exported(refused=True)
    change(TRACE_EXPORTER=SINK)
    assert traces.export_closed() == Exported(traces=1)


def test_a_collector_that_refused_is_left_alone_for_a_while(account: Any, change: Settings) -> None:
    change(TRACE_EXPORTER="tests.span_sink.Away")
    span_sink.Away.asked = 0
    ask(account)
    answer(record(take()))
    assert [traces.export_closed().refused for _ in range(3)] == [True] * 3
    assert span_sink.Away.asked == 1


def test_an_exporter_that_raises_stops_nothing_and_its_text_goes_nowhere(
    account: Any, change: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    change(TRACE_EXPORTER="tests.span_sink.Broken")
    ask(account)
    answer(record(take()))
    assert traces.export_closed() == Exported(refused=True)
    assert "RuntimeError" in caplog.text
    assert "marked" not in caplog.text


def test_an_exporter_that_does_not_answer_is_not_waited_for(
    account: Any, change: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "EXPORT_SECONDS", 0.05)
    change(TRACE_EXPORTER="tests.span_sink.Stalled")
    span_sink.GO_ON.clear()
    ask(account)
    answer(record(take()))
    try:
        assert traces.export_closed() == Exported(refused=True)
    finally:
        span_sink.GO_ON.set()


def test_what_is_left_out_needs_no_collector(
    account: Any, change: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resetdelivery.domain.trace_sampling.randomness_of", lambda reference: 0)
    change(TRACE_EXPORTER="tests.span_sink.Away", TRACE_SUCCESSES_PER_MILLE=999)
    ask(account)
    answer(record(take()))
    assert traces.export_closed() == Exported(left_out=1)


def test_an_exporter_that_never_comes_back_is_asked_once(
    account: Any, change: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "EXPORT_SECONDS", 0.05)
    monkeypatch.setattr(collector, "PAUSE_SECONDS", 0.0)
    change(TRACE_EXPORTER="tests.span_sink.Stalled")
    span_sink.GO_ON.clear()
    span_sink.Stalled.asked = 0
    ask(account)
    answer(record(take()))
    try:
        assert [traces.export_closed().refused for _ in range(3)] == [True] * 3
        assert span_sink.Stalled.asked == 1
    finally:
        span_sink.GO_ON.set()


def test_a_process_that_has_no_more_threads_loses_no_trace(
    account: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ask(account)
    answer(record(take()))
    with monkeypatch.context() as patch:
        patch.setattr(collector.Step, "start", no_more_threads)
        assert traces.export_closed() == Exported(refused=True)
    assert "trace_failed" in caplog.text
    collector.forget()
    assert traces.export_closed() == Exported(traces=1)


def no_more_threads(*_: object) -> None:
    raise RuntimeError("can't start new thread")


# A trace that is bad.


@pytest.fixture
def three(make_account: Callable[..., Any]) -> list[ResetIntent]:
    """Closed ones, of which the oldest is not wanted by a picky sink."""
    intents = [ask(make_account()) for _ in range(3)]
    answer(record(take()))
    span_sink.UNWANTED.clear()
    span_sink.UNWANTED.add(intents[0].reference.int)
    return intents


def untraced_ones() -> list[int]:
    return list(ResetIntent.objects.filter(traced_at=None).order_by("pk").values_list("pk", flat=True))


def test_a_trace_that_cannot_be_made_is_given_up_and_the_others_are_exported(
    three: list[ResetIntent], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def bad_for_one(intent: TracedIntent, kept: Sampled) -> tuple[Span, ...]:
        if intent.reference == three[0].reference:
            raise ZeroDivisionError
        return spans_of(intent, kept)

    monkeypatch.setattr(exporting, "spans_of", bad_for_one)
    assert traces.export_closed() == Exported(traces=2, lost=1)
    assert untraced_ones() == []
    assert "ZeroDivisionError" in caplog.text


def test_a_trace_that_alone_is_refused_is_given_up_and_the_others_are_exported(
    three: list[ResetIntent], change: Settings
) -> None:
    change(TRACE_EXPORTER="tests.span_sink.Picky")
    assert traces.export_closed() == Exported(traces=2, lost=1)
    assert exported_ids() == {one.reference.hex for one in three[1:]}
    assert untraced_ones() == []


def test_a_trace_that_is_refused_while_there_is_no_other_stays(
    three: list[ResetIntent], change: Settings
) -> None:
    change(TRACE_EXPORTER="tests.span_sink.Picky")
    ResetIntent.objects.exclude(pk=three[0].pk).update(traced_at=F("created_at"))
    assert traces.export_closed() == Exported(refused=True)
    assert untraced_ones() == [three[0].pk]


@pytest.mark.parametrize("exporter", ["Away", "Broken"])
def test_a_collector_that_takes_nothing_at_all_loses_none(
    three: list[ResetIntent], change: Settings, exporter: str
) -> None:
    change(TRACE_EXPORTER=f"tests.span_sink.{exporter}")
    assert traces.export_closed() == Exported(refused=True)
    assert untraced_ones() == [one.pk for one in three]
    change(TRACE_EXPORTER=SINK)
    assert traces.export_closed() == Exported(traces=3)


def test_a_trace_over_which_the_collector_does_not_answer_stays_and_the_others_are_exported(
    three: list[ResetIntent], change: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "EXPORT_SECONDS", 0.5)
    monkeypatch.setattr(collector, "PAUSE_SECONDS", 0.0)
    change(TRACE_EXPORTER="tests.span_sink.Stuck")
    span_sink.GO_ON.clear()
    try:
        assert traces.export_closed() == Exported(refused=True)
        span_sink.GO_ON.set()
        wait_for_steps()
        span_sink.GO_ON.clear()
        assert traces.export_closed() == Exported(traces=2)
    finally:
        span_sink.GO_ON.set()
    assert untraced_ones() == [three[0].pk]


def wait_for_steps() -> None:
    last = collector.collector()._last
    assert last is not None
    last.join()
