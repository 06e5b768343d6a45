"""SMS over HTTP on a real socket when things go wrong: before or after the body."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from notifications import pool
from notifications.deadline import Deadline
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.sms.twilio import TwilioTransport
from notifications.testing.provider import Behaviour, FakeProvider, Fault
from tests.wire.conftest import MakeTwilio
from tests.wire.http_answers import SID_BODY, created
from tests.wire.raw_server import raw_server, read_until, reply
from tests.wire.samples import an_sms, soon


def fault(behaviour: Behaviour, **values: object) -> Fault:
    return Fault(channel="sms", behaviour=behaviour, **values)  # type: ignore[arg-type]  # a test's own script


@pytest.mark.parametrize(
    ("status", "code", "kind", "reason"),
    [
        (400, 21211, OutcomeKind.PERMANENT, Reason.INVALID_DESTINATION),
        (400, 21610, OutcomeKind.PERMANENT, Reason.OPTED_OUT),
        (400, 21606, OutcomeKind.MISCONFIGURED, Reason.SENDER_REFUSED),
        (403, 0, OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    ],
)
def test_a_refusal_means_what_its_code_says(
    provider: FakeProvider, twilio: TwilioTransport, status: int, code: int, kind: OutcomeKind, reason: Reason
) -> None:
    provider.faults.add(fault(Behaviour.REPLY, code=status, error=code))
    assert twilio.submit(an_sms(), soon()) == Outcome(kind=kind, reason=reason)
    assert twilio.submit(an_sms(), soon()).kind is OutcomeKind.ACCEPTED
    assert provider.http.connections == 1


def test_too_many_requests_carries_the_providers_delay(
    provider: FakeProvider, twilio: TwilioTransport
) -> None:
    provider.faults.add(fault(Behaviour.THROTTLE, seconds=7))
    assert twilio.submit(an_sms(), soon()) == Outcome(
        kind=OutcomeKind.THROTTLED, reason=Reason.RATE_LIMITED, retry_after_seconds=7.0
    )


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_server_error_after_the_body_is_ambiguous(
    provider: FakeProvider, twilio: TwilioTransport, status: int
) -> None:
    provider.faults.add(fault(Behaviour.ERROR, code=status))
    outcome = twilio.submit(an_sms(), soon())
    assert outcome == Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.PROVIDER_ERROR)
    assert provider.store.count("sms") == 1


@pytest.mark.parametrize("status", [200, 201])
def test_a_success_that_cannot_be_read_is_ambiguous(
    provider: FakeProvider, twilio: TwilioTransport, status: int
) -> None:
    provider.faults.add(fault(Behaviour.GARBAGE, code=status))
    outcome = twilio.submit(an_sms(), soon())
    assert outcome == Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.UNREADABLE_REPLY)


@pytest.mark.parametrize("taken", [True, False])
def test_a_cut_after_the_body_is_ambiguous_whether_it_was_taken_or_not(
    provider: FakeProvider, twilio: TwilioTransport, taken: bool
) -> None:
    provider.faults.add(fault(Behaviour.DROP, record=taken))
    outcome = twilio.submit(an_sms(), soon())
    assert outcome == Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.DISCONNECTED_AFTER_SUBMIT)
    assert provider.store.count("sms") == int(taken)


@pytest.mark.parametrize("behaviour", [Behaviour.HANG, Behaviour.DRIP, Behaviour.HOLD])
def test_a_slow_provider_after_the_body_is_ambiguous_and_cannot_outlast_the_deadline(
    provider: FakeProvider, twilio: TwilioTransport, behaviour: Behaviour
) -> None:
    provider.faults.add(fault(behaviour, seconds=0.05))
    started = time.monotonic()
    outcome = twilio.submit(an_sms(), Deadline.after(0.3))
    assert outcome == Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.TIMEOUT_AFTER_SUBMIT)
    assert time.monotonic() - started < 5


def test_headers_that_drip_cannot_outlast_the_deadline(make_twilio: MakeTwilio) -> None:
    def drip(connection: socket.socket) -> None:
        read_until(connection, b"SmartEncoded=false")
        connection.settimeout(0.02)
        connection.sendall(b"HTTP/1.1 201 Created\r\nX-Slow: ")
        while True:
            connection.sendall(b"x")
            try:
                if not connection.recv(1):
                    return
            except TimeoutError:
                continue

    with raw_server(drip) as port:
        started = time.monotonic()
        outcome = make_twilio(f"http://127.0.0.1:{port}").submit(an_sms(), Deadline.after(0.3))
    assert outcome == Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.TIMEOUT_AFTER_SUBMIT)
    assert time.monotonic() - started < 5


def test_nothing_is_sent_after_the_deadline(provider: FakeProvider, twilio: TwilioTransport) -> None:
    outcome = twilio.submit(an_sms(), Deadline.after(-1))
    assert outcome == Outcome(kind=OutcomeKind.LATE, reason=Reason.DEADLINE_PASSED)
    assert provider.http.connections == 0


def test_a_deadline_that_passes_while_the_head_goes_out_stops_the_body(make_twilio: MakeTwilio) -> None:
    """The clock jumps once the server has read the head on a connection that is already open."""
    heard: list[bytes] = []
    head_seen = threading.Event()

    def converse(connection: socket.socket) -> None:
        read_until(connection, b"SmartEncoded=false")
        connection.sendall(created())
        heard.append(read_until(connection, b"\r\n\r\n"))
        head_seen.set()
        heard.append(connection.recv(1024))

    readings: list[float] = []

    def clock() -> float:
        readings.append(0.0)
        # Arming the pooled connection, checking at the start, sending the head: then time is up.
        return 100.0 if head_seen.wait(5 if len(readings) == 3 else 0) else 0.0

    with raw_server(converse) as port:
        transport = make_twilio(f"http://127.0.0.1:{port}")
        assert transport.submit(an_sms(), soon()).kind is OutcomeKind.ACCEPTED
        outcome = transport.submit(an_sms(), Deadline(50.0, clock))
    assert outcome == Outcome(kind=OutcomeKind.LATE, reason=Reason.DEADLINE_PASSED)
    assert heard[0].startswith(b"POST /2010-04-01/Accounts/AC0123/Messages.json HTTP/1.1\r\n")
    assert heard[1] == b""


def test_a_closed_port_is_certainly_not_sent(make_twilio: MakeTwilio) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    outcome = make_twilio(f"http://127.0.0.1:{port}").submit(an_sms(), soon())
    assert outcome == Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.CONNECT_FAILED)


def test_a_kept_connection_that_the_server_closed_is_not_used(make_twilio: MakeTwilio) -> None:
    closed = threading.Event()

    def once(connection: socket.socket) -> None:
        reply(created(), after=b"SmartEncoded=false")(connection)
        connection.close()
        closed.set()

    with raw_server(once, reply(created(), after=b"SmartEncoded=false")) as port:
        transport = make_twilio(f"http://127.0.0.1:{port}")
        transport.submit(an_sms(), soon())
        assert closed.wait(10)
        assert transport.submit(an_sms(), soon()).kind is OutcomeKind.ACCEPTED


def test_a_kept_connection_that_fails_before_the_body_is_replaced(
    make_twilio: MakeTwilio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server closes it in the moment between our look at it and our first byte."""
    closed = threading.Event()

    def once(connection: socket.socket) -> None:
        reply(created(), after=b"SmartEncoded=false")(connection)
        connection.close()
        closed.set()

    monkeypatch.setattr(pool, "hung_up", lambda _: False)
    with raw_server(once, reply(created(), after=b"SmartEncoded=false")) as port:
        transport = make_twilio(f"http://127.0.0.1:{port}")
        transport.submit(an_sms(), soon())
        assert closed.wait(10)
        assert transport.submit(an_sms(), soon()).kind is OutcomeKind.ACCEPTED


@pytest.mark.parametrize(
    ("answer", "kind", "reason"),
    [
        (b"nonsense\r\n\r\n", OutcomeKind.AMBIGUOUS, Reason.UNREADABLE_REPLY),
        (b"HTTP/1.1 abc OK\r\n\r\n", OutcomeKind.AMBIGUOUS, Reason.UNREADABLE_REPLY),
        (b"", OutcomeKind.AMBIGUOUS, Reason.DISCONNECTED_AFTER_SUBMIT),
        (b"HTTP/1.1 201 Created\r\nX: " + b"x" * 70_000, OutcomeKind.AMBIGUOUS, Reason.UNREADABLE_REPLY),
        (b"HTTP/1.1 201 Created\r\n" + b"X: y\r\n" * 300, OutcomeKind.AMBIGUOUS, Reason.UNREADABLE_REPLY),
        (
            b"HTTP/1.1 201 Created\r\nContent-Length: 900\r\n\r\n{",
            OutcomeKind.AMBIGUOUS,
            Reason.UNREADABLE_REPLY,
        ),
        (created(body=SID_BODY[:-1] + b" " * 200_000 + b"}"), OutcomeKind.AMBIGUOUS, Reason.UNREADABLE_REPLY),
        (created(body=b"[" * 60_000), OutcomeKind.AMBIGUOUS, Reason.UNREADABLE_REPLY),
        (created(body=b'{"sid": "<script>"}'), OutcomeKind.AMBIGUOUS, Reason.UNREADABLE_REPLY),
        (
            b"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
            OutcomeKind.MISCONFIGURED,
            Reason.PROVIDER_ERROR,
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + created(), OutcomeKind.ACCEPTED, Reason.OK),
    ],
)
def test_an_odd_answer_is_read_with_care(
    make_twilio: MakeTwilio, answer: bytes, kind: OutcomeKind, reason: Reason
) -> None:
    with raw_server(reply(answer, after=b"SmartEncoded=false")) as port:
        outcome = make_twilio(f"http://127.0.0.1:{port}").submit(an_sms(), soon())
    assert (outcome.kind, outcome.reason) == (kind, reason)


def test_a_connection_that_is_to_be_closed_is_not_kept(make_twilio: MakeTwilio) -> None:
    answer = reply(created(b"Connection: close\r\n"), after=b"SmartEncoded=false")
    with raw_server(answer, answer) as port:
        transport = make_twilio(f"http://127.0.0.1:{port}")
        outcomes = [transport.submit(an_sms(), soon()).kind for _ in range(2)]
    assert outcomes == [OutcomeKind.ACCEPTED] * 2
