"""Email through anymail on a real socket: what goes over it, and how it is held to the deadline."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from anymail.signals import pre_send
from django.test import override_settings

from notifications.deadline import Deadline
from notifications.email.anymail import AnymailTransport
from notifications.option_problems import OptionMisconfigured, OptionProblem
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.testing.provider import FakeProvider
from tests.wire.raw_server import raw_server, read_until, wait_for_close
from tests.wire.samples import ADDRESS, MESSAGE_ID, an_email, an_sms, soon

MakeAnymail = Callable[..., AnymailTransport]

POSTMARK = "anymail.backends.postmark.EmailBackend"


@pytest.fixture
def make_anymail() -> Iterator[MakeAnymail]:
    made: list[AnymailTransport] = []

    def make(url: str = "https://api.example", **options: Any) -> AnymailTransport:
        values: dict[str, Any] = {
            "backend": POSTMARK,
            "backend_options": {"server_token": "marked-token", "api_url": url},
            "from_address": "Shop <shop@example.org>",
        }
        made.append(AnymailTransport(**{**values, **options}))
        return made[-1]

    yield make
    for transport in made:
        transport.close()


@pytest.fixture
def anymail(provider: FakeProvider, make_anymail: MakeAnymail) -> AnymailTransport:
    return make_anymail(provider.http_url)


def json_of(provider: FakeProvider) -> dict[str, Any]:
    return dict(json.loads(provider.store.list("email")[0].body))


def test_one_recipient_gets_both_parts_untracked_under_our_message_id(
    provider: FakeProvider, anymail: AnymailTransport
) -> None:
    assert anymail.submit(an_email(reference="attempt-1"), soon()).kind is OutcomeKind.ACCEPTED
    sent = json_of(provider)
    headers = {header["Name"]: header["Value"] for header in sent.pop("Headers")}
    assert sent == {
        "From": "Shop <shop@example.org>",
        "To": ADDRESS,
        "Subject": an_email().subject,
        "TextBody": an_email().text,
        "HtmlBody": an_email().html,
        "TrackOpens": False,
        "TrackLinks": "None",
        "Metadata": {"reference": "attempt-1"},
    }
    assert headers == {
        "Message-ID": MESSAGE_ID,
        "Expires": "Sun, 29 Nov 2026 12:09:00 GMT",
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
    }


def test_the_same_message_is_sent_with_the_same_bytes(
    provider: FakeProvider, anymail: AnymailTransport
) -> None:
    for _ in range(2):
        anymail.submit(an_email(), soon())
    first, second = provider.store.list("email")
    assert first.body == second.body


def test_a_domain_outside_ascii_goes_out_as_a_labels(
    provider: FakeProvider, anymail: AnymailTransport
) -> None:
    assert anymail.submit(an_email(to="a@faß.de"), soon()).kind is OutcomeKind.ACCEPTED
    assert json_of(provider)["To"] == "a@xn--fa-hia.de"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"to": "a@x.example, b@x.example"}, Reason.INVALID_DESTINATION),
        ({"to": "a@x.example\r\nBcc: b@x.example"}, Reason.INVALID_DESTINATION),
        ({"subject": "Reset\r\nBcc: b@x.example"}, Reason.INVALID_MESSAGE),
        ({"message_id": "no message id"}, Reason.INVALID_MESSAGE),
    ],
)
def test_what_smtp_would_not_take_is_not_sent(
    provider: FakeProvider, anymail: AnymailTransport, change: dict[str, str], reason: Reason
) -> None:
    outcome = anymail.submit(an_email(**change), soon())
    assert outcome == Outcome(kind=OutcomeKind.PERMANENT, reason=reason)
    assert provider.http.connections == 0


def test_the_projects_own_defaults_for_all_mail_are_left_out(
    provider: FakeProvider, make_anymail: MakeAnymail
) -> None:
    with override_settings(ANYMAIL={"SEND_DEFAULTS": {"bcc": ["all@shop.example"], "tags": ["news"]}}):
        make_anymail(provider.http_url, send_defaults={"tags": ["reset"]}).submit(an_email(), soon())
    sent = json_of(provider)
    assert (sent.get("Bcc"), sent["Tag"]) == (None, "reset")


def test_a_receiver_that_calls_a_message_off_ends_it(
    provider: FakeProvider, anymail: AnymailTransport
) -> None:
    from anymail.exceptions import AnymailCancelSend

    def call_off(sender: object, **_: object) -> None:
        raise AnymailCancelSend

    pre_send.connect(call_off)
    try:
        outcome = anymail.submit(an_email(), soon())
    finally:
        pre_send.disconnect(call_off)
    assert outcome == Outcome(kind=OutcomeKind.PERMANENT, reason=Reason.POLICY_REFUSED)
    assert provider.store.count() == 0


def test_an_sms_is_a_callers_mistake(anymail: AnymailTransport) -> None:
    with pytest.raises(TypeError, match="EmailMessage"):
        anymail.submit(an_sms(), soon())


def test_several_threads_submit_at_once(provider: FakeProvider, anymail: AnymailTransport) -> None:
    outcomes: list[Outcome] = []
    senders = [
        threading.Thread(target=lambda: outcomes.append(anymail.submit(an_email(), soon()))) for _ in range(6)
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(timeout=10)
    assert [outcome.kind for outcome in outcomes] == [OutcomeKind.ACCEPTED] * 6


def test_a_redirect_is_not_followed(make_anymail: MakeAnymail) -> None:
    elsewhere: list[bytes] = []

    def redirect(connection: socket.socket) -> None:
        read_until(connection, b"}")
        connection.sendall(
            b"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n" % other
        )

    with (
        raw_server(lambda connection: elsewhere.append(connection.recv(1))) as other,
        raw_server(redirect) as port,
    ):
        outcome = make_anymail(f"http://127.0.0.1:{port}").submit(an_email(), soon())
    assert outcome == Outcome(kind=OutcomeKind.MISCONFIGURED, reason=Reason.PROVIDER_ERROR)
    assert elsewhere == []


def test_an_answer_that_drips_is_cut_at_the_deadline_in_its_own_thread_too(
    make_anymail: MakeAnymail,
) -> None:
    cut = threading.Event()

    def drip(connection: socket.socket) -> None:
        read_until(connection, b"}")
        connection.settimeout(0.02)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        try:
            while True:
                connection.sendall(b"x")
                try:
                    if not connection.recv(1024):
                        return
                except TimeoutError:
                    continue
        finally:
            cut.set()

    with raw_server(drip) as port:
        started = time.monotonic()
        outcome = make_anymail(f"http://127.0.0.1:{port}").submit(an_email(), Deadline.after(0.3))
        assert time.monotonic() - started < 5
        assert cut.wait(10)
    assert outcome == Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.TIMEOUT_AFTER_SUBMIT)


def test_a_handshake_that_hangs_is_certainly_not_sent(make_anymail: MakeAnymail) -> None:
    with raw_server(wait_for_close) as port:
        outcome = make_anymail(f"https://localhost:{port}").submit(an_email(), Deadline.after(0.3))
    assert outcome == Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.TIMEOUT_BEFORE_SUBMIT)


def test_a_deadline_that_passes_while_connecting_stops_the_request(
    provider: FakeProvider, anymail: AnymailTransport
) -> None:
    caller = threading.current_thread()

    def clock() -> float:
        # The caller measured, and waits; the machine slept while the other thread connected.
        return 0.0 if threading.current_thread() is caller else 100.0

    outcome = anymail.submit(an_email(), Deadline(50.0, clock))
    assert outcome == Outcome(kind=OutcomeKind.LATE, reason=Reason.DEADLINE_PASSED)
    assert provider.store.count() == 0


def test_the_environments_proxy_and_passwords_are_left_alone(
    provider: FakeProvider, anymail: AnymailTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert anymail.submit(an_email(), soon()).kind is OutcomeKind.ACCEPTED


@pytest.mark.parametrize(
    ("options", "problem", "words"),
    [
        ({"backend": "anymail.backends.postmrak.EmailBackend"}, OptionProblem.BACKEND, "postmrak"),
        ({"backend": "anymail.backends.test.EmailBackend"}, OptionProblem.BACKEND, "SmtpTransport"),
        ({"backend": "anymail.backends.postmark.re"}, OptionProblem.BACKEND, "SmtpTransport"),
        ({"backend_options": {}}, OptionProblem.CREDENTIALS, "'backend_options'"),
        ({"send_defaults": {"bcc": ["a@b.example"]}}, OptionProblem.VALUE, "'bcc'"),
        ({"tracking": "on"}, OptionProblem.VALUE, "'on'"),
        ({"from_address": "two, mailboxes"}, OptionProblem.SENDER, "from_address"),
    ],
)
def test_options_that_cannot_work_are_named(
    make_anymail: MakeAnymail, options: dict[str, Any], problem: OptionProblem, words: str
) -> None:
    with pytest.raises(OptionMisconfigured) as caught:
        make_anymail(**options)
    assert caught.value.problem is problem
    assert words in str(caught.value)
    assert "marked-token" not in str(caught.value)


def test_without_anymail_the_extra_is_named(
    make_anymail: MakeAnymail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anymail.backends.base_requests", None)
    with pytest.raises(OptionMisconfigured, match=r"resetdelivery\[anymail\]"):
        make_anymail()
