"""Opening an SMTP session: addresses, TLS, login."""

from __future__ import annotations

import socket
import ssl
import time

import pytest

from notifications.deadline import Deadline
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.testing.provider import Behaviour, FakeProvider, Fault
from tests.wire.conftest import CA_FILE, MakeSmtp
from tests.wire.raw_server import raw_server, read_until, wait_for_close
from tests.wire.samples import an_email, soon

CREDENTIALS = ("shop", "marked-password")


@pytest.fixture(params=["starttls", "implicit"])
def tls(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_server_of_a_trusted_authority_is_used(
    server_tls: ssl.SSLContext, make_smtp: MakeSmtp, tls: str
) -> None:
    with FakeProvider(tls=server_tls, implicit_tls=tls == "implicit") as provider:
        transport = make_smtp(provider.smtp_port, tls=tls, ca_file=CA_FILE)
        assert transport.submit(an_email(), soon()).kind is OutcomeKind.ACCEPTED
        assert transport.submit(an_email(), soon()).kind is OutcomeKind.ACCEPTED
        assert provider.smtp.connections == 1


def test_a_server_that_nobody_vouches_for_is_not_used(
    server_tls: ssl.SSLContext, make_smtp: MakeSmtp, tls: str
) -> None:
    with FakeProvider(tls=server_tls, implicit_tls=tls == "implicit") as provider:
        outcome = make_smtp(provider.smtp_port, tls=tls).submit(an_email(), soon())
        assert outcome == Outcome(kind=OutcomeKind.MISCONFIGURED, reason=Reason.TLS_FAILED)
        assert provider.store.count() == 0


def test_a_certificate_for_another_name_is_not_used(
    server_tls: ssl.SSLContext, make_smtp: MakeSmtp, tls: str
) -> None:
    with FakeProvider(tls=server_tls, implicit_tls=tls == "implicit") as provider:
        transport = make_smtp(provider.smtp_port, tls=tls, ca_file=CA_FILE, host="127.0.0.2")
        outcome = transport.submit(an_email(), soon())
        assert outcome.kind is not OutcomeKind.ACCEPTED
        assert provider.store.count() == 0


def test_a_server_without_starttls_gets_no_message(provider: FakeProvider, make_smtp: MakeSmtp) -> None:
    transport = make_smtp(provider.smtp_port, tls="starttls", ca_file=CA_FILE)
    assert transport.submit(an_email(), soon()) == Outcome(
        kind=OutcomeKind.MISCONFIGURED, reason=Reason.TLS_FAILED
    )
    assert [command[:4] for command in provider.smtp.commands] == [b"ehlo"]


def test_a_temporary_refusal_of_starttls_is_transient(
    server_tls: ssl.SSLContext, make_smtp: MakeSmtp
) -> None:
    with FakeProvider(tls=server_tls) as provider:
        provider.faults.add(
            Fault(channel="email", behaviour=Behaviour.REPLY, phase="starttls", code=454, text="4.7.0 later")
        )
        outcome = make_smtp(provider.smtp_port, tls="starttls", ca_file=CA_FILE).submit(an_email(), soon())
        assert outcome == Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.TLS_FAILED)


def test_what_is_injected_before_the_handshake_is_forgotten(
    server_tls: ssl.SSLContext, make_smtp: MakeSmtp
) -> None:
    """CVE-2011-0411: replies sent in the clear behind the 220 must not answer later commands."""
    heard: list[bytes] = []

    def converse(connection: socket.socket) -> None:
        connection.sendall(b"220 hello\r\n")
        read_until(connection, b"\r\n")
        connection.sendall(b"250-hello\r\n250 STARTTLS\r\n")
        read_until(connection, b"\r\n")
        connection.sendall(b"220 go ahead\r\n250 injected\r\n")
        with server_tls.wrap_socket(connection, server_side=True) as secured:
            for _ in ("ehlo", "helo"):
                heard.append(read_until(secured, b"\r\n"))
                secured.sendall(b"554 5.7.1 no\r\n")
            wait_for_close(secured)

    with raw_server(converse) as port:
        outcome = make_smtp(port, tls="starttls", ca_file=CA_FILE).submit(an_email(), soon())
    assert heard[0].startswith(b"ehlo ")
    assert outcome == Outcome(kind=OutcomeKind.MISCONFIGURED, reason=Reason.POLICY_REFUSED)


def test_a_handshake_that_stalls_cannot_outlast_the_deadline(make_smtp: MakeSmtp) -> None:
    with raw_server(wait_for_close) as port:
        started = time.monotonic()
        outcome = make_smtp(port, tls="implicit", ca_file=CA_FILE).submit(an_email(), Deadline.after(0.3))
    assert outcome == Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.TIMEOUT_BEFORE_SUBMIT)
    assert time.monotonic() - started < 5


def test_a_handshake_with_something_that_is_no_tls_server_fails_as_tls(make_smtp: MakeSmtp) -> None:
    def converse(connection: socket.socket) -> None:
        connection.sendall(b"220 plain text\r\n")
        wait_for_close(connection)

    with raw_server(converse) as port:
        outcome = make_smtp(port, tls="implicit", ca_file=CA_FILE).submit(an_email(), soon())
    assert outcome == Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.TLS_FAILED)


def test_a_login_opens_the_session(make_smtp: MakeSmtp) -> None:
    with FakeProvider(smtp_credentials=CREDENTIALS) as provider:
        transport = make_smtp(provider.smtp_port, username=CREDENTIALS[0], password=CREDENTIALS[1])
        assert transport.submit(an_email(), soon()).kind is OutcomeKind.ACCEPTED


@pytest.mark.parametrize("options", [{"username": "shop", "password": "wrong"}, {"username": ""}])
def test_wrong_or_missing_credentials_are_our_mistake(make_smtp: MakeSmtp, options: dict[str, str]) -> None:
    with FakeProvider(smtp_credentials=CREDENTIALS) as provider:
        outcome = make_smtp(provider.smtp_port, **options).submit(an_email(), soon())
    assert outcome == Outcome(kind=OutcomeKind.MISCONFIGURED, reason=Reason.AUTHENTICATION_FAILED)


def test_a_server_that_offers_no_login_is_our_mistake(provider: FakeProvider, make_smtp: MakeSmtp) -> None:
    transport = make_smtp(provider.smtp_port, username="shop", password="secret")
    outcome = transport.submit(an_email(), soon())
    assert outcome == Outcome(kind=OutcomeKind.MISCONFIGURED, reason=Reason.AUTHENTICATION_FAILED)


def test_a_login_that_cannot_be_checked_now_is_transient(make_smtp: MakeSmtp) -> None:
    with FakeProvider(smtp_credentials=CREDENTIALS) as provider:
        provider.faults.add(
            Fault(channel="email", behaviour=Behaviour.REPLY, phase="auth", code=454, text="4.7.0 later")
        )
        transport = make_smtp(provider.smtp_port, username=CREDENTIALS[0], password=CREDENTIALS[1])
        outcome = transport.submit(an_email(), soon())
    assert outcome == Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.PROVIDER_BUSY)


def test_a_closed_port_is_transient(make_smtp: MakeSmtp) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert make_smtp(port).submit(an_email(), soon()) == Outcome(
        kind=OutcomeKind.TRANSIENT, reason=Reason.CONNECT_FAILED
    )


def test_an_unknown_host_is_transient(make_smtp: MakeSmtp, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> list[object]:
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    transport = make_smtp(25, host="mail.invalid")
    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert transport.submit(an_email(), soon()) == Outcome(
        kind=OutcomeKind.TRANSIENT, reason=Reason.DNS_FAILED
    )


def test_a_reset_connection_is_transient(provider: FakeProvider, make_smtp: MakeSmtp) -> None:
    provider.faults.add(Fault(channel="email", behaviour=Behaviour.REFUSE))
    outcome = make_smtp(provider.smtp_port).submit(an_email(), soon())
    assert outcome.kind is OutcomeKind.TRANSIENT
    # The reset may overtake the last step of connecting.
    assert outcome.reason in (Reason.CONNECT_FAILED, Reason.DISCONNECTED_BEFORE_SUBMIT)


def test_opening_has_a_budget_of_its_own(provider: FakeProvider, make_smtp: MakeSmtp) -> None:
    provider.faults.add(Fault(channel="email", behaviour=Behaviour.HANG, phase="ehlo"))
    started = time.monotonic()
    outcome = make_smtp(provider.smtp_port, connect_seconds=0.2).submit(an_email(), Deadline.after(30))
    assert outcome == Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.TIMEOUT_BEFORE_SUBMIT)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("greeting", "reason"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", Reason.UNREADABLE_REPLY),
        (b"220 hello\r\nnonsense\r\nnonsense\r\n", Reason.UNREADABLE_REPLY),
        (b"220 " + b"x" * 20_000 + b"\r\n", Reason.PROVIDER_ERROR),
    ],
)
def test_a_server_that_speaks_something_else_is_certainly_not_sent_to(
    make_smtp: MakeSmtp, greeting: bytes, reason: Reason
) -> None:
    def converse(connection: socket.socket) -> None:
        connection.sendall(greeting)
        wait_for_close(connection)

    with raw_server(converse) as port:
        outcome = make_smtp(port).submit(an_email(), soon())
    assert outcome.kind in (OutcomeKind.TRANSIENT, OutcomeKind.MISCONFIGURED)
    assert outcome.reason is reason


def test_a_login_challenge_that_cannot_be_read_is_certainly_not_sent(make_smtp: MakeSmtp) -> None:
    def converse(connection: socket.socket) -> None:
        connection.sendall(b"220 hello\r\n")
        read_until(connection, b"\r\n")
        connection.sendall(b"250-hello\r\n250 AUTH CRAM-MD5\r\n")
        read_until(connection, b"\r\n")
        connection.sendall(b"334 abc\r\n")
        wait_for_close(connection)

    with raw_server(converse) as port:
        outcome = make_smtp(port, username="shop", password="secret").submit(an_email(), soon())
    assert outcome == Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.UNREADABLE_REPLY)
