"""One trace for each reset, from its rows, whatever happened to it and whoever did it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F
from opentelemetry.trace import SpanKind, StatusCode

from notifications.channels import Channel
from notifications.outcome import Outcome, OutcomeKind
from notifications.testing import ScriptedTransport
from resetdelivery import tasks
from resetdelivery.delivery import deliver
from resetdelivery.domain.telemetry import Job
from resetdelivery.models import Attempt, JobRun, ResetIntent
from resetdelivery.poller import Poller
from resetdelivery.recovery import sweep
from resetdelivery.schedule import BEAT_SCHEDULE
from resetdelivery.telemetry import traces
from resetdelivery.telemetry.traces import Exported, exporting, rows
from tests import span_sink
from tests.conftest import age
from tests.later_words import attempt_of, hear
from tests.steps import BUSY, REFUSED, answer, record, take
from tests.traced import ask, exported_ids, taken, told

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("traced")]

Settings = Callable[..., None]
SINK = "tests.span_sink.Sink"


def test_a_reset_is_one_trace_from_its_admission_to_its_submission(
    account: Any, email: ScriptedTransport
) -> None:
    intent = ask(account)
    deliver(Channel.EMAIL)
    assert traces.export_closed() == Exported(traces=1)
    assert {name: [span.kind for span in spans] for name, spans in taken().items()} == {
        "admit reset": [SpanKind.PRODUCER],
        "wait email": [SpanKind.INTERNAL],
        "process email": [SpanKind.CONSUMER],
        "submit email": [SpanKind.CLIENT],
    }
    assert exported_ids() == {intent.reference.hex}


def test_the_times_of_the_spans_are_those_of_the_rows(account: Any, email: ScriptedTransport) -> None:
    intent = ask(account)
    deliver(Channel.EMAIL)
    traces.export_closed()
    attempt = Attempt.objects.get()
    (admit,), (submit,) = taken()["admit reset"], taken()["submit email"]
    assert admit.end_time == nanoseconds(intent.created_at)
    assert submit.start_time == nanoseconds(attempt.started_at)


def nanoseconds(moment: dt.datetime) -> int:
    whole = int(moment.replace(microsecond=0).timestamp())
    return whole * 10**9 + moment.microsecond * 1000


def test_each_channel_of_an_intent_is_in_its_trace(account: Any, email: Any, sms: Any) -> None:
    ask(account, "email", "sms")
    deliver(Channel.EMAIL)
    assert traces.export_closed() == Exported()
    deliver(Channel.SMS)
    assert traces.export_closed() == Exported(traces=1)
    assert {"submit email", "submit sms"} <= set(taken())
    assert len(exported_ids()) == 1


def test_a_retry_is_in_the_trace_of_its_reset(account: Any, email: Any, use_transport: Any) -> None:
    use_transport(Channel.EMAIL, ScriptedTransport(outcomes=[BUSY]))
    intent = ask(account)
    deliver(Channel.EMAIL)
    age(30)
    deliver(Channel.EMAIL)
    traces.export_closed()
    submits = taken()["submit email"]
    assert [(told(span, "outcome"), span.status.status_code) for span in submits] == [
        ("transient", StatusCode.ERROR),
        ("accepted", StatusCode.UNSET),
    ]
    assert exported_ids() == {intent.reference.hex}


def test_what_a_dead_worker_left_is_in_the_trace_of_its_reset(account: Any) -> None:
    intent = ask(account)
    record(take())
    age(60)
    sweep()
    age(30)
    answer(record(take()))
    span_sink.TAKEN.clear()  # the sweep's own
    traces.export_closed()
    lost, sent = taken()["submit email"]
    assert (told(lost, "outcome"), told(lost, "reason"), told(sent, "outcome")) == (
        "ambiguous",
        "lost",
        "accepted",
    )
    assert told(taken()["process email"][1], "recovered") is True
    assert set(told(taken()["admit reset"][0], "kept_for")) == {"retried", "recovered", "ambiguous"}
    assert exported_ids() == {intent.reference.hex}


def test_a_lease_that_ran_out_before_anything_was_sent_is_told(account: Any, change: Settings) -> None:
    change(TRACE_SUCCESSES_PER_MILLE=1)
    ask(account)
    take()
    age(60)
    sweep()
    answer(record(take()))
    traces.export_closed()
    assert told(taken()["admit reset"][0], "kept_for") == ("recovered",)


def test_what_came_back_late_from_a_lost_lease_is_told(account: Any) -> None:
    ask(account)
    marked = record(take())
    age(60)
    sweep()
    answer(marked)  # fenced out
    age(30)
    answer(record(take()))
    traces.export_closed()
    assert told(taken()["submit email"][0], "late") is True


def test_a_reset_that_was_not_sent_tells_why(account: Any, email: ScriptedTransport) -> None:
    ask(account)
    type(account).objects.filter(pk=account.pk).update(password="another")
    deliver(Channel.EMAIL)
    traces.export_closed()
    assert set(taken()) == {"admit reset", "wait email"}
    (last,) = taken()["wait email"]
    assert (told(last, "state"), told(last, "reason")) == ("cancelled", "account_changed")


def test_successes_beyond_the_share_are_left_out_and_not_looked_at_again(
    account: Any, change: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    intent = ask(account)
    answer(record(take()))
    monkeypatch.setattr("resetdelivery.domain.trace_sampling.randomness_of", lambda reference: 0)
    change(TRACE_SUCCESSES_PER_MILLE=999)
    assert traces.export_closed() == Exported(left_out=1)
    assert span_sink.TAKEN == []
    intent.refresh_from_db()
    assert intent.traced_at is not None


def test_a_failure_is_kept_whatever_the_share(
    account: Any, change: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(TRACE_SUCCESSES_PER_MILLE=1)
    monkeypatch.setattr("resetdelivery.domain.trace_sampling.randomness_of", lambda reference: 0)
    ask(account)
    answer(record(take()), REFUSED)
    assert traces.export_closed() == Exported(traces=1)


def test_a_trace_is_exported_once(account: Any) -> None:
    ask(account)
    answer(record(take()))
    assert [traces.export_closed(), traces.export_closed()] == [Exported(traces=1), Exported()]


def test_an_open_intent_is_not_exported_yet(account: Any) -> None:
    ask(account)
    assert traces.export_closed() == Exported()


def test_an_intent_of_before_traces_were_on_is_passed_over(account: Any, change: Settings) -> None:
    change(TRACE_EXPORTER="")
    ask(account)
    change(TRACE_EXPORTER=SINK)
    answer(record(take()))
    assert traces.export_closed() == Exported()


def test_a_run_that_dies_before_it_is_written_down_exports_the_same_spans_again(
    account: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(account)
    answer(record(take()))
    with monkeypatch.context() as patch:
        patch.setattr(exporting, "_write_down", die)
        with pytest.raises(KeyboardInterrupt):
            traces.export_closed()
    first = [span.to_json() for span in span_sink.TAKEN]
    span_sink.TAKEN.clear()
    assert traces.export_closed() == Exported(traces=1)
    assert [span.to_json() for span in span_sink.TAKEN] == first


def die(*_: object) -> None:
    raise KeyboardInterrupt


def test_more_than_a_batch_is_exported_in_one_run(
    make_account: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "BATCH", 3)
    for _ in range(7):
        ask(make_account())
    answer(record(take()))
    assert traces.export_closed() == Exported(traces=7)
    assert len(exported_ids()) == 7


def test_a_run_ends_though_there_is_more_to_do(
    make_account: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "BATCH", 2)
    monkeypatch.setattr(exporting, "RUN_SECONDS", -1.0)
    for _ in range(5):
        ask(make_account())
    answer(record(take()))
    assert [traces.export_closed().traces for _ in range(4)] == [2, 2, 1, 0]


@pytest.mark.parametrize("number", [1, 4])
def test_a_batch_is_read_and_written_in_as_many_statements_however_large(
    number: int, make_account: Callable[..., Any], django_assert_num_queries: Any
) -> None:
    for _ in range(number):
        ask(make_account(), "email", "sms")
    answer(record(take()))
    answer(record(take(Channel.SMS)))
    # Three reads; the locks, the receipts and the update between a savepoint and its release.
    with django_assert_num_queries(8):
        traces.export_closed()


def test_the_untraced_are_found_by_their_index(account: Any) -> None:
    names: list[str] = []

    def explain(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if f'FROM "{ResetIntent._meta.db_table}"' in sql and not sql.startswith("EXPLAIN"):
            verb = "EXPLAIN " if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN "
            with connection.cursor() as cursor:
                cursor.execute(verb + sql, params)
                names.extend(str(row[-1]) for row in cursor.fetchall())
        return execute(sql, params, many, context)

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
    with connection.execute_wrapper(explain):
        rows.untraced(limit=10, using="default")
    assert "resetdelivery_intent_trace" in "\n".join(names)


# Receipts.


def test_a_receipt_before_the_export_is_in_the_trace(account: Any) -> None:
    ask(account)
    answer(record(take()))
    hear(attempt_of(), "delivered")
    traces.export_closed()
    assert told(taken()["process email"][0], "state") == "delivered"


def test_a_success_that_was_left_out_is_exported_once_a_receipt_says_that_it_failed(
    account: Any, change: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resetdelivery.domain.trace_sampling.randomness_of", lambda reference: 0)
    change(TRACE_SUCCESSES_PER_MILLE=999)
    ask(account)
    answer(record(take()))
    assert traces.export_closed() == Exported(left_out=1)
    hear(attempt_of(), "failed")
    assert traces.export_closed() == Exported(traces=1)
    assert [span.status.status_code for span in taken()["receipt email"]] == [StatusCode.ERROR]


def test_a_receipt_that_says_delivered_later_changes_nothing(account: Any) -> None:
    ask(account)
    answer(record(take()))
    traces.export_closed()
    hear(attempt_of(), "delivered")
    assert traces.export_closed() == Exported()


def test_a_receipt_that_fails_it_during_the_export_has_it_exported_again(
    account: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(account)
    answer(record(take()))
    whole = exporting._write_down

    def told_meanwhile(*args: Any) -> None:
        hear(attempt_of(), "failed")
        whole(*args)

    with monkeypatch.context() as patch:
        patch.setattr(exporting, "_write_down", told_meanwhile)
        assert traces.export_closed() == Exported(traces=1)
    assert "receipt email" not in taken()
    assert traces.export_closed() == Exported(traces=1)
    assert "receipt email" in taken()


def test_a_receipt_that_was_told_before_the_export_and_committed_during_it_is_exported(
    account: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(account)
    answer(record(take()))
    whole = exporting._write_down

    def committed_meanwhile(*args: Any) -> None:
        hear(attempt_of(), "failed")
        Attempt.objects.update(receipt_at=F("started_at"))
        whole(*args)

    with monkeypatch.context() as patch:
        patch.setattr(exporting, "_write_down", committed_meanwhile)
        traces.export_closed()
    assert traces.export_closed() == Exported(traces=1)
    assert "receipt email" in taken()


def test_a_failed_receipt_that_was_read_is_exported_once(account: Any) -> None:
    ask(account)
    answer(record(take()))
    hear(attempt_of(), "failed")
    assert [traces.export_closed(), traces.export_closed()] == [Exported(traces=1), Exported()]


@pytest.fixture
def held(account: Any, postgres_only: None) -> Iterator[BaseDatabaseWrapper]:
    """A connection that holds the one intent, which is closed."""
    ask(account)
    answer(record(take()))
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(f"SELECT 1 FROM {ResetIntent._meta.db_table} FOR NO KEY UPDATE")
        yield other
    finally:
        other.close()


@pytest.mark.django_db(transaction=True)
def test_an_intent_that_somebody_holds_is_written_down_the_next_time(held: BaseDatabaseWrapper) -> None:
    traces.export_closed()
    assert ResetIntent.objects.get().traced_at is None
    held.close()
    traces.export_closed()
    assert ResetIntent.objects.get().traced_at is not None


@pytest.mark.django_db(transaction=True)
def test_a_batch_that_somebody_holds_is_exported_once_in_a_run(
    held: BaseDatabaseWrapper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "BATCH", 1)
    assert traces.export_closed() == Exported(traces=1)


# Who runs it.


def test_the_control_worker_exports_and_says_that_it_did(account: Any) -> None:
    ask(account)
    answer(record(take()))
    tasks.export_traces()
    assert "submit email" in taken()
    assert JobRun.objects.filter(name=Job.EXPORT_TRACES).exists()


@pytest.mark.parametrize("exporter", ["", "tests.span_sink.Away"])
def test_a_run_that_could_not_export_is_no_success(account: Any, change: Settings, exporter: str) -> None:
    ask(account)
    answer(record(take()))
    change(TRACE_EXPORTER=exporter)
    tasks.export_traces()
    assert not JobRun.objects.exists()


def test_beat_asks_the_control_worker_to_export() -> None:
    entry = BEAT_SCHEDULE["resetdelivery export_traces"]
    assert (entry["task"], entry["options"]["queue"]) == ("resetdelivery.export_traces", "control")


def test_an_export_makes_no_spans_of_its_own_requests(account: Any) -> None:
    span_sink.Sink.silenced = False
    ask(account)
    answer(record(take()))
    traces.export_closed()
    assert span_sink.Sink.silenced


def test_the_poller_exports(account: Any, email: ScriptedTransport) -> None:
    ask(account)
    poller = Poller()
    poller.run_once()
    poller.run_once()
    assert "submit email" in taken()


def test_nothing_that_is_known_of_a_person_is_in_a_span(
    make_account: Callable[..., Any], use_transport: Any
) -> None:
    taken_as = Outcome(kind=OutcomeKind.ACCEPTED, provider_reference="marked-provider-reference")
    sent = use_transport(Channel.EMAIL, ScriptedTransport(outcomes=[BUSY, taken_as]))
    account = make_account(pk=987654321)
    intent = ask(account, idempotency_key="marked-key")
    deliver(Channel.EMAIL)
    age(30)
    deliver(Channel.EMAIL)
    traces.export_closed()
    whole = "\n".join(span.to_json() for span in span_sink.TAKEN)
    attempt = Attempt.objects.get(provider_reference="marked-provider-reference")
    known = [
        account.email,
        account.phone,
        "987654321",
        intent.account_digest,
        "marked",
        sent.messages[0].text,
    ]
    named = [attempt.worker, attempt.transport, str(attempt.reference), str(attempt.delivery.reference)]
    assert [one for one in (*known, *named) if one in whole] == []
    assert intent.reference.hex in whole
