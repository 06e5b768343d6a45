"""Twilio's status callbacks: signed, read, refused."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from urllib.parse import urlencode

import pytest

from notifications.outcome import Reason
from notifications.receipts.callback import Callback, CallbackRefused, CallbackUnreadable
from notifications.receipts.problems import ReceiverMisconfigured, ReceiverProblem
from notifications.receipts.receipt import Receipt, ReceiptVerdict
from notifications.receipts.twilio import ERRORS, STATUSES, TwilioReceiver, sign
from tests.receipt_samples import (
    ATTEMPT,
    BASE,
    FORM,
    OTHER,
    SID,
    TOKEN,
    call,
    twilio_call,
    twilio_fields,
    twilio_signature,
)

RECEIVER = TwilioReceiver(auth_token=TOKEN)


def read(callback: Callback) -> Receipt:
    (receipt,) = RECEIVER.read(callback)
    return receipt


def test_the_signature_of_twilios_own_documentation_comes_out() -> None:
    fields = {
        "CallSid": "CA1234567890ABCDE",
        "Caller": "+12349013030",
        "Digits": "1234",
        "From": "+12349013030",
        "To": "+18005551212",
    }
    url = "https://mycompany.com/myapp.php?foo=1&bar=2"
    assert sign(b"12345", url, list(fields.items())) == b"0/KCTR6DLpKmkAf8muzZqo1nDgQ="


def test_a_signed_callback_is_a_receipt_of_the_attempt_in_its_address() -> None:
    assert read(twilio_call("delivered")) == Receipt(
        attempt_reference=ATTEMPT, provider_reference=SID, verdict=ReceiptVerdict.DELIVERED
    )


@pytest.mark.parametrize(("status", "verdict"), STATUSES.items())
def test_each_status_has_its_verdict(status: str, verdict: ReceiptVerdict) -> None:
    assert read(twilio_call(status)).verdict is verdict


@pytest.mark.parametrize(
    ("code", "reason"), [*ERRORS.items(), ("", Reason.PROVIDER_ERROR), ("39999", Reason.PROVIDER_ERROR)]
)
def test_each_error_of_what_was_not_delivered_has_its_reason(code: str, reason: Reason) -> None:
    receipt = read(twilio_call("undelivered", ErrorCode=code))
    assert (receipt.verdict, receipt.reason) == (ReceiptVerdict.FAILED, reason)


def test_an_unknown_status_is_progress_and_can_be_counted() -> None:
    receipt = read(twilio_call("teleported"))
    assert (receipt.verdict, receipt.reason) == (ReceiptVerdict.PROGRESS, Reason.UNREADABLE_REPLY)


def changed(**values: object) -> Callback:
    return replace(twilio_call(), **values)  # type: ignore[arg-type]  # a test's own change


@pytest.mark.parametrize(
    "callback",
    [
        pytest.param(changed(headers={"content-type": FORM}), id="no signature"),
        pytest.param(changed(headers={"content-type": FORM, "x-twilio-signature": "é"}), id="no base64"),
        pytest.param(changed(url=f"{BASE}/twilio/{OTHER}/"), id="another attempt's address"),
        pytest.param(changed(url=twilio_call().url.replace("https", "http")), id="another scheme"),
        pytest.param(changed(url=twilio_call().url.replace("shop", "evil")), id="another host"),
        pytest.param(changed(url=twilio_call().url + "?a=1"), id="a query that was not called"),
        pytest.param(changed(body=twilio_call().body.replace(b"delivered", b"failed")), id="another status"),
        pytest.param(changed(body=twilio_call().body + b"&More=1"), id="one field more"),
        pytest.param(changed(body=b""), id="no fields"),
    ],
)
def test_what_twilio_did_not_sign_is_refused(callback: Callback) -> None:
    with pytest.raises(CallbackRefused):
        RECEIVER.read(callback)


def test_a_signature_under_another_token_is_refused() -> None:
    with pytest.raises(CallbackRefused):
        TwilioReceiver(auth_token="another token").read(twilio_call())


def test_either_token_signs_while_they_change_places() -> None:
    receiver = TwilioReceiver(auth_token="the new token", other_auth_token=TOKEN)
    assert receiver.read(twilio_call())[0].verdict is ReceiptVerdict.DELIVERED


@pytest.mark.parametrize(
    ("configured", "signed"),
    [
        ("https://shop.example/receipts", "https://shop.example:443/receipts"),
        ("https://shop.example:443/receipts", "https://shop.example/receipts"),
        ("https://shop.example:8443/receipts", "https://shop.example/receipts"),
        ("https://shop.example:8443/receipts", "https://shop.example:8443/receipts"),
        ("https://[2001:db8::1]:8443/receipts", "https://[2001:db8::1]/receipts"),
    ],
)
def test_the_port_may_be_signed_or_not(configured: str, signed: str) -> None:
    signature = twilio_signature(signed, twilio_fields())
    headers = {"content-type": FORM, "x-twilio-signature": signature}
    assert read(changed(url=configured, headers=headers)).verdict is ReceiptVerdict.DELIVERED


def test_an_order_of_fields_and_a_repeated_one_change_no_signature() -> None:
    pairs = [("A", "2"), ("A", "1"), *twilio_fields().items(), ("A", "2")]
    unordered = [("A", "1"), ("A", "2"), *reversed(twilio_fields().items())]
    signature = sign(TOKEN.encode(), twilio_call().url, pairs).decode()
    callback = changed(
        body=urlencode(unordered).encode(), headers={"content-type": FORM, "x-twilio-signature": signature}
    )
    assert read(callback).verdict is ReceiptVerdict.DELIVERED


def json_call(body: bytes, *, hashed: bytes | None = None) -> Callback:
    query = f"bodySHA256={hashlib.sha256(body if hashed is None else hashed).hexdigest()}"
    signature = twilio_signature(f"{BASE}/twilio/{ATTEMPT}/?{query}", {})
    return call("twilio", body, query=query, content_type="application/json", x_twilio_signature=signature)


def test_a_json_body_is_signed_by_its_hash_in_the_query() -> None:
    body = json.dumps(twilio_fields("undelivered", ErrorCode="30005")).encode()
    receipt = read(json_call(body))
    assert (receipt.verdict, receipt.reason) == (ReceiptVerdict.FAILED, Reason.INVALID_DESTINATION)


def test_a_json_body_that_is_not_the_hashed_one_is_refused() -> None:
    body = json.dumps(twilio_fields()).encode()
    with pytest.raises(CallbackRefused):
        RECEIVER.read(json_call(body, hashed=b"{}"))


def test_a_json_body_without_a_hash_is_refused() -> None:
    signature = twilio_signature(f"{BASE}/twilio/{ATTEMPT}/", {})
    body = json.dumps(twilio_fields()).encode()
    callback = call("twilio", body, content_type="application/json", x_twilio_signature=signature)
    with pytest.raises(CallbackRefused):
        RECEIVER.read(callback)


def test_a_json_body_that_says_two_things_is_unreadable() -> None:
    body = json.dumps(twilio_fields()).encode()
    twice = body.removesuffix(b"}") + b', "MessageStatus": "failed"}'
    with pytest.raises(CallbackUnreadable):
        RECEIVER.read(json_call(twice))


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"MessageSid": "SM1"}', b"[" * 9999])
def test_a_signed_json_body_of_another_form_is_unreadable(body: bytes) -> None:
    with pytest.raises(CallbackUnreadable):
        RECEIVER.read(json_call(body))


@pytest.mark.parametrize(
    "fields", [{}, {"MessageSid": "SM1"}, {"MessageSid": SID}, {**twilio_fields(), "MessageSid": "x" * 300}]
)
def test_a_signed_form_without_what_a_receipt_needs_is_unreadable(fields: dict[str, str]) -> None:
    signature = twilio_signature(twilio_call().url, fields)
    callback = changed(
        body=urlencode(fields).encode(), headers={"content-type": FORM, "x-twilio-signature": signature}
    )
    with pytest.raises(CallbackUnreadable):
        RECEIVER.read(callback)


@pytest.mark.parametrize("options", [{}, {"auth_token": ""}, {"auth_token": " "}])
def test_no_token_is_no_receiver(options: dict[str, str]) -> None:
    with pytest.raises(ReceiverMisconfigured) as caught:
        TwilioReceiver(**options)
    assert caught.value.problem is ReceiverProblem.SECRET


def test_nothing_of_a_call_is_in_its_repr() -> None:
    assert "15199918181" not in repr(twilio_call())
    assert "delivered" not in repr(twilio_call())
