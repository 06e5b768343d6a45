"""Providers' calls at the view: what is stored, what is refused, what is never said."""

from __future__ import annotations

import datetime as dt
import logging
import uuid
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import DatabaseError
from django.test import Client
from django.utils import timezone

from notifications.channels import Channel
from notifications.receipts.receipt import Receipt, ReceiptVerdict
from resetdelivery import callbacks
from resetdelivery.claims import Marked
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, Delivery
from resetdelivery.receipts import RecordedReceipt
from tests.conftest import age
from tests.integration.conftest import Settings
from tests.receipt_samples import (
    BASE,
    FORM,
    NUMBER,
    OTHER,
    SECRET,
    SID,
    TOKEN,
    TOPIC,
    SnsSigner,
    event,
    twilio_fields,
    twilio_signature,
    vonage_fields,
)
from tests.steps import CUT, answer, record, store, take

pytestmark = pytest.mark.django_db

MINUTE = dt.timedelta(minutes=1)
Send = Callable[..., Any]


@pytest.fixture(scope="module")
def amazon() -> SnsSigner:
    return SnsSigner()


@pytest.fixture(autouse=True)
def _configured(change: Settings, amazon: SnsSigner) -> None:
    change(
        RECEIPTS_BASE_URL=BASE,
        RECEIPTS={
            "twilio": {"auth_token": TOKEN},
            "vonage": {"signature_secret": SECRET, "window": 5 * MINUTE},
            "sns": {"topic_arns": [TOPIC], "fetch": amazon.fetch},
        },
    )


@pytest.fixture
def client() -> Client:
    """A caller from outside, with no cookie and no CSRF token."""
    return Client(enforce_csrf_checks=True)


@pytest.fixture
def submitted() -> Marked:
    """One SMS that a provider may have, whose submission has not ended yet."""
    store(channel=Channel.SMS)
    return record(take(Channel.SMS))[0]


@pytest.fixture
def twilio(client: Client) -> Send:
    """Calls as Twilio does; ``signed_for`` is whose address the signature is for."""

    def send(
        status: str, attempt: uuid.UUID, *, signed_for: uuid.UUID | None = None, base: str = BASE, **more: Any
    ) -> Any:
        fields = twilio_fields(status)
        signature = twilio_signature(f"{base}/twilio/{signed_for or attempt}/", fields)
        headers = {"X-Twilio-Signature": signature, **more.pop("headers", {})}
        return post(client, f"/receipts/twilio/{attempt}/", fields, headers=headers, **more)

    return send


@pytest.fixture
def vonage(client: Client) -> Send:
    def send(status: str, attempt: uuid.UUID, *, at: dt.datetime | None = None, to: Any = None) -> Any:
        fields = vonage_fields(status, at=at or timezone.now(), attempt=attempt)
        return post(client, f"/receipts/vonage/{to or attempt}/", fields)

    return send


def post(client: Client, path: str, fields: Mapping[str, str], **more: Any) -> Any:
    return client.post(path, urlencode(fields), content_type=FORM, **more)


def state() -> str:
    return Delivery.objects.get().state


def receipt_of(reference: uuid.UUID) -> str:
    return Attempt.objects.get(reference=reference).receipt


def test_twilio_says_what_became_of_an_accepted_sms(twilio: Send, submitted: Marked) -> None:
    answer([submitted])
    assert twilio("delivered", submitted.attempt_reference).status_code == 204
    assert state() == DeliveryState.DELIVERED


def test_vonage_says_what_became_of_an_accepted_sms(vonage: Send, submitted: Marked) -> None:
    answer([submitted])
    assert vonage("rejected", submitted.attempt_reference).status_code == 204
    assert state() == DeliveryState.FAILED


def test_amazon_says_what_became_of_an_accepted_sms(
    client: Client, amazon: SnsSigner, submitted: Marked
) -> None:
    answer([submitted])
    body = amazon.message(event(attempt=submitted.attempt_reference), at=timezone.now())
    assert client.post("/receipts/sns/", body, content_type="text/plain; charset=UTF-8").status_code == 204
    assert state() == DeliveryState.DELIVERED


def test_a_forged_receipt_changes_nothing(twilio: Send, submitted: Marked) -> None:
    answer([submitted])
    reply = twilio("failed", submitted.attempt_reference, headers={"X-Twilio-Signature": "Zm9yZ2Vk"})
    assert reply.status_code == 403
    assert state() == DeliveryState.ACCEPTED


def test_a_receipt_signed_for_another_attempt_changes_nothing(twilio: Send, submitted: Marked) -> None:
    answer([submitted])
    assert twilio("failed", submitted.attempt_reference, signed_for=OTHER).status_code == 403
    assert receipt_of(submitted.attempt_reference) == ""


def test_vonages_signature_counts_at_the_address_of_its_own_attempt_only(
    vonage: Send, submitted: Marked
) -> None:
    answer([submitted])
    assert vonage("failed", OTHER, to=submitted.attempt_reference).status_code == 403
    assert receipt_of(submitted.attempt_reference) == ""


def test_a_replay_changes_nothing_and_is_no_error(twilio: Send, submitted: Marked) -> None:
    answer([submitted])
    replies = [twilio("undelivered", submitted.attempt_reference) for _ in range(3)]
    assert [reply.status_code for reply in replies] == [204, 204, 204]
    assert state() == DeliveryState.FAILED


def test_a_stale_receipt_changes_nothing(vonage: Send, submitted: Marked) -> None:
    answer([submitted])
    reply = vonage("failed", submitted.attempt_reference, at=timezone.now() - 6 * MINUTE)
    assert reply.status_code == 403
    assert receipt_of(submitted.attempt_reference) == ""


@pytest.mark.parametrize("later", ["queued", "sent", "undelivered"])
def test_what_comes_after_delivered_does_not_take_it_back(
    twilio: Send, submitted: Marked, later: str
) -> None:
    answer([submitted])
    for status in ("delivered", later):
        assert twilio(status, submitted.attempt_reference).status_code == 204
    assert state() == DeliveryState.DELIVERED


def test_a_receipt_that_comes_before_the_submission_ended_waits_for_its_end(
    twilio: Send, submitted: Marked
) -> None:
    twilio("delivered", submitted.attempt_reference)
    assert state() == DeliveryState.SUBMITTING
    answer([submitted])
    assert state() == DeliveryState.DELIVERED


def test_a_failure_of_an_older_attempt_is_kept_and_moves_nothing(twilio: Send, submitted: Marked) -> None:
    answer([submitted], CUT)
    age(1)
    answer(record(take(Channel.SMS)))
    assert twilio("undelivered", submitted.attempt_reference).status_code == 204
    assert receipt_of(submitted.attempt_reference) == ReceiptVerdict.FAILED
    assert state() == DeliveryState.ACCEPTED


def test_an_unknown_attempt_is_no_error(twilio: Send, logged: Callable[[], list[dict[str, Any]]]) -> None:
    assert twilio("delivered", OTHER).status_code == 204
    assert logged() == [
        {
            "event": "receipt_callback",
            "provider": "twilio",
            "result": "unknown",
            "verdict": "delivered",
            "reason": "ok",
        }
    ]


def test_an_unknown_status_is_counted_by_its_reason(
    twilio: Send, submitted: Marked, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    assert twilio("teleported", submitted.attempt_reference).status_code == 204
    assert logged()[0]["reason"] == "unreadable_reply"


def test_a_subscription_is_confirmed(client: Client, amazon: SnsSigner) -> None:
    amazon.fetched.clear()
    body = amazon.message(
        "Hello.", at=timezone.now(), Type="SubscriptionConfirmation", Token="t", SubscribeURL="https://x/"
    )
    assert client.post("/receipts/sns/", body, content_type="text/plain").status_code == 204
    assert amazon.fetched[-1].startswith(
        "https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription&"
    )


# The address.


def test_a_proxys_host_and_scheme_do_not_matter(twilio: Send, submitted: Marked) -> None:
    reply = twilio("delivered", submitted.attempt_reference, headers={"Host": "127.0.0.1:8000"})
    assert reply.status_code == 204


def test_a_signature_for_the_requests_own_address_is_no_signature(twilio: Send, submitted: Marked) -> None:
    assert (
        twilio("delivered", submitted.attempt_reference, base="http://testserver/receipts").status_code == 403
    )


def test_the_query_is_part_of_what_twilio_signs(client: Client, submitted: Marked) -> None:
    path = f"/twilio/{submitted.attempt_reference}/?b=%7e&a=1"
    fields = twilio_fields()
    headers = {"X-Twilio-Signature": twilio_signature(BASE + path, fields)}
    assert post(client, "/receipts" + path, fields, headers=headers).status_code == 204
    assert post(client, "/receipts" + path + "&", fields, headers=headers).status_code == 403


# The edge.


@pytest.mark.parametrize("method", ["get", "head", "put", "delete", "options"])
def test_only_post_is_taken(client: Client, method: str) -> None:
    reply = getattr(client, method)(f"/receipts/vonage/{OTHER}/")
    assert (reply.status_code, reply["Allow"]) == (405, "POST")


@pytest.mark.parametrize("path", ["anymail/", "pigeon/", f"twilio/{OTHER}x/", "twilio/not-a-reference/"])
def test_what_is_not_configured_is_not_there(client: Client, path: str) -> None:
    assert client.post(f"/receipts/{path}").status_code == 404


@pytest.mark.parametrize(
    ("octets", "status"), [(callbacks.MAX_BODY_OCTETS, 403), (callbacks.MAX_BODY_OCTETS + 1, 413)]
)
def test_a_body_is_bounded(client: Client, octets: int, status: int) -> None:
    body = b"a=" + b"1" * (octets - 2)
    headers = {"X-Twilio-Signature": "x"}
    reply = client.post(f"/receipts/twilio/{OTHER}/", body, content_type=FORM, headers=headers)
    assert reply.status_code == status


def test_a_malformed_body_is_the_callers_mistake(client: Client) -> None:
    reply = client.post("/receipts/sns/", b"{", content_type="application/json")
    assert reply.status_code == 400


def test_no_answer_says_more_than_its_status(
    twilio: Send, vonage: Send, client: Client, submitted: Marked
) -> None:
    attempt = submitted.attempt_reference
    replies: list[Any] = [
        twilio("delivered", attempt),
        twilio("delivered", OTHER),
        twilio("delivered", attempt, signed_for=OTHER),
        vonage("delivered", attempt, at=timezone.now() - 6 * MINUTE),
        client.post("/receipts/sns/", b"{", content_type="application/json"),
    ]
    assert [reply.status_code for reply in replies] == [204, 204, 403, 403, 400]
    assert {reply.content for reply in replies} == {b""}
    assert replies[2].headers == replies[3].headers


def test_a_database_that_is_away_has_the_provider_call_again(
    twilio: Send, submitted: Marked, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(_: Receipt) -> RecordedReceipt:
        raise DatabaseError(f"parameters: {NUMBER}")

    monkeypatch.setattr(callbacks, "record", away)
    assert twilio("delivered", submitted.attempt_reference).status_code == 503
    assert NUMBER not in caplog.text
    assert "DatabaseError" in caplog.text


def test_a_view_inside_atomic_requests_keeps_its_own_transactions() -> None:
    assert callbacks.receipt_callback._non_atomic_requests == {"default"}  # type: ignore[attr-defined]  # Django's mark


# The sinks.


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[dict[str, Any]]]:
    """The lines that the edge itself counts."""
    lines: list[dict[str, Any]] = []

    class Counter:
        def info(self, event: str, **fields: Any) -> None:
            lines.append({"event": event, **fields})

    monkeypatch.setattr(callbacks, "log", Counter())
    return lambda: lines


def test_nothing_of_a_call_reaches_a_log(
    twilio: Send, vonage: Send, client: Client, submitted: Marked, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    attempt = submitted.attempt_reference
    for send in (twilio, vonage):
        for status in ("queued", "teleported", "delivered"):
            send(status, attempt)
        send("delivered", OTHER)
    twilio("delivered", attempt, signed_for=OTHER)
    vonage("delivered", attempt, at=timezone.now() - 6 * MINUTE)
    client.post("/receipts/sns/", f'{{"to": "{NUMBER}"', content_type="application/json")
    assert "receipt_callback" in caplog.text
    for secret in (NUMBER.removeprefix("+"), SID, "0B00000127FDBC63", "teleported", TOKEN, SECRET):
        assert secret not in caplog.text
