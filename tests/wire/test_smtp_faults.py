"""Email on a real socket when things go wrong: each phase has its own outcome."""

from __future__ import annotations

import threading
import time

import pytest

from notifications.deadline import Deadline
from notifications.email.smtp import SmtpTransport
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.testing.provider import Behaviour, FakeProvider, Fault
from tests.wire.samples import an_email, soon


def fault(behaviour: Behaviour, **values: object) -> Fault:
    return Fault(channel="email", behaviour=behaviour, **values)  # type: ignore[arg-type]  # a test's own script


@pytest.mark.parametrize(
    ("phase", "code", "text", "kind", "reason"),
    [
        ("connect", 554, "5.7.1 blocked", OutcomeKind.MISCONFIGURED, Reason.POLICY_REFUSED),
        ("connect", 421, "4.3.2 busy", OutcomeKind.TRANSIENT, Reason.PROVIDER_BUSY),
        ("mail", 421, "4.3.2 busy", OutcomeKind.TRANSIENT, Reason.PROVIDER_BUSY),
        ("mail", 550, "5.7.1 not you", OutcomeKind.MISCONFIGURED, Reason.SENDER_REFUSED),
        ("rcpt", 450, "4.7.1 greylisted", OutcomeKind.TRANSIENT, Reason.GREYLISTED),
        ("rcpt", 550, "5.1.1 no such user", OutcomeKind.PERMANENT, Reason.RECIPIENT_REFUSED),
        ("rcpt", 552, "5.2.2 full", OutcomeKind.TRANSIENT, Reason.MAILBOX_FULL),
        ("data", 451, "4.3.0 later", OutcomeKind.TRANSIENT, Reason.PROVIDER_ERROR),
        ("dot", 452, "4.3.1 disk", OutcomeKind.TRANSIENT, Reason.PROVIDER_BUSY),
        ("dot", 454, "Throttling failure", OutcomeKind.THROTTLED, Reason.RATE_LIMITED),
        ("dot", 554, "5.6.0 spam", OutcomeKind.PERMANENT, Reason.CONTENT_REFUSED),
    ],
)
def test_a_refusal_means_what_its_phase_says(
    provider: FakeProvider,
    smtp: SmtpTransport,
    phase: str,
    code: int,
    text: str,
    kind: OutcomeKind,
    reason: Reason,
) -> None:
    provider.faults.add(fault(Behaviour.REPLY, phase=phase, code=code, text=text))
    assert smtp.submit(an_email(), soon()) == Outcome(kind=kind, reason=reason)
    assert provider.store.count() == 0


@pytest.mark.parametrize("phase", ["connect", "ehlo", "mail", "rcpt", "data"])
def test_a_cut_before_the_dot_is_certainly_not_sent(
    provider: FakeProvider, smtp: SmtpTransport, phase: str
) -> None:
    provider.faults.add(fault(Behaviour.DROP, phase=phase))
    assert smtp.submit(an_email(), soon()) == Outcome(
        kind=OutcomeKind.TRANSIENT, reason=Reason.DISCONNECTED_BEFORE_SUBMIT
    )


@pytest.mark.parametrize("taken", [True, False])
def test_a_cut_after_the_dot_is_ambiguous_whether_it_was_taken_or_not(
    provider: FakeProvider, smtp: SmtpTransport, taken: bool
) -> None:
    provider.faults.add(fault(Behaviour.DROP, record=taken))
    outcome = smtp.submit(an_email(), soon())
    assert outcome == Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.DISCONNECTED_AFTER_SUBMIT)
    assert provider.store.count() == int(taken)


def test_nonsense_after_the_dot_is_ambiguous(provider: FakeProvider, smtp: SmtpTransport) -> None:
    provider.faults.add(fault(Behaviour.GARBAGE))
    assert smtp.submit(an_email(), soon()) == Outcome(
        kind=OutcomeKind.AMBIGUOUS, reason=Reason.UNREADABLE_REPLY
    )


def test_nonsense_as_a_greeting_is_certainly_not_sent(provider: FakeProvider, smtp: SmtpTransport) -> None:
    provider.faults.add(fault(Behaviour.GARBAGE, phase="connect"))
    assert smtp.submit(an_email(), soon()) == Outcome(
        kind=OutcomeKind.TRANSIENT, reason=Reason.UNREADABLE_REPLY
    )


@pytest.mark.parametrize("phase", ["connect", "ehlo", "mail", "rcpt", "data"])
@pytest.mark.parametrize("behaviour", [Behaviour.HANG, Behaviour.DRIP])
def test_a_slow_provider_before_the_dot_cannot_outlast_the_deadline(
    provider: FakeProvider, smtp: SmtpTransport, phase: str, behaviour: Behaviour
) -> None:
    provider.faults.add(fault(behaviour, phase=phase, seconds=0.05))
    started = time.monotonic()
    outcome = smtp.submit(an_email(), Deadline.after(0.3))
    assert outcome == Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.TIMEOUT_BEFORE_SUBMIT)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("behaviour", [Behaviour.HANG, Behaviour.DRIP, Behaviour.HOLD])
def test_a_slow_provider_after_the_dot_is_ambiguous(
    provider: FakeProvider, smtp: SmtpTransport, behaviour: Behaviour
) -> None:
    provider.faults.add(fault(behaviour, seconds=0.05))
    started = time.monotonic()
    outcome = smtp.submit(an_email(), Deadline.after(0.4))
    assert outcome == Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.TIMEOUT_AFTER_SUBMIT)
    assert time.monotonic() - started < 5


def test_nothing_is_said_after_the_deadline(provider: FakeProvider, smtp: SmtpTransport) -> None:
    outcome = smtp.submit(an_email(), Deadline.after(-1))
    assert outcome == Outcome(kind=OutcomeKind.LATE, reason=Reason.DEADLINE_PASSED)
    assert provider.smtp.connections == 0


@pytest.mark.parametrize("phase", ["mail", "data"])
def test_a_worker_that_wakes_after_the_deadline_does_not_send(
    provider: FakeProvider, smtp: SmtpTransport, phase: str
) -> None:
    """The clock jumps while the provider holds its reply, as it does when a machine slept."""
    now = [0.0]
    outcomes: list[Outcome] = []
    provider.faults.add(fault(Behaviour.HOLD, phase=phase))
    deadline = Deadline(10.0, lambda: now[0])
    sender = threading.Thread(target=lambda: outcomes.append(smtp.submit(an_email(), deadline)))
    sender.start()
    assert provider.faults.wait_until_someone_waits()
    now[0] = 11.0
    provider.faults.release()
    sender.join(timeout=10)
    # Late if it was about to speak, timed out if it was about to listen.
    assert outcomes[0].kind in (OutcomeKind.LATE, OutcomeKind.TRANSIENT)
    assert provider.store.count() == 0


@pytest.mark.parametrize("before_the_end", [4.5, 3.5, 2.5])
def test_a_deadline_that_passes_while_the_message_goes_out_stops_the_dot(
    provider: FakeProvider, smtp: SmtpTransport, before_the_end: float
) -> None:
    """Each reading of the clock is a second later: time ends between the message and its dot."""
    readings = iter(range(1000))
    smtp.submit(an_email(), soon())
    needed = _readings_until_accepted(smtp)
    deadline = Deadline(needed - before_the_end, lambda: float(next(readings)))
    outcome = smtp.submit(an_email(), deadline)
    assert outcome == Outcome(kind=OutcomeKind.LATE, reason=Reason.DEADLINE_PASSED)
    assert provider.store.count() == 2


def _readings_until_accepted(smtp: SmtpTransport) -> int:
    readings = iter(range(1000))
    outcome = smtp.submit(an_email(), Deadline(900.0, lambda: float(next(readings))))
    assert outcome.kind is OutcomeKind.ACCEPTED
    return next(readings)


def test_a_kept_connection_that_was_closed_is_replaced(provider: FakeProvider, smtp: SmtpTransport) -> None:
    smtp.submit(an_email(), soon())
    provider.faults.add(fault(Behaviour.DROP, phase="mail"))
    assert smtp.submit(an_email(), soon()).kind is OutcomeKind.ACCEPTED
    assert provider.smtp.connections == 2


def test_a_kept_connection_that_says_421_is_replaced(provider: FakeProvider, smtp: SmtpTransport) -> None:
    smtp.submit(an_email(), soon())
    provider.faults.add(fault(Behaviour.REPLY, phase="mail", code=421, text="4.4.2 idle too long"))
    assert smtp.submit(an_email(), soon()).kind is OutcomeKind.ACCEPTED


def test_a_kept_connection_is_replaced_once_only(provider: FakeProvider, smtp: SmtpTransport) -> None:
    smtp.submit(an_email(), soon())
    provider.faults.add(fault(Behaviour.DROP, phase="mail", count=0))
    assert smtp.submit(an_email(), soon()).kind is OutcomeKind.TRANSIENT
    assert provider.smtp.connections == 2


def test_a_kept_connection_that_refuses_to_start_anew_is_replaced(
    provider: FakeProvider, smtp: SmtpTransport
) -> None:
    provider.faults.add(fault(Behaviour.REPLY, phase="rcpt", code=550, text="5.1.1 no"))
    smtp.submit(an_email(), soon())
    provider.faults.add(fault(Behaviour.REPLY, phase="rset", code=503, text="5.5.1 no"))
    assert smtp.submit(an_email(), soon()).kind is OutcomeKind.ACCEPTED
    assert provider.smtp.connections == 2


@pytest.mark.parametrize(
    ("phase", "kind"),
    [("rcpt", OutcomeKind.TRANSIENT), ("data", OutcomeKind.TRANSIENT), ("dot", OutcomeKind.AMBIGUOUS)],
)
def test_a_failure_after_mail_on_a_kept_connection_is_not_repeated(
    provider: FakeProvider, smtp: SmtpTransport, phase: str, kind: OutcomeKind
) -> None:
    smtp.submit(an_email(), soon())
    provider.faults.add(fault(Behaviour.DROP, phase=phase))
    assert smtp.submit(an_email(), soon()).kind is kind
    assert provider.smtp.connections == 1
