"""One line per attempt, with what its fields say."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from notifications.channels import Channel
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.testing import ScriptedTransport
from resetdelivery.claims import Settled
from resetdelivery.delivery import deliver
from resetdelivery.logs import NotInSchema
from resetdelivery.models import Attempt, ResetIntent
from resetdelivery.services import request_reset
from resetdelivery.telemetry import attempt_log
from tests.conftest import UseTransport, age
from tests.integration import external_steps

pytestmark = pytest.mark.django_db

Lines = Callable[[], list[dict[str, Any]]]
ALWAYS = [
    "event",
    "intent",
    "channel",
    "transport",
    "attempt",
    "outcome",
    "queue_delay_seconds",
    "remaining_seconds",
    "duration_seconds",
    "template_version",
]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Lines:
    caplog.set_level(logging.INFO)

    def read() -> list[dict[str, Any]]:
        # structlog hands a line on as it is, for the formatter.
        found: list[Any] = [r.msg for r in caplog.records if r.name == "resetdelivery.attempt"]
        return [{k: v for k, v in line.items() if k not in {"level", "timestamp"}} for line in found]

    return read


def send(account: Any, channel: Channel = Channel.EMAIL) -> None:
    request_reset(account_ref=str(account.pk), channels=[channel])
    deliver(channel)


def test_an_accepted_attempt_says_no_more_than_that(
    account: Any, email: ScriptedTransport, lines: Lines
) -> None:
    send(account)
    (line,) = lines()
    assert list(line) == ALWAYS
    assert (line["channel"], line["attempt"], line["outcome"]) == ("email", 1, "accepted")
    assert line["intent"] == str(ResetIntent.objects.get().reference)
    assert line["template_version"] == ResetIntent.objects.get().template_version


def test_its_numbers_are_those_of_its_row_rounded(
    account: Any, email: ScriptedTransport, lines: Lines
) -> None:
    send(account)
    (line,) = lines()
    row = Attempt.objects.get()
    assert line["transport"] == row.transport
    assert line["queue_delay_seconds"] == round(row.queue_delay_seconds or 0, 2)
    assert line["remaining_seconds"] == round(row.remaining_seconds or 0, 1)
    assert line["duration_seconds"] == round(row.duration_seconds or 0, 3)


@pytest.mark.parametrize(
    ("kind", "reason", "more"),
    [
        (OutcomeKind.TRANSIENT, Reason.PROVIDER_BUSY, {"reason": "provider_busy", "next_state": "pending"}),
        (
            OutcomeKind.PERMANENT,
            Reason.RECIPIENT_REFUSED,
            {"reason": "recipient_refused", "next_state": "failed"},
        ),
        (
            OutcomeKind.AMBIGUOUS,
            Reason.TIMEOUT_AFTER_SUBMIT,
            {"reason": "timeout_after_submit", "next_state": "pending"},
        ),
    ],
)
def test_any_other_attempt_says_why_and_what_follows(
    account: Any, use_transport: UseTransport, lines: Lines, kind: OutcomeKind, reason: Reason, more: Any
) -> None:
    use_transport(Channel.EMAIL, ScriptedTransport(outcomes=[Outcome(kind=kind, reason=reason)]))
    send(account)
    (line,) = lines()
    assert {name: line[name] for name in line if name not in ALWAYS} == more
    assert line["outcome"] == kind


def test_each_attempt_has_a_line_with_its_number(
    account: Any, use_transport: UseTransport, lines: Lines
) -> None:
    busy = Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.PROVIDER_BUSY, retry_after_seconds=0)
    use_transport(Channel.EMAIL, ScriptedTransport(outcomes=[busy]))
    send(account)
    age(2)
    deliver(Channel.EMAIL)
    assert [(line["attempt"], line["outcome"]) for line in lines()] == [(1, "transient"), (2, "accepted")]


def test_a_text_message_says_how_long_it_was(account: Any, sms: ScriptedTransport, lines: Lines) -> None:
    send(account, Channel.SMS)
    (line,) = lines()
    assert list(line) == [*ALWAYS, "segments"]
    assert re.fullmatch(r"1|2|3|4-6|7\+", line["segments"])


def test_who_comes_too_late_to_settle_says_so(
    account: Any, email: ScriptedTransport, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled: list[Settled] = []
    monkeypatch.setattr("resetdelivery.delivery.attempt_log.write", settled.append)
    send(account)
    monkeypatch.undo()
    attempt_log.write(replace(settled[0], fenced_out=True))
    (line,) = lines()
    assert line["fenced_out"] is True


def test_an_attempt_of_a_worker_outside_has_the_same_line(account: Any, lines: Lines) -> None:
    external_steps.reset_for(account, "sms")
    external_steps.report(external_steps.marked("sms"))
    (line,) = lines()
    assert list(line) == [*ALWAYS, "segments"]
    assert line["transport"] == external_steps.MAILER


def test_an_attempt_that_the_test_run_itself_would_log_wrongly_fails_the_test(
    account: Any, email: ScriptedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled: list[Settled] = []
    monkeypatch.setattr("resetdelivery.delivery.attempt_log.write", settled.append)
    send(account)
    monkeypatch.undo()
    result = settled[0].result
    to_somebody = replace(result.marked, transport="anna@shop.example")
    with pytest.raises(NotInSchema, match="attempt with transport,"):
        attempt_log.write(replace(settled[0], result=replace(result, marked=to_somebody)))
