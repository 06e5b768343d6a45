"""SMS over HTTP on a real socket: what goes over it, and what is kept private."""

from __future__ import annotations

import datetime as dt
import logging
import socket
import ssl
import threading
from urllib.parse import parse_qs

import pytest

from notifications.exceptions import TransportMisconfigured
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.sms.twilio import TwilioTransport
from notifications.testing.provider import Behaviour, FakeProvider, Fault
from tests.wire.conftest import CA_FILE, MakeTwilio
from tests.wire.http_answers import created
from tests.wire.raw_server import raw_server, reply, wait_for_close
from tests.wire.samples import LINK, NOW, NUMBER, an_email, an_sms, soon


def fault(behaviour: Behaviour, **values: object) -> Fault:
    return Fault(channel="sms", behaviour=behaviour, **values)  # type: ignore[arg-type]  # a test's own script


def form_of(provider: FakeProvider) -> dict[str, list[str]]:
    return parse_qs(provider.store.list("sms")[0].body.decode("ascii"), strict_parsing=True)


def test_an_accepted_sms_is_reported_with_its_sid(twilio: TwilioTransport) -> None:
    outcome = twilio.submit(an_sms(), soon())
    assert outcome.kind is OutcomeKind.ACCEPTED
    assert outcome.provider_reference.startswith("SM")


def test_the_form_holds_what_twilio_asks_for(provider: FakeProvider, twilio: TwilioTransport) -> None:
    twilio.submit(an_sms(), soon())
    assert form_of(provider) == {
        "To": [NUMBER],
        "From": ["+15005550006"],
        "Body": [an_sms().text],
        "ValidityPeriod": ["540"],
        "SmartEncoded": ["false"],
    }


def test_the_plus_sign_survives_the_form(provider: FakeProvider, twilio: TwilioTransport) -> None:
    twilio.submit(an_sms(), soon())
    assert b"To=%2B447911123456" in provider.store.list()[0].body


def test_a_messaging_service_replaces_the_number(provider: FakeProvider, make_twilio: MakeTwilio) -> None:
    transport = make_twilio(provider.http_url, from_number="", messaging_service_sid="MG0123")
    transport.submit(an_sms(), soon())
    assert form_of(provider)["MessagingServiceSid"] == ["MG0123"]
    assert "From" not in form_of(provider)


def test_the_attempts_reference_goes_into_the_callback(
    provider: FakeProvider, make_twilio: MakeTwilio
) -> None:
    transport = make_twilio(provider.http_url, status_callback="https://shop.example/receipts/{reference}")
    transport.submit(an_sms(reference="a/b"), soon())
    assert form_of(provider)["StatusCallback"] == ["https://shop.example/receipts/a%2Fb"]


def test_credentials_are_checked_and_wrong_ones_are_our_mistake(make_twilio: MakeTwilio) -> None:
    with FakeProvider(sms_credentials=("AC0123", "right")) as provider:
        right = make_twilio(provider.http_url, auth_token="right").submit(an_sms(), soon())
        wrong = make_twilio(provider.http_url, auth_token="wrong").submit(an_sms(), soon())
    assert right.kind is OutcomeKind.ACCEPTED
    assert wrong == Outcome(kind=OutcomeKind.MISCONFIGURED, reason=Reason.AUTHENTICATION_FAILED)


@pytest.mark.parametrize(
    ("left", "seconds"),
    [
        (dt.timedelta(minutes=9), "540"),
        (dt.timedelta(seconds=1, milliseconds=999), "1"),
        (dt.timedelta(hours=10), "36000"),
        (dt.timedelta(days=3), "36000"),
    ],
)
def test_the_validity_period_is_what_is_left_in_whole_seconds(
    provider: FakeProvider, twilio: TwilioTransport, left: dt.timedelta, seconds: str
) -> None:
    assert twilio.submit(an_sms(expires_at=NOW + left), soon()).kind is OutcomeKind.ACCEPTED
    assert form_of(provider)["ValidityPeriod"] == [seconds]


def test_a_lifetime_under_a_second_is_not_sent(provider: FakeProvider, twilio: TwilioTransport) -> None:
    outcome = twilio.submit(an_sms(expires_at=NOW + dt.timedelta(milliseconds=900)), soon())
    assert outcome == Outcome(kind=OutcomeKind.LATE, reason=Reason.LIFETIME_TOO_SHORT)
    assert provider.http.connections == 0


@pytest.mark.parametrize("number", ["447911123456", "+0123456789", "+44 7911 123456", "+447911123456\n", ""])
def test_a_number_that_is_not_e164_is_not_sent(
    provider: FakeProvider, twilio: TwilioTransport, number: str
) -> None:
    outcome = twilio.submit(an_sms(to=number), soon())
    assert outcome == Outcome(kind=OutcomeKind.PERMANENT, reason=Reason.INVALID_DESTINATION)
    assert provider.http.connections == 0


def test_an_email_is_a_callers_mistake(twilio: TwilioTransport) -> None:
    with pytest.raises(TypeError, match="SmsMessage"):
        twilio.submit(an_email(), soon())


def test_connections_are_used_again(provider: FakeProvider, twilio: TwilioTransport) -> None:
    for _ in range(3):
        twilio.submit(an_sms(), soon())
    assert provider.http.connections == 1


def test_several_threads_submit_at_once(provider: FakeProvider, twilio: TwilioTransport) -> None:
    outcomes: list[Outcome] = []
    senders = [
        threading.Thread(target=lambda: outcomes.append(twilio.submit(an_sms(), soon()))) for _ in range(8)
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(timeout=10)
    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.ACCEPTED] * 8
    assert provider.store.count("sms") == 8


def test_a_server_of_a_trusted_authority_is_used(make_twilio: MakeTwilio, server_tls: ssl.SSLContext) -> None:
    def converse(connection: socket.socket) -> None:
        with server_tls.wrap_socket(connection, server_side=True) as secured:
            reply(created(), after=b"SmartEncoded=false")(secured)

    with raw_server(converse) as port:
        outcome = make_twilio(f"https://localhost:{port}", ca_file=CA_FILE).submit(an_sms(), soon())
    assert outcome.kind is OutcomeKind.ACCEPTED


def test_a_server_that_nobody_vouches_for_is_not_used(
    make_twilio: MakeTwilio, server_tls: ssl.SSLContext
) -> None:
    def converse(connection: socket.socket) -> None:
        with server_tls.wrap_socket(connection, server_side=True) as secured:
            wait_for_close(secured)

    with raw_server(converse) as port:
        outcome = make_twilio(f"https://localhost:{port}").submit(an_sms(), soon())
    assert outcome == Outcome(kind=OutcomeKind.MISCONFIGURED, reason=Reason.TLS_FAILED)


def test_no_answers_text_reaches_the_outcome_or_the_log(
    provider: FakeProvider, twilio: TwilioTransport, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    provider.faults.add(fault(Behaviour.REPLY, code=400, error=21211, text=f"{NUMBER} is no number {LINK}"))
    outcome = twilio.submit(an_sms(), soon())
    assert outcome.reason is Reason.INVALID_DESTINATION
    for text in (repr(outcome), caplog.text):
        assert not [value for value in (NUMBER, LINK, "marked-auth-token") if value in text]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"base_url": "http://sms.example.com"}, "plain http"),
        ({"base_url": "ftp://127.0.0.1"}, "http"),
        ({"base_url": "https://api.twilio.com:99999"}, "http"),
        ({"base_url": "https://api.twilio.com?x=1"}, "host, port and path only"),
        ({"base_url": "https://user:secret@api.twilio.com"}, "not shown"),
        ({"auth_token": ""}, "auth_token"),
        ({"from_number": ""}, "exactly one"),
        ({"messaging_service_sid": "MG1"}, "exactly one"),
        ({"status_callback": "https://shop.example/receipts"}, "{reference}"),
        ({"base_url": "https://api.twilio.com", "ca_file": "missing.pem"}, "missing.pem"),
    ],
)
def test_options_that_cannot_work_are_named(
    make_twilio: MakeTwilio, options: dict[str, str], words: str
) -> None:
    base_url = options.pop("base_url", "http://127.0.0.1:1")
    with pytest.raises(TransportMisconfigured) as caught:
        make_twilio(base_url, **options)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)
