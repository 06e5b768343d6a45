"""The console, the script, and what transports refuse to be built from."""

from __future__ import annotations

import io
import subprocess
import sys
import threading

import pytest
from django.test import override_settings

from notifications.console import ConsoleTransport
from notifications.deadline import Deadline
from notifications.email.server import Tls, smtp_server
from notifications.email.smtp import SmtpTransport
from notifications.exceptions import TransportMisconfigured
from notifications.hosts import is_loopback
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.testing import ScriptedTransport
from tests.wire.samples import LINK, an_email, an_sms, soon


@pytest.mark.parametrize("message", [an_email(), an_sms()])
def test_the_console_shows_whom_it_is_for_and_the_link(message: object) -> None:
    stream = io.StringIO()
    outcome = ConsoleTransport(stream=stream).submit(message, soon())  # type: ignore[arg-type]  # one of both
    assert outcome.kind is OutcomeKind.ACCEPTED
    assert message.to in stream.getvalue()  # type: ignore[attr-defined]  # one of both
    assert LINK in stream.getvalue().splitlines()


def test_the_console_prints_nothing_after_the_deadline() -> None:
    stream = io.StringIO()
    outcome = ConsoleTransport(stream=stream).submit(an_email(), Deadline.after(-1))
    assert outcome.kind is OutcomeKind.LATE
    assert stream.getvalue() == ""


def test_the_console_uses_standard_output_of_the_moment(capsys: pytest.CaptureFixture[str]) -> None:
    ConsoleTransport().submit(an_sms(), soon())
    assert "SMS to" in capsys.readouterr().out


def test_a_script_is_played_in_order_and_then_accepts() -> None:
    busy = Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.PROVIDER_BUSY)
    transport = ScriptedTransport(outcomes=[busy])
    kinds = [transport.submit(an_email(), soon()).kind for _ in range(2)]
    assert kinds == [OutcomeKind.TRANSIENT, OutcomeKind.ACCEPTED]


def test_a_script_can_raise_as_a_broken_transport_would() -> None:
    transport = ScriptedTransport(outcomes=[RuntimeError("a bug")])
    with pytest.raises(RuntimeError, match="a bug"):
        transport.submit(an_email(), soon())
    assert transport.messages == [an_email()]


def test_a_script_records_messages_and_deadlines() -> None:
    transport = ScriptedTransport()
    deadline = soon()
    transport.submit(an_email(), deadline)
    transport.submit(an_sms(), deadline)
    assert transport.messages == [an_email(), an_sms()]
    assert transport.deadlines == [deadline, deadline]


def test_a_gate_holds_a_submission_that_has_arrived() -> None:
    gate = threading.Event()
    transport = ScriptedTransport(gate=gate)
    outcomes: list[Outcome] = []
    sender = threading.Thread(target=lambda: outcomes.append(transport.submit(an_email(), soon())))
    sender.start()
    assert transport.arrived.wait(10)
    assert outcomes == []
    gate.set()
    sender.join(timeout=10)
    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.ACCEPTED]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tls": "ssl"}, "'ssl'"),
        ({"port": 70_000}, "70000"),
        ({"host": ""}, "'host'"),
        ({"from_address": "nobody"}, "from_address"),
        ({"tls": "starttls", "ca_file": "missing.pem"}, "missing.pem"),
        ({"host": "mail.x.example", "tls": "none", "username": "u", "password": "pass"}, "in the clear"),
    ],
)
def test_smtp_options_that_cannot_work_are_named(options: dict[str, object], words: str) -> None:
    values: dict[str, object] = {"host": "localhost", "from_address": "a@shop.example", "username": ""}
    with pytest.raises(TransportMisconfigured) as caught:
        SmtpTransport(**{**values, **options})  # type: ignore[arg-type]  # options of a test
    assert words in str(caught.value)
    assert "pass'" not in str(caught.value)


@pytest.mark.parametrize(
    ("tls", "port", "expected"),
    [("none", None, 25), ("starttls", None, 587), ("implicit", None, 465), ("starttls", 2525, 2525)],
)
def test_the_port_follows_the_kind_of_tls(tls: str, port: int | None, expected: int) -> None:
    assert smtp_server(host="localhost", username="", tls=tls, port=port).port == expected


@pytest.mark.filterwarnings("ignore:The EMAIL_")  # deprecated by Django 6.1, which still reads them
def test_what_the_options_leave_out_comes_from_djangos_settings() -> None:
    with override_settings(
        EMAIL_HOST="mail.x.example",
        EMAIL_PORT=2525,
        EMAIL_HOST_USER="u",
        EMAIL_HOST_PASSWORD="p",
        EMAIL_USE_TLS=True,
    ):
        server = smtp_server()
    assert (server.host, server.port, server.username, server.password) == (
        "mail.x.example",
        2525,
        "u",
        "p",
    )
    assert server.tls is Tls.STARTTLS


def test_what_the_options_leave_out_comes_from_the_default_mailer() -> None:
    options = {"host": "mail.x.example", "port": 2465, "username": "u", "password": "p", "use_ssl": True}
    with override_settings(MAILERS={"default": {"OPTIONS": options}}):
        server = smtp_server()
    assert (server.host, server.port, server.username, server.password) == (
        "mail.x.example",
        2465,
        "u",
        "p",
    )
    assert server.tls is Tls.IMPLICIT


@override_settings(DEFAULT_FROM_EMAIL="two, mailboxes")
def test_the_senders_default_is_checked_too() -> None:
    with pytest.raises(TransportMisconfigured, match="DEFAULT_FROM_EMAIL"):
        SmtpTransport(host="localhost", username="", tls="none")


def test_credentials_are_kept_out_of_reprs() -> None:
    text = repr(smtp_server(host="localhost", username="marked-user", password="marked-password", tls="none"))
    assert "marked" not in text


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("0.0.0.0", False),
        ("localhost.example.com", False),
        ("10.0.0.1", False),
        ("", False),
    ],
)
def test_only_this_machine_is_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize(
    "module",
    [
        "notifications.outcome",
        "notifications.channels",
        "notifications.durations",
        "notifications.email.addresses",
        "notifications.email.replies",
        "notifications.sms.phone",
        "notifications.sms.twilio_replies",
        "notifications.testing.provider",
    ],
)
def test_a_pure_module_needs_nothing_but_the_standard_library(module: str) -> None:
    script = (
        f"import sys, {module}; sys.exit(sorted({{'django', 'celery', 'redis'}} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
