"""Provider × behaviour → outcome, for every transport, over a real socket."""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from notifications.deadline import Deadline
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.testing.provider import Behaviour, FakeProvider, Fault
from notifications.transport import Transport
from tests.wire.conftest import CA_FILE
from tests.wire.samples import ADDRESS, LINK, NUMBER, soon
from tests.wire.speakers import (
    ANYMAIL,
    AWS,
    HTTP,
    NAME,
    OVER_HTTP,
    SECRET,
    SMTP,
    SPEAKERS,
    TWILIO,
    VONAGE,
    Speaker,
)

Speak = Callable[..., Transport]

PRIVATE = (ADDRESS, NUMBER, NUMBER[1:], LINK, SECRET)
#: As Postmark words it, and as anymail looks for the address in it.
INACTIVE = f"Marked words. Found inactive addresses: {ADDRESS}. Inactive recipients are ones that bounced."
PROVIDER_TEXT = f"Marked words of the provider about {ADDRESS}, {NUMBER} and {LINK}"


@pytest.fixture
def speak() -> Iterator[Speak]:
    """Makes a speaker's transport for a provider; all are closed at the end."""
    made: list[Transport] = []

    def make(speaker: Speaker, provider: FakeProvider, **options: Any) -> Transport:
        made.append(speaker.make(provider, **options))
        return made[-1]

    yield make
    for transport in made:
        transport.close()


def script(provider: FakeProvider, speaker: Speaker, behaviour: Behaviour, **values: Any) -> None:
    values = {"phase": speaker.phase, "text": PROVIDER_TEXT, **values}
    provider.faults.add(Fault(channel=speaker.channel, behaviour=behaviour, **values))


@pytest.fixture
def ask(
    provider: FakeProvider, speak: Speak, caplog: pytest.LogCaptureFixture
) -> Callable[..., tuple[OutcomeKind, Reason, float | None]]:
    """Submits one message that meets one behaviour, and looks for what must not get out."""

    def submit(speaker: Speaker, behaviour: Behaviour, *, seconds_left: float = 10, **fault: Any) -> Any:
        caplog.set_level(logging.DEBUG)
        transport = speak(speaker, provider)
        script(provider, speaker, behaviour, **fault)
        started = time.monotonic()
        outcome = transport.submit(speaker.message(), Deadline.after(seconds_left))
        assert time.monotonic() - started < seconds_left + 5
        said = repr(outcome) + caplog.text
        assert [value for value in (*PRIVATE, "Marked words") if value in said] == []
        return outcome.kind, outcome.reason, outcome.retry_after_seconds

    return submit


AMBIGUOUS, TRANSIENT, PERMANENT = OutcomeKind.AMBIGUOUS, OutcomeKind.TRANSIENT, OutcomeKind.PERMANENT
MISCONFIGURED, THROTTLED = OutcomeKind.MISCONFIGURED, OutcomeKind.THROTTLED


@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.name)
def test_what_the_provider_takes_is_accepted_once(
    provider: FakeProvider, speak: Speak, speaker: Speaker
) -> None:
    outcome = speak(speaker, provider).submit(speaker.message(), soon())
    assert (outcome.kind, outcome.reason) == (OutcomeKind.ACCEPTED, Reason.OK)
    assert outcome.provider_reference
    assert provider.store.count() == provider.store.count(speaker.channel) == 1


class Slow(NamedTuple):
    """A behaviour after the message was read that outlasts the deadline."""

    behaviour: Behaviour
    seconds: float = 0.0


@pytest.mark.parametrize(
    "slow", [Slow(Behaviour.HANG), Slow(Behaviour.DRIP, 0.05), Slow(Behaviour.HOLD)], ids=str
)
@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.name)
def test_a_slow_answer_is_ambiguous_at_the_deadline(
    provider: FakeProvider, ask: Callable[..., object], speaker: Speaker, slow: Slow
) -> None:
    found = ask(speaker, slow.behaviour, seconds=slow.seconds, seconds_left=0.4)
    assert found == (AMBIGUOUS, Reason.TIMEOUT_AFTER_SUBMIT, None)
    assert provider.store.count() == 1


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "not recorded"])
@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.name)
def test_a_cut_after_the_body_is_ambiguous(
    provider: FakeProvider, ask: Callable[..., object], speaker: Speaker, recorded: bool
) -> None:
    found = ask(speaker, Behaviour.DROP, record=recorded)
    assert found == (AMBIGUOUS, Reason.DISCONNECTED_AFTER_SUBMIT, None)
    assert provider.store.count() == int(recorded)


@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.name)
def test_a_success_that_cannot_be_read_is_ambiguous(
    provider: FakeProvider, ask: Callable[..., object], speaker: Speaker
) -> None:
    assert ask(speaker, Behaviour.GARBAGE) == (AMBIGUOUS, Reason.UNREADABLE_REPLY, None)
    assert provider.store.count() == 1


@pytest.mark.parametrize("status", [500, 502, 503, 504])
@pytest.mark.parametrize("speaker", OVER_HTTP, ids=lambda speaker: speaker.name)
def test_a_server_error_after_the_body_is_ambiguous(
    provider: FakeProvider, ask: Callable[..., object], speaker: Speaker, status: int
) -> None:
    assert ask(speaker, Behaviour.ERROR, code=status) == (AMBIGUOUS, Reason.PROVIDER_ERROR, None)
    assert provider.store.count() == 1


@pytest.mark.parametrize(
    ("speaker", "delay"),
    [(SMTP, None), *((speaker, 7.0) for speaker in OVER_HTTP)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_too_fast_is_throttled_for_as_long_as_the_provider_says(
    provider: FakeProvider, ask: Callable[..., object], speaker: Speaker, delay: float | None
) -> None:
    assert ask(speaker, Behaviour.THROTTLE, seconds=7) == (THROTTLED, Reason.RATE_LIMITED, delay)
    assert provider.store.count() == 0


class Refusal(NamedTuple):
    """What a provider says, and what it means."""

    speaker: Speaker
    fault: dict[str, Any]
    kind: OutcomeKind
    reason: Reason

    def __str__(self) -> str:
        return f"{self.speaker.name}-{'-'.join(str(value) for value in self.fault.values())}"


REFUSALS = [
    Refusal(SMTP, {"code": 452, "text": "4.3.1 Marked words"}, TRANSIENT, Reason.PROVIDER_BUSY),
    Refusal(SMTP, {"code": 554, "text": "5.6.0 Marked words"}, PERMANENT, Reason.CONTENT_REFUSED),
    Refusal(SMTP, {"code": 550, "phase": "rcpt", "text": "5.1.1 x"}, PERMANENT, Reason.RECIPIENT_REFUSED),
    Refusal(SMTP, {"code": 550, "phase": "mail", "text": "5.7.1 x"}, MISCONFIGURED, Reason.SENDER_REFUSED),
    Refusal(ANYMAIL, {"code": 422, "error": 406, "text": INACTIVE}, PERMANENT, Reason.RECIPIENT_REFUSED),
    Refusal(ANYMAIL, {"code": 422, "error": 300}, PERMANENT, Reason.PROVIDER_ERROR),
    Refusal(ANYMAIL, {"code": 401, "error": 10}, MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    Refusal(ANYMAIL, {"code": 413}, PERMANENT, Reason.MESSAGE_TOO_LARGE),
    Refusal(ANYMAIL, {"code": 307}, MISCONFIGURED, Reason.PROVIDER_ERROR),
    Refusal(TWILIO, {"code": 400, "error": 21610}, PERMANENT, Reason.OPTED_OUT),
    Refusal(TWILIO, {"code": 400, "error": 21606}, MISCONFIGURED, Reason.SENDER_REFUSED),
    Refusal(TWILIO, {"code": 403}, MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    Refusal(VONAGE, {"error": 1}, THROTTLED, Reason.RATE_LIMITED),
    Refusal(VONAGE, {"error": 4}, MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    Refusal(VONAGE, {"error": 5}, AMBIGUOUS, Reason.PROVIDER_ERROR),
    Refusal(VONAGE, {"error": 6}, PERMANENT, Reason.UNROUTABLE),
    Refusal(VONAGE, {"error": 9}, MISCONFIGURED, Reason.ACCOUNT_SUSPENDED),
    Refusal(VONAGE, {"error": 15}, PERMANENT, Reason.SENDER_REFUSED),
    Refusal(VONAGE, {"code": 401}, MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    Refusal(AWS, {"name": "InternalServerException", "code": 400}, AMBIGUOUS, Reason.PROVIDER_ERROR),
    Refusal(
        AWS, {"name": "ConflictException/DESTINATION_PHONE_NUMBER_OPTED_OUT"}, PERMANENT, Reason.OPTED_OUT
    ),
    Refusal(
        AWS,
        {"name": "ConflictException/DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION"},
        PERMANENT,
        Reason.POLICY_REFUSED,
    ),
    Refusal(AWS, {"name": "ValidationException"}, PERMANENT, Reason.INVALID_MESSAGE),
    Refusal(AWS, {"name": "AccessDeniedException"}, MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    Refusal(AWS, {"name": "ServiceQuotaExceededException"}, MISCONFIGURED, Reason.ACCOUNT_SUSPENDED),
    Refusal(AWS, {"name": "ResourceNotFoundException"}, MISCONFIGURED, Reason.SENDER_REFUSED),
    Refusal(HTTP, {"code": 400, "name": "opted_out"}, PERMANENT, Reason.OPTED_OUT),
    Refusal(HTTP, {"code": 400, "name": "no word of the form"}, PERMANENT, Reason.PROVIDER_ERROR),
    Refusal(HTTP, {"code": 401}, MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    Refusal(HTTP, {"code": 403}, MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    Refusal(HTTP, {"code": 409}, AMBIGUOUS, Reason.PROVIDER_BUSY),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=str)
def test_a_refusal_means_what_the_provider_documents(
    provider: FakeProvider, ask: Callable[..., object], refusal: Refusal
) -> None:
    found = ask(refusal.speaker, Behaviour.REPLY, **refusal.fault)
    assert found == (refusal.kind, refusal.reason, None)
    assert provider.store.count() == 0


@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.name)
def test_wrong_credentials_are_our_mistake_and_right_ones_are_not(speak: Speak, speaker: Speaker) -> None:
    with FakeProvider(smtp_credentials=(NAME, SECRET), sms_credentials=(NAME, SECRET)) as provider:
        wrong = speak(speaker, provider, secret="wrong").submit(speaker.message(), soon())
        right = speak(speaker, provider, secret=SECRET).submit(speaker.message(), soon())
    assert wrong == Outcome(kind=MISCONFIGURED, reason=Reason.AUTHENTICATION_FAILED)
    assert right.kind is OutcomeKind.ACCEPTED


@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.name)
def test_nothing_is_sent_after_the_deadline(provider: FakeProvider, speak: Speak, speaker: Speaker) -> None:
    outcome = speak(speaker, provider).submit(speaker.message(), Deadline.after(-1))
    assert outcome == Outcome(kind=OutcomeKind.LATE, reason=Reason.DEADLINE_PASSED)
    assert provider.smtp.connections == provider.http.connections == 0


@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.name)
def test_a_closed_port_is_certainly_not_sent(speak: Speak, speaker: Speaker) -> None:
    with FakeProvider() as stopped:
        transport = speak(speaker, stopped)
    outcome = transport.submit(speaker.message(), soon())
    assert outcome == Outcome(kind=TRANSIENT, reason=Reason.CONNECT_FAILED)


@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.name)
def test_a_connection_that_is_refused_at_once_is_certainly_not_sent(
    speak: Speak, server_tls: ssl.SSLContext, speaker: Speaker
) -> None:
    """Whether the reset comes before connecting has returned or after it is up to the kernel."""
    channel = "email" if speaker is SMTP else "sms"
    with FakeProvider(tls=server_tls, http_tls=server_tls) as provider:
        provider.faults.add(Fault(channel=channel, behaviour=Behaviour.REFUSE, count=0))
        outcome = speak(speaker, provider, ca_file=CA_FILE).submit(speaker.message(), soon())
        assert provider.store.count() == 0
    assert outcome.kind is TRANSIENT
    assert outcome.reason in {Reason.CONNECT_FAILED, Reason.DISCONNECTED_BEFORE_SUBMIT}


@pytest.mark.parametrize("ca_file", [CA_FILE, ""], ids=["trusted", "not trusted"])
@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.name)
def test_only_a_server_that_somebody_vouches_for_gets_the_message(
    speak: Speak, server_tls: ssl.SSLContext, speaker: Speaker, ca_file: str
) -> None:
    with FakeProvider(tls=server_tls, http_tls=server_tls) as provider:
        outcome = speak(speaker, provider, ca_file=ca_file).submit(speaker.message(), soon())
        assert provider.store.count() == int(bool(ca_file))
    expected = (OutcomeKind.ACCEPTED, Reason.OK) if ca_file else (MISCONFIGURED, Reason.TLS_FAILED)
    assert (outcome.kind, outcome.reason) == expected


@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.name)
def test_a_connection_is_used_again_after_a_refusal(
    provider: FakeProvider, speak: Speak, speaker: Speaker
) -> None:
    transport = speak(speaker, provider)
    script(provider, speaker, Behaviour.THROTTLE)
    kinds = [transport.submit(speaker.message(), soon()).kind for _ in range(3)]
    assert kinds == [THROTTLED, OutcomeKind.ACCEPTED, OutcomeKind.ACCEPTED]
    assert provider.smtp.connections + provider.http.connections == 1
