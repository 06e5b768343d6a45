"""The fake provider itself: what it keeps, how it is controlled, what its pages show."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from notifications.deadline import Deadline
from notifications.email.smtp import SmtpTransport
from notifications.outcome import OutcomeKind
from notifications.sms.twilio import TwilioTransport
from notifications.testing.provider import Behaviour, FakeProvider, Fault, Store
from notifications.testing.provider.pages import linked
from tests.wire.conftest import MakeSmtp, MakeTwilio
from tests.wire.samples import ADDRESS, LINK, MESSAGE_ID, NUMBER, an_email, an_sms, soon

ROOT = Path(__file__).resolve().parents[2]


def get(url: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.read().decode(), dict(response.headers)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), dict(error.headers)


def post(url: str, value: object = None, **headers: str) -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(url, json.dumps(value).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.fixture
def inbox(provider: FakeProvider, smtp: SmtpTransport, twilio: TwilioTransport) -> FakeProvider:
    smtp.submit(an_email(), soon())
    twilio.submit(an_sms(), soon())
    return provider


class Process:
    """The provider as a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "provider.sqlite3"
        self._ready = folder / "ready.json"
        arguments = ["--store", str(self.store), "--ready-file", str(self._ready)]
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "notifications.testing.provider", *arguments],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def ready(self) -> dict[str, Any]:
        ends = time.monotonic() + 20
        while not self._ready.exists():
            assert self.popen.poll() is None, "The provider ended before it was ready."
            assert time.monotonic() < ends, "The provider did not get ready."
            time.sleep(0.01)
        return dict(json.loads(self._ready.read_text()))


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    running = Process(tmp_path)
    yield running
    running.popen.kill()
    running.popen.wait(timeout=10)


def test_a_process_of_its_own_keeps_what_it_accepted_when_it_is_killed(
    process: Process, make_smtp: MakeSmtp, make_twilio: MakeTwilio
) -> None:
    ready = process.ready()
    assert make_smtp(ready["smtp_port"]).submit(an_email(), soon()).kind is OutcomeKind.ACCEPTED
    assert make_twilio(ready["http_url"]).submit(an_sms(), soon()).kind is OutcomeKind.ACCEPTED
    process.popen.send_signal(signal.SIGKILL)
    process.popen.wait(timeout=10)
    store = Store(process.store)
    assert (store.count("email", key=MESSAGE_ID), store.count("sms", recipient=NUMBER)) == (1, 1)
    store.close()


def test_a_process_ends_cleanly_on_request(process: Process) -> None:
    process.ready()
    process.popen.terminate()
    assert process.popen.wait(timeout=10) == 0


def test_only_the_loopback_address_is_served(provider: FakeProvider) -> None:
    assert provider.smtp.server_address[0] == "127.0.0.1"
    assert provider.http.server_address[0] == "127.0.0.1"


def test_a_port_in_use_is_reported_at_once_and_leaks_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        FakeProvider(http_port=taken.getsockname()[1])


def test_what_is_held_is_recorded_before_it_is_answered(
    provider: FakeProvider, make_twilio: MakeTwilio
) -> None:
    provider.faults.add(Fault(channel="sms", behaviour=Behaviour.HOLD))
    outcome = make_twilio(provider.http_url).submit(an_sms(), Deadline.after(0.2))
    assert outcome.kind is OutcomeKind.AMBIGUOUS
    assert provider.store.count("sms") == 1


def test_a_fault_is_met_as_often_as_it_says(provider: FakeProvider, twilio: TwilioTransport) -> None:
    provider.faults.add(Fault(channel="sms", behaviour=Behaviour.THROTTLE, count=2))
    kinds = [twilio.submit(an_sms(), soon()).kind for _ in range(3)]
    assert kinds == [OutcomeKind.THROTTLED, OutcomeKind.THROTTLED, OutcomeKind.ACCEPTED]


def test_a_fault_is_set_over_http(provider: FakeProvider, smtp: SmtpTransport) -> None:
    answer = post(
        f"{provider.http_url}/_control/faults",
        {"channel": "email", "behaviour": "reply", "phase": "rcpt", "code": 550, "text": "5.1.1 no"},
    )
    assert answer == (200, {})
    assert smtp.submit(an_email(), soon()).kind is OutcomeKind.PERMANENT


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"channel": "email", "behaviour": "explode"}, "explode"),
        ({"channel": "email", "behaviour": "drop", "when": 1}, "when"),
        ({"behaviour": "drop"}, "channel"),
    ],
)
def test_a_fault_that_makes_no_sense_is_named(
    provider: FakeProvider, fault: dict[str, object], words: str
) -> None:
    status, answer = post(f"{provider.http_url}/_control/faults", fault)
    assert status == 400
    assert words in answer["error"]


def test_submissions_are_listed_for_tests_by_channel(inbox: FakeProvider) -> None:
    _, answer, _ = get(f"{inbox.http_url}/_control/submissions?channel=sms")
    assert [(item["channel"], item["recipient"], item["text"]) for item in json.loads(answer)] == [
        ("sms", NUMBER, an_sms().text)
    ]


def test_a_reset_forgets_submissions_and_faults(inbox: FakeProvider, twilio: TwilioTransport) -> None:
    inbox.faults.add(Fault(channel="sms", behaviour=Behaviour.DROP, count=0))
    post(f"{inbox.http_url}/_control/reset")
    assert inbox.store.count() == 0
    assert twilio.submit(an_sms(), soon()).kind is OutcomeKind.ACCEPTED


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
def test_a_page_elsewhere_cannot_use_the_control(inbox: FakeProvider, headers: dict[str, str]) -> None:
    status, _ = post(f"{inbox.http_url}/_control/reset", None, **headers)
    assert status == 404
    assert inbox.store.count() == 2


def test_a_page_elsewhere_cannot_read_the_inbox_by_another_name(inbox: FakeProvider) -> None:
    status, page, _ = get(f"{inbox.http_url}/", Host="evil.example")
    assert status == 403
    assert ADDRESS not in page


def test_the_inbox_shows_both_channels_newest_first(inbox: FakeProvider) -> None:
    _, page, _ = get(f"{inbox.http_url}/")
    assert page.index(NUMBER) < page.index(ADDRESS)
    assert page.index("Text message</span>") < page.index("Email</span>")


def test_an_emails_page_shows_text_html_and_source(inbox: FakeProvider) -> None:
    _, page, _ = get(f"{inbox.http_url}/messages/1")
    assert f'<a href="{LINK}" target="_blank" rel="noreferrer noopener">{LINK}</a>' in page
    assert 'sandbox="allow-popups allow-popups-to-escape-sandbox" src="/messages/1/html"' in page
    assert "Auto-Submitted: auto-generated" in page


def test_an_smss_page_shows_its_text_with_the_link(inbox: FakeProvider) -> None:
    _, page, _ = get(f"{inbox.http_url}/messages/2")
    assert f'<a href="{LINK}"' in page.partition('class="bubble"')[2]


def test_an_emails_own_html_is_served_in_a_sandbox(inbox: FakeProvider) -> None:
    _, page, headers = get(f"{inbox.http_url}/messages/1/html")
    assert '<base target="_blank">' in page
    assert headers["Content-Security-Policy"].startswith("sandbox allow-popups")


@pytest.mark.parametrize("path", ["/", "/messages/1", "/messages/9", "/assets/inbox.css", "/nowhere"])
def test_a_page_allows_nothing_from_elsewhere(inbox: FakeProvider, path: str) -> None:
    _, page, headers = get(f"{inbox.http_url}{path}")
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self'")
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "style=" not in page
    assert "<script>" not in page


@pytest.mark.parametrize("path", ["/messages/9", "/messages/x", "/assets/../store.py", "/nowhere"])
def test_what_is_not_there_is_not_found(inbox: FakeProvider, path: str) -> None:
    assert get(f"{inbox.http_url}{path}")[0] == 404


def test_a_messages_words_cannot_become_a_page(provider: FakeProvider, smtp: SmtpTransport) -> None:
    attack = "<script>alert(1)</script>"
    smtp.submit(an_email(subject=attack, text=f"{attack}\n"), soon())
    for path in ("/", "/messages/1"):
        assert attack not in get(f"{provider.http_url}{path}")[1]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("no link <b>", "no link &lt;b&gt;"),
        (
            "see https://a.example/x.",
            'see <a href="https://a.example/x" target="_blank" '
            'rel="noreferrer noopener">https://a.example/x</a>.',
        ),
        ("javascript:alert(1)", "javascript:alert(1)"),
    ],
)
def test_only_web_addresses_become_links(text: str, html: str) -> None:
    assert linked(text) == html
