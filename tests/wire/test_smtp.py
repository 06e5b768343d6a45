"""Email on a real socket: what goes over it, and what is kept private."""

from __future__ import annotations

import email
import email.policy
import logging
import threading

import pytest

from notifications.email.smtp import SmtpTransport
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.testing.provider import Behaviour, FakeProvider, Fault
from tests.wire.conftest import MakeSmtp
from tests.wire.samples import ADDRESS, LINK, MESSAGE_ID, an_email, an_sms, soon


def fault(behaviour: Behaviour, **values: object) -> Fault:
    return Fault(channel="email", behaviour=behaviour, **values)  # type: ignore[arg-type]  # a test's own script


def test_an_accepted_email_is_reported_with_its_message_id(smtp: SmtpTransport) -> None:
    outcome = smtp.submit(an_email(), soon())
    assert outcome == Outcome(kind=OutcomeKind.ACCEPTED, provider_reference=MESSAGE_ID)


def test_the_envelope_holds_bare_addresses_byte_for_byte(provider: FakeProvider, smtp: SmtpTransport) -> None:
    smtp.submit(an_email(to="o'neil+reset@example.com"), soon())
    commands = [line for line in provider.smtp.commands if line[:4] in (b"MAIL", b"RCPT")]
    assert commands[0].startswith(b"MAIL FROM:<shop@example.org> SIZE=")
    assert commands[1] == b"RCPT TO:<o'neil+reset@example.com>\r\n"


def test_a_retry_carries_the_same_bytes(provider: FakeProvider, smtp: SmtpTransport) -> None:
    for _ in range(2):
        smtp.submit(an_email(), soon())
    first, second = provider.store.list("email")
    assert first.body == second.body


def test_the_declared_size_is_that_of_the_stored_message(provider: FakeProvider, smtp: SmtpTransport) -> None:
    smtp.submit(an_email(), soon())
    mail = next(line for line in provider.smtp.commands if line.startswith(b"MAIL"))
    assert int(mail.rpartition(b"=")[2]) == len(provider.store.list()[0].body)


@pytest.mark.parametrize(
    "text", [".\n", "..\n", ".leading\n", "middle\n.\nend\n", "\n\n.", "no newline at the end"]
)
def test_dots_and_line_ends_survive(provider: FakeProvider, smtp: SmtpTransport, text: str) -> None:
    smtp.submit(an_email(text=text), soon())
    stored = email.message_from_bytes(provider.store.list()[0].body, policy=email.policy.default)
    part = stored.get_body(("plain",))
    assert part is not None
    assert part.get_content().replace("\r\n", "\n") == text


def test_connections_are_used_again(provider: FakeProvider, smtp: SmtpTransport) -> None:
    for _ in range(3):
        smtp.submit(an_email(), soon())
    assert provider.smtp.connections == 1


def test_a_connection_is_left_after_its_share_of_messages(
    provider: FakeProvider, make_smtp: MakeSmtp
) -> None:
    transport = make_smtp(provider.smtp_port, max_messages=2)
    for _ in range(3):
        transport.submit(an_email(), soon())
    assert provider.smtp.connections == 2


def test_several_threads_submit_at_once(provider: FakeProvider, smtp: SmtpTransport) -> None:
    outcomes: list[Outcome] = []
    senders = [
        threading.Thread(target=lambda: outcomes.append(smtp.submit(an_email(), soon()))) for _ in range(8)
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(timeout=10)
    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.ACCEPTED] * 8
    assert provider.store.count("email") == 8


def test_closing_says_goodbye_and_allows_another_start(provider: FakeProvider, smtp: SmtpTransport) -> None:
    smtp.submit(an_email(), soon())
    smtp.close()
    assert provider.smtp.commands[-1] == b"QUIT\r\n"
    assert smtp.submit(an_email(), soon()).kind is OutcomeKind.ACCEPTED


def test_a_refused_recipient_leaves_the_connection_usable(
    provider: FakeProvider, smtp: SmtpTransport
) -> None:
    provider.faults.add(fault(Behaviour.REPLY, phase="rcpt", code=550, text="5.1.1 no"))
    smtp.submit(an_email(), soon())
    assert smtp.submit(an_email(), soon()).kind is OutcomeKind.ACCEPTED
    assert provider.smtp.connections == 1
    assert provider.smtp.commands[-4:-2] == [b"RSET\r\n", provider.smtp.commands[-3]]


@pytest.mark.parametrize("phase", ["rcpt", "dot"])
def test_no_reply_text_reaches_the_outcome_or_the_log(
    provider: FakeProvider, smtp: SmtpTransport, caplog: pytest.LogCaptureFixture, phase: str
) -> None:
    caplog.set_level(logging.DEBUG)
    provider.faults.add(fault(Behaviour.REPLY, phase=phase, code=550, text=f"5.1.1 <{ADDRESS}> {LINK}"))
    outcome = smtp.submit(an_email(), soon())
    assert outcome.reason is Reason.RECIPIENT_REFUSED
    for text in (repr(outcome), caplog.text):
        assert ADDRESS not in text
        assert LINK not in text


def test_personal_values_are_kept_out_of_every_repr() -> None:
    text = repr(an_email()) + repr(an_sms())
    assert not [value for value in (ADDRESS, LINK, an_sms().to) if value in text]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"to": "a@example.com\r\nRCPT TO:<b@example.com>"}, Reason.INVALID_DESTINATION),
        ({"subject": "Reset\r\nBcc: b@example.com"}, Reason.INVALID_MESSAGE),
    ],
)
def test_an_injection_is_refused_before_anything_is_said(
    provider: FakeProvider, smtp: SmtpTransport, changes: dict[str, str], reason: Reason
) -> None:
    outcome = smtp.submit(an_email(**changes), soon())
    assert outcome == Outcome(kind=OutcomeKind.PERMANENT, reason=reason)
    assert provider.smtp.commands == []


def test_an_sms_is_a_callers_mistake(smtp: SmtpTransport) -> None:
    with pytest.raises(TypeError, match="EmailMessage"):
        smtp.submit(an_sms(), soon())
