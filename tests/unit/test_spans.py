"""Spans made from what is stored: names, times, parents, and which traces are kept."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import replace
from typing import Any

import pytest

from resetdelivery.domain.spans import Span, SpanField, SpanKind, SpanRef, admission_ref, spans_of
from resetdelivery.domain.trace_sampling import KeptFor, Sampled, sampled
from resetdelivery.domain.traced import TracedAttempt, TracedDelivery, TracedIntent

START = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
REFERENCE = uuid.UUID("5d3f2a10-8c4b-4e6a-9f00-00ff00ff00ff")
ALL = Sampled(reasons=(KeptFor.SAMPLED,), probability=1.0, trace_state="th:0")


def at(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def attempt(number: int = 1, *, started: float = 2.0, **fields: Any) -> TracedAttempt:
    """Due for a second, claimed half a second before it started, answered a second after that."""
    told: dict[str, Any] = {
        "number": number,
        "outcome": "accepted",
        "reason": "ok",
        "claimed_at": at(started - 0.5),
        "started_at": at(started),
        "finished_at": at(started + 1),
        "queue_delay_seconds": 1.0,
        "remaining_seconds": 598.0004,
        "duration_seconds": 0.75,
        **fields,
    }
    return TracedAttempt(**told)


def delivery(*attempts: TracedAttempt, **fields: Any) -> TracedDelivery:
    """Accepted by the last of ``attempts``."""
    told: dict[str, Any] = {
        "channel": "email",
        "authority": "pipeline",
        "state": "accepted",
        "reason": "ok",
        "claims": len(attempts),
        "attempts_counted": len(attempts),
        "due_at": attempts[-1].due_at if attempts else at(1),
        "finished_at": at(9),
        "attempts": attempts,
        **fields,
    }
    return TracedDelivery(**told)


def intent(*deliveries: TracedDelivery, **fields: Any) -> TracedIntent:
    told: dict[str, Any] = {
        "reference": REFERENCE,
        "traceparent": admission_ref(REFERENCE).traceparent(),
        "kind": "reset",
        "strategy": "all",
        "template_version": "1",
        "created_at": at(1),
        "admission_seconds": 0.25,
        "deliveries": deliveries or (delivery(attempt()),),
        **fields,
    }
    return TracedIntent(**told)


def spans(of: TracedIntent, kept: Sampled = ALL) -> dict[tuple[str, int], Span]:
    """By name and attempt; the second key is 0 where no attempt is told."""
    made = spans_of(of, kept)
    found = {(one.name, int(str(one.attributes.get(SpanField.ATTEMPT, 0)))): one for one in made}
    assert len(found) == len(made)
    return found


def times(span: Span) -> tuple[float, float]:
    return (span.started_at - START).total_seconds(), (span.ended_at - START).total_seconds()


def test_a_reset_sent_at_once_has_four_spans() -> None:
    found = spans(intent())
    assert {name: (times(span), span.kind) for (name, _), span in found.items()} == {
        "admit reset": ((0.75, 1.0), SpanKind.PRODUCER),
        "wait email": ((1.0, 1.5), SpanKind.INTERNAL),
        "process email": ((1.5, 3.0), SpanKind.CONSUMER),
        "submit email": ((2.0, 2.75), SpanKind.CLIENT),
    }


def test_a_submission_stands_under_its_process_and_all_else_under_the_admission() -> None:
    found = spans(intent())
    admit = found["admit reset", 0]
    process = found["process email", 1]
    assert admit.parent_id == ""
    assert found["wait email", 1].parent_id == process.parent_id == admit.ref.span_id
    assert found["submit email", 1].parent_id == process.ref.span_id


def test_the_admission_stands_under_the_span_of_its_caller() -> None:
    caller = SpanRef(trace_id="0af7651916cd43dd8448eb211c80319c", span_id="b7ad6b7169203331")
    ref = admission_ref(REFERENCE, trace_id=caller.trace_id)
    joined = intent(traceparent=ref.traceparent(), trace_parent_span=caller.span_id)
    found = spans(joined)
    assert found["admit reset", 0].parent_id == caller.span_id
    assert {span.ref.trace_id for span in found.values()} == {caller.trace_id}


def test_all_spans_of_a_retried_reset_are_in_one_trace() -> None:
    busy = attempt(1, outcome="transient", reason="provider_busy")
    found = spans(intent(delivery(busy, attempt(2, started=7), due_at=at(6)), delivery(channel="sms")))
    assert set(found) == {
        ("admit reset", 0),
        *((f"{step} email", number) for step in ("wait", "process", "submit") for number in (1, 2)),
        ("wait sms", 0),
    }
    assert {span.ref.trace_id for span in found.values()} == {REFERENCE.hex}
    assert len({span.ref.span_id for span in found.values()}) == len(found)


def test_the_same_rows_give_the_same_spans() -> None:
    assert spans_of(intent(), ALL) == spans_of(intent(), ALL)


def test_two_intents_in_one_trace_share_no_span() -> None:
    other = intent(reference=uuid.UUID(int=7))
    assert not {one.ref.span_id for one in spans_of(intent(), ALL)} & {
        one.ref.span_id for one in spans_of(other, ALL)
    } - {spans(intent())["admit reset", 0].ref.span_id}


@pytest.mark.parametrize(
    ("ended", "started_ended"),
    [
        # Cancelled, expired or refused by the gate before any attempt.
        (delivery(state="cancelled", reason="superseded", finished_at=at(5)), (1.0, 5.0)),
        # Due again after an attempt, and ended while it waited.
        (
            delivery(
                attempt(outcome="transient"),
                state="expired",
                reason="no_useful_time_left",
                due_at=at(4),
                finished_at=at(8),
            ),
            (4.0, 8.0),
        ),
        # Cancelled before it was due again.
        (
            delivery(attempt(outcome="transient"), state="cancelled", due_at=at(30), finished_at=at(8)),
            (8.0, 8.0),
        ),
    ],
)
def test_what_ended_without_an_attempt_is_told_by_a_wait(
    ended: TracedDelivery, started_ended: tuple[float, float]
) -> None:
    last = spans(intent(ended))["wait email", 0]
    assert times(last) == started_ended
    assert last.attributes[SpanField.STATE] == ended.state


def test_the_last_span_of_a_channel_tells_how_it_ended() -> None:
    refused = delivery(
        attempt(outcome="permanent", reason="recipient_refused"), state="failed", reason="recipient_refused"
    )
    told = spans(intent(refused))["process email", 1]
    assert told.is_error
    assert {
        key: told.attributes[key] for key in (SpanField.STATE, SpanField.REASON, SpanField.AUTHORITY)
    } == {
        SpanField.STATE: "failed",
        SpanField.REASON: "recipient_refused",
        SpanField.AUTHORITY: "pipeline",
    }


def test_an_earlier_attempt_does_not_tell_how_the_channel_ended() -> None:
    found = spans(intent(delivery(attempt(1, outcome="transient"), attempt(2, started=7))))
    assert SpanField.STATE not in found["process email", 1].attributes
    assert found["process email", 2].attributes[SpanField.STATE] == "accepted"


@pytest.mark.parametrize(
    ("fields", "error_type"),
    [
        ({}, None),
        ({"outcome": "transient", "reason": "provider_busy"}, "transient"),
        ({"outcome": "ambiguous", "reason": "lost", "duration_seconds": None}, "ambiguous"),
    ],
)
def test_a_submission_that_was_not_accepted_is_an_error_of_its_outcome(
    fields: dict[str, Any], error_type: str | None
) -> None:
    submit = spans(intent(delivery(attempt(**fields))))["submit email", 1]
    assert submit.attributes.get(SpanField.ERROR_TYPE) == error_type
    assert submit.is_error is (error_type is not None)


def test_a_lost_submission_lasts_until_the_sweep_found_it() -> None:
    lost = attempt(outcome="ambiguous", reason="lost", duration_seconds=None, finished_at=at(40))
    assert times(spans(intent(delivery(lost)))["submit email", 1]) == (2.0, 40.0)


def test_a_receipt_that_says_failed_is_a_span_of_its_own() -> None:
    told = attempt(receipt="failed", receipt_reason="unreachable", receipt_at=at(60))
    receipt = next(
        one for one in spans_of(intent(delivery(told, state="failed")), ALL) if "receipt" in one.name
    )
    assert (times(receipt), receipt.is_error) == ((2.75, 60.0), True)


def test_a_receipt_that_says_delivered_is_none() -> None:
    told = attempt(receipt="delivered", receipt_reason="ok", receipt_at=at(60))
    made = spans_of(intent(delivery(told, state="delivered")), ALL)
    assert [one.name for one in made if "receipt" in one.name] == []


def test_no_span_ends_before_it_begins_though_two_clocks_tell_its_times() -> None:
    ahead = attempt(claimed_at=at(2.001), finished_at=at(1.9), queue_delay_seconds=-0.1, duration_seconds=0.0)
    told = attempt(2, started=7, receipt="failed", receipt_at=at(7.5))
    made = spans_of(intent(delivery(ahead, told)), ALL)
    assert [one.name for one in made if one.ended_at < one.started_at] == []


def test_an_attempt_of_an_older_worker_has_no_time_of_claim() -> None:
    found = spans(intent(delivery(attempt(claimed_at=None))))
    assert times(found["wait email", 1])[1] == times(found["process email", 1])[0] == 2.0


@pytest.mark.parametrize("traceparent", ["", "00-0-0-01", f"ff-{'1' * 32}-{'2' * 16}-01"])
def test_what_names_no_trace_has_no_spans(traceparent: str) -> None:
    assert spans_of(intent(traceparent=traceparent), ALL) == ()


def test_no_span_says_more_than_the_allow_list() -> None:
    long = delivery(attempt(outcome="late", late_outcome="accepted"), segments_bucket="2", suppressed="x")
    made = spans_of(intent(long, cancel_reason="account_limit"), ALL)
    assert {type(name) for one in made for name in one.attributes} == {SpanField}


EVERY_REASON: list[tuple[TracedIntent, set[str]]] = [
    (intent(delivery(attempt(outcome="permanent"), state="failed")), {"not_sent"}),
    (intent(delivery(state="expired", reason="no_useful_time_left")), {"not_sent"}),
    (intent(delivery(state="cancelled", reason="superseded")), {"not_sent"}),
    (intent(delivery(state="cancelled", reason="unknown_account")), {"not_sent"}),
    (intent(delivery(state="cancelled", reason="account_changed")), {"not_sent", "account_changed"}),
    (intent(delivery(state="cancelled", reason="account_inactive")), {"not_sent", "account_changed"}),
    (intent(delivery(state="cancelled", reason="account_limit")), {"not_sent", "suppressed"}),
    (intent(delivery(state="cancelled", reason="sms_budget_spent")), {"not_sent", "suppressed"}),
    (intent(delivery(attempt(), suppressed="destination_limit")), {"suppressed"}),
    (intent(delivery(attempt(1, outcome="throttled"), attempt(2, started=7))), {"retried"}),
    (intent(delivery(attempt(), claims=2)), {"recovered"}),
    (intent(delivery(state="cancelled", reason="superseded", claims=2)), {"not_sent", "recovered"}),
    (
        intent(delivery(attempt(1, outcome="ambiguous", reason="lost"), attempt(2, started=7))),
        {"retried", "recovered", "ambiguous"},
    ),
    (intent(delivery(attempt(1, outcome="late"), attempt(2, started=7))), {"retried", "late"}),
    (intent(delivery(attempt(late_outcome="accepted"))), {"late"}),
    (intent(delivery(attempt(outcome="ambiguous"), state="delivered")), {"ambiguous"}),
    # One channel of two is enough.
    (intent(delivery(attempt()), delivery(state="failed", channel="sms")), {"not_sent"}),
]


@pytest.mark.parametrize(("told", "reasons"), EVERY_REASON)
def test_what_is_rare_bad_or_a_matter_of_security_is_always_kept(
    told: TracedIntent, reasons: set[str]
) -> None:
    kept = sampled(told, REFERENCE.hex, successes_per_mille=1)
    assert kept is not None
    assert {reason.value for reason in kept.reasons} == reasons
    assert (kept.probability, kept.trace_state) == (1.0, "th:0")


@pytest.mark.parametrize(
    "told",
    [
        intent(),
        intent(delivery(attempt(), state="delivered")),
        intent(delivery(state="withheld", claims=1), delivery(state="shadowed", claims=1, channel="sms")),
        # The channel that was never needed, and one that the gate ended with its only claim.
        intent(delivery(attempt()), delivery(state="cancelled", reason="not_needed", channel="sms")),
        # By a receipt, as it was leased once more.
        intent(delivery(attempt(), state="delivered", claims=2, due_at=at(5))),
    ],
)
def test_what_went_as_it_should_is_sampled(told: TracedIntent) -> None:
    zeros = replace(told, reference=uuid.UUID(int=0))
    ones = replace(told, reference=uuid.UUID(int=2**128 - 1))
    assert sampled(zeros, REFERENCE.hex, successes_per_mille=999) is None
    kept = sampled(ones, REFERENCE.hex, successes_per_mille=1)
    assert kept is not None
    assert kept.reasons == (KeptFor.SAMPLED,)


@pytest.mark.parametrize("per_mille", [1, 50, 500, 1000])
def test_the_share_that_is_kept_is_the_one_that_is_set(per_mille: int) -> None:
    references = [uuid.uuid5(uuid.NAMESPACE_OID, str(number)) for number in range(20_000)]
    kept = [
        sampled(intent(reference=reference), reference.hex, successes_per_mille=per_mille)
        for reference in references
    ]
    expected = 20 * per_mille
    # Four standard deviations of a binomial distribution, at the most.
    assert abs(len([one for one in kept if one]) - expected) <= 4 * (expected * (1 - per_mille / 1000)) ** 0.5
    assert {round(one.probability, 9) for one in kept if one} == {per_mille / 1000}


@pytest.mark.parametrize(
    ("per_mille", "trace_state"), [(1000, "th:0"), (500, "th:8"), (50, "th:f3333333333334")]
)
def test_the_threshold_is_told_in_the_form_of_opentelemetry(per_mille: int, trace_state: str) -> None:
    reference = uuid.UUID(int=2**128 - 1)
    kept = sampled(intent(reference=reference), reference.hex, successes_per_mille=per_mille)
    assert kept is not None
    assert kept.trace_state == trace_state


def test_in_a_trace_of_somebody_else_the_random_bits_are_told_too() -> None:
    reference = uuid.UUID(int=2**128 - 1)
    kept = sampled(intent(reference=reference), "0af7651916cd43dd8448eb211c80319c", successes_per_mille=500)
    assert kept is not None
    assert kept.trace_state == "th:8;rv:ffffffffffffff"


def test_the_probability_stands_on_the_admission() -> None:
    told = spans(intent(), Sampled(reasons=(KeptFor.SAMPLED,), probability=0.05, trace_state="th:f"))
    assert told["admit reset", 0].attributes[SpanField.PROBABILITY] == 0.05
    assert {span.trace_state for span in told.values()} == {"th:f"}
