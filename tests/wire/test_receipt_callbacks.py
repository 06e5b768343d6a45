"""Receipts over real sockets: a web server that is called, and a certificate that is fetched."""

from __future__ import annotations

import contextlib
import datetime as dt
import http.client
import ssl
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from django.utils import timezone

from notifications.channels import Channel
from notifications.receipts.https_get import MAX_OCTETS, GetFailed, HttpsGet
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, Delivery
from tests.receipt_samples import (
    BASE,
    CERTIFICATE,
    FORM,
    NUMBER,
    OTHER,
    SECRET,
    TOKEN,
    TOPIC,
    SnsSigner,
    event,
    twilio_fields,
    twilio_signature,
    unreachable,
    vonage_fields,
)
from tests.steps import answer, record, store, take
from tests.wire.conftest import CA_FILE
from tests.wire.raw_server import Conversation, raw_server, read_until, wait_for_close

MINUTE = dt.timedelta(minutes=1)


def secured(context: ssl.SSLContext, answer: bytes) -> Conversation:
    """One request over TLS, answered with ``answer``."""

    def converse(connection: Any) -> None:
        with context.wrap_socket(connection, server_side=True) as sock:
            read_until(sock, b"\r\n\r\n")
            sock.sendall(answer)

    return converse


def found(body: bytes, status: bytes = b"200 OK", more: bytes = b"") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n%s" % (status, len(body), more, body)


# The certificate's side.


def test_what_is_fetched_comes_over_verified_tls(server_tls: ssl.SSLContext) -> None:
    with raw_server(secured(server_tls, found(b"a certificate"))) as port:
        assert HttpsGet(ca_file=CA_FILE)(f"https://localhost:{port}/x.pem?a=1") == b"a certificate"


def test_a_host_whose_certificate_is_not_trusted_gives_nothing(server_tls: ssl.SSLContext) -> None:
    with raw_server(secured(server_tls, found(b"a certificate"))) as port, pytest.raises(GetFailed):
        HttpsGet()(f"https://localhost:{port}/x.pem")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(found(b"", b"302 Found", b"Location: https://evil.example/x.pem\r\n"), id="redirect"),
        pytest.param(found(b"no", b"404 Not Found"), id="not found"),
        pytest.param(found(b"x" * (MAX_OCTETS + 1)), id="too long"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", id="cut"),
        pytest.param(b"garbage\r\n\r\n", id="garbage"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_anything_but_a_complete_answer_gives_nothing(server_tls: ssl.SSLContext, answer: bytes) -> None:
    with raw_server(secured(server_tls, answer)) as port, pytest.raises(GetFailed) as caught:
        HttpsGet(ca_file=CA_FILE)(f"https://localhost:{port}/x.pem")
    assert str(caught.value) == ""


def test_a_host_that_says_nothing_is_waited_for_briefly(server_tls: ssl.SSLContext) -> None:
    def silent(connection: Any) -> None:
        with server_tls.wrap_socket(connection, server_side=True) as sock, contextlib.suppress(OSError):
            wait_for_close(sock)

    with raw_server(silent) as port, pytest.raises(GetFailed):
        HttpsGet(ca_file=CA_FILE, seconds=0.3)(f"https://localhost:{port}/x.pem")


def test_plain_http_is_not_asked() -> None:
    asked: list[object] = []
    with raw_server(asked.append) as port, pytest.raises(GetFailed):
        HttpsGet()(f"http://localhost:{port}/x.pem")
    assert asked == []


# The web server's side.


class Caller:
    """Speaks HTTP/1.1 to the web server as a provider does, through a proxy of another name."""

    def __init__(self, url: str) -> None:
        self._address = urlsplit(url).netloc

    def post(self, path: str, body: bytes, **headers: str) -> int:
        """The status of the answer, whose body must be empty."""
        connection = http.client.HTTPConnection(self._address, timeout=10)
        with contextlib.closing(connection):
            names = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request("POST", path, body, names)
            with connection.getresponse() as response:
                assert response.read() == b""
                return response.status

    def twilio(self, status: str, attempt: uuid.UUID, *, signed_for: uuid.UUID | None = None) -> int:
        fields = twilio_fields(status)
        signature = twilio_signature(f"{BASE}/twilio/{signed_for or attempt}/", fields)
        path, body = f"/receipts/twilio/{attempt}/", urlencode(fields).encode()
        return self.post(path, body, Content_Type=FORM, X_Twilio_Signature=signature)

    def vonage(self, status: str, attempt: uuid.UUID, at: dt.datetime) -> int:
        body = urlencode(vonage_fields(status, at=at, attempt=attempt)).encode()
        return self.post(f"/receipts/vonage/{attempt}/", body, Content_Type=FORM)

    def amazon(self, body: bytes) -> int:
        return self.post("/receipts/sns/", body, Content_Type="text/plain; charset=UTF-8")


@pytest.fixture(scope="module")
def amazon() -> SnsSigner:
    return SnsSigner()


@pytest.fixture
def certificates(
    server_tls: ssl.SSLContext, amazon: SnsSigner, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[str]]:
    """A host that hands out the certificate once; the addresses that were asked for."""
    asked: list[str] = []
    with raw_server(secured(server_tls, found(amazon.pem))) as port:
        get = HttpsGet(ca_file=CA_FILE)

        def fetch(url: str) -> bytes:
            asked.append(url)
            return get(f"https://localhost:{port}{urlsplit(url).path}")

        monkeypatch.setattr(amazon, "fetch", fetch)
        yield asked


@pytest.fixture
def caller(transactional_db: None, live_server: Any, settings: Any, amazon: SnsSigner) -> Caller:
    settings.RESETDELIVERY = {
        **settings.RESETDELIVERY,
        "RECEIPTS_BASE_URL": BASE,
        "RECEIPTS": {
            "twilio": {"auth_token": TOKEN},
            "vonage": {"signature_secret": SECRET, "window": 5 * MINUTE},
            "sns": {"topic_arns": [TOPIC], "fetch": lambda url: amazon.fetch(url)},
        },
    }
    return Caller(live_server.url)


@pytest.fixture
def attempt(caller: Caller) -> uuid.UUID:
    """The attempt of an accepted SMS."""
    store(channel=Channel.SMS)
    marked = record(take(Channel.SMS))
    answer(marked)
    return marked[0].attempt_reference


def state() -> str:
    return Delivery.objects.get().state


def test_twilio_calls_and_the_sms_is_delivered(caller: Caller, attempt: uuid.UUID) -> None:
    assert [caller.twilio(status, attempt) for status in ("sent", "delivered", "delivered")] == [204] * 3
    assert state() == DeliveryState.DELIVERED


def test_twilios_calls_in_another_order_end_the_same(caller: Caller, attempt: uuid.UUID) -> None:
    assert [caller.twilio(status, attempt) for status in ("delivered", "undelivered", "sent")] == [204] * 3
    assert state() == DeliveryState.DELIVERED


def test_a_call_signed_for_another_attempt_is_forged(caller: Caller, attempt: uuid.UUID) -> None:
    assert caller.twilio("undelivered", attempt, signed_for=OTHER) == 403
    assert state() == DeliveryState.ACCEPTED


def test_a_call_that_nobody_signed_is_forged(caller: Caller, attempt: uuid.UUID) -> None:
    body = urlencode(twilio_fields("undelivered")).encode()
    assert caller.post(f"/receipts/twilio/{attempt}/", body, Content_Type=FORM) == 403
    assert state() == DeliveryState.ACCEPTED


def test_a_call_about_what_we_do_not_know_is_taken(caller: Caller) -> None:
    assert caller.twilio("delivered", OTHER) == 204


def test_vonage_calls_and_the_sms_failed(caller: Caller, attempt: uuid.UUID) -> None:
    assert caller.vonage("failed", attempt, timezone.now()) == 204
    assert state() == DeliveryState.FAILED


def test_a_stale_call_of_vonages_changes_nothing(caller: Caller, attempt: uuid.UUID) -> None:
    assert caller.vonage("failed", attempt, timezone.now() - 6 * MINUTE) == 403
    assert state() == DeliveryState.ACCEPTED


@pytest.mark.parametrize("version", ["1", "2"])
def test_amazon_calls_and_its_certificate_is_fetched_once(
    caller: Caller, attempt: uuid.UUID, amazon: SnsSigner, certificates: list[str], version: str
) -> None:
    for kind in ("TEXT_PENDING", "TEXT_DELIVERED", "TEXT_DELIVERED"):
        body = amazon.message(event(kind, attempt=attempt), at=timezone.now(), version=version)
        assert caller.amazon(body) == 204
    assert certificates == [CERTIFICATE]
    assert state() == DeliveryState.DELIVERED


def test_a_forged_call_of_amazons_changes_nothing(
    caller: Caller, attempt: uuid.UUID, amazon: SnsSigner, certificates: list[str]
) -> None:
    body = amazon.message(event("TEXT_PENDING", attempt=attempt), at=timezone.now())
    assert caller.amazon(body.replace(b"TEXT_PENDING", b"TEXT_SPAM")) == 403
    assert state() == DeliveryState.ACCEPTED


def test_a_stale_call_of_amazons_changes_nothing(
    caller: Caller, attempt: uuid.UUID, amazon: SnsSigner, certificates: list[str]
) -> None:
    body = amazon.message(event("TEXT_SPAM", attempt=attempt), at=timezone.now() - 11 * MINUTE)
    assert caller.amazon(body) == 403
    assert Attempt.objects.get().receipt == ""


def test_a_certificate_that_cannot_be_had_has_amazon_call_again(
    caller: Caller, attempt: uuid.UUID, amazon: SnsSigner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amazon, "fetch", unreachable)
    assert caller.amazon(amazon.message(event(attempt=attempt), at=timezone.now())) == 503
    assert state() == DeliveryState.ACCEPTED


def test_more_than_a_receipt_is_not_read(caller: Caller) -> None:
    body = b"To=" + NUMBER.encode() * 2000
    assert caller.post(f"/receipts/twilio/{OTHER}/", body, Content_Type=FORM, X_Twilio_Signature="x") == 413
