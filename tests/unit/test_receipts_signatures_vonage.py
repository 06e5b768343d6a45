"""Vonage's signed delivery receipts: signed, read, refused."""

from __future__ import annotations

import datetime as dt
import hashlib
import json

import pytest

from notifications.outcome import Reason
from notifications.receipts.callback import Callback, CallbackRefused, CallbackStale, CallbackUnreadable
from notifications.receipts.problems import ReceiverMisconfigured, ReceiverProblem
from notifications.receipts.receipt import Receipt, ReceiptVerdict
from notifications.receipts.vonage import ERRORS, METHODS, STATUSES, VonageReceiver
from tests.receipt_samples import ATTEMPT, NOW, OTHER, SECRET, call, vonage_call, vonage_fields

RECEIVER = VonageReceiver(signature_secret=SECRET, window=dt.timedelta(minutes=5))
MINUTE = dt.timedelta(minutes=1)


def read(callback: Callback) -> Receipt:
    (receipt,) = RECEIVER.read(callback)
    return receipt


def test_the_text_that_is_signed_is_the_documented_one() -> None:
    receiver = VonageReceiver(signature_secret="secret", signature_method="md5hash")
    signature = receiver.sign({"b": "x&y=z", "a": "1"})
    assert signature == hashlib.md5(b"&a=1&b=x_y_zsecret").hexdigest()


@pytest.mark.parametrize("method", METHODS)
def test_each_documented_method_is_checked(method: str) -> None:
    receiver = VonageReceiver(signature_secret=SECRET, signature_method=method)
    fields = {name: value for name, value in vonage_fields().items() if name != "sig"}
    signed = {**fields, "sig": receiver.sign(fields).upper()}
    assert receiver.read(vonage_call(signed))[0].verdict is ReceiptVerdict.DELIVERED


@pytest.mark.parametrize("method", [m for m in METHODS if m != "sha256"])
def test_a_call_cannot_choose_the_method(method: str) -> None:
    weaker = VonageReceiver(signature_secret=SECRET, signature_method=method)
    fields = {name: value for name, value in vonage_fields().items() if name != "sig"}
    with pytest.raises(CallbackRefused):
        RECEIVER.read(vonage_call({**fields, "sig": weaker.sign(fields)}))


def test_a_signed_form_is_a_receipt_of_the_attempt_it_names() -> None:
    assert read(vonage_call(vonage_fields())) == Receipt(
        attempt_reference=ATTEMPT,
        provider_reference="0B00000127FDBC63",
        verdict=ReceiptVerdict.DELIVERED,
        occurred_at=NOW,
    )


def test_the_same_fields_may_come_as_json() -> None:
    fields: dict[str, object] = {**vonage_fields(), "timestamp": int(NOW.timestamp())}
    receipt = read(
        call("vonage", json.dumps(fields).encode(), content_type="application/json; charset=utf-8")
    )
    assert receipt.verdict is ReceiptVerdict.DELIVERED


def test_an_account_wide_address_names_no_attempt_and_the_receipt_does() -> None:
    assert read(vonage_call(vonage_fields(), attempt=None)).attempt_reference == ATTEMPT


@pytest.mark.parametrize(
    "reference", ["", "order 17", str(ATTEMPT).upper(), f"{{{ATTEMPT}}}", ATTEMPT.urn, ATTEMPT.hex]
)
def test_a_reference_that_we_never_sent_names_no_attempt(reference: str) -> None:
    callback = vonage_call(vonage_fields(client_ref=reference), attempt=None)
    assert read(callback).attempt_reference is None


@pytest.mark.parametrize(("status", "verdict"), STATUSES.items())
def test_each_status_has_its_verdict(status: str, verdict: ReceiptVerdict) -> None:
    assert read(vonage_call(vonage_fields(status))).verdict is verdict


@pytest.mark.parametrize(("code", "reason"), [*ERRORS.items(), ("1234", Reason.PROVIDER_ERROR)])
def test_each_error_of_what_failed_has_its_reason(code: str, reason: Reason) -> None:
    assert read(vonage_call(vonage_fields("failed", err_code=code))).reason is reason


def test_what_the_carrier_held_too_long_expired() -> None:
    assert read(vonage_call(vonage_fields("expired", err_code="2"))).reason is Reason.EXPIRED_AT_PROVIDER


def test_an_unknown_status_is_progress_and_can_be_counted() -> None:
    receipt = read(vonage_call(vonage_fields("teleported")))
    assert (receipt.verdict, receipt.reason) == (ReceiptVerdict.PROGRESS, Reason.UNREADABLE_REPLY)


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "failed"},
        {"client-ref": str(OTHER)},
        {"timestamp": str(int((NOW + MINUTE).timestamp()))},
        {"more": "1"},
        {"sig": ""},
        {"sig": "é"},
    ],
    ids=str,
)
def test_what_vonage_did_not_sign_is_refused(changes: dict[str, str]) -> None:
    with pytest.raises(CallbackRefused):
        RECEIVER.read(vonage_call({**vonage_fields(), **changes}))


def test_a_field_cannot_be_hidden_in_the_name_of_another() -> None:
    fields = vonage_fields()
    hidden = {n: v for n, v in fields.items() if n not in {"client-ref", "err-code"}}
    hidden[f"client-ref={ATTEMPT}&err-code"] = "0"
    assert RECEIVER.sign({**hidden, "sig": ""}) == RECEIVER.sign({**fields, "sig": ""})
    with pytest.raises(CallbackRefused):
        RECEIVER.read(vonage_call(hidden, attempt=None))


def test_a_receipt_sent_on_to_another_attempts_address_is_refused() -> None:
    with pytest.raises(CallbackRefused):
        RECEIVER.read(vonage_call(vonage_fields(), attempt=OTHER))


@pytest.mark.parametrize("received", [5 * MINUTE, -1 * MINUTE])
def test_within_the_window_a_signature_counts(received: dt.timedelta) -> None:
    callback = vonage_call(vonage_fields(), at=NOW + received)
    assert read(callback).verdict is ReceiptVerdict.DELIVERED


@pytest.mark.parametrize("received", [5 * MINUTE + dt.timedelta(seconds=1), dt.timedelta(seconds=-61)])
def test_outside_of_it_a_signature_is_stale(received: dt.timedelta) -> None:
    with pytest.raises(CallbackStale):
        RECEIVER.read(vonage_call(vonage_fields(), at=NOW + received))


@pytest.mark.parametrize("timestamp", ["", "soon", "-1", "9" * 12, "1" * 40])
def test_a_signature_without_a_time_is_stale(timestamp: str) -> None:
    with pytest.raises(CallbackStale):
        RECEIVER.read(vonage_call(vonage_fields(timestamp=timestamp)))


@pytest.mark.parametrize(
    "callback",
    [
        pytest.param(call("vonage", b"a=1&a=2"), id="a field twice"),
        pytest.param(call("vonage", b"", query="status=delivered"), id="a query"),
        pytest.param(call("vonage", b"%ff", content_type=""), id="no UTF-8"),
        pytest.param(call("vonage", b"\xff=1"), id="no ASCII"),
        pytest.param(call("vonage", b"&".join([b"a=1"] * 101)), id="too many fields"),
        pytest.param(call("vonage", b'{"a": []}', content_type="application/json"), id="a list in JSON"),
        pytest.param(vonage_call(vonage_fields(messageId="x" * 300)), id="too long an id"),
        pytest.param(vonage_call(vonage_fields("")), id="no status"),
    ],
)
def test_another_form_is_unreadable(callback: Callback) -> None:
    with pytest.raises(CallbackUnreadable):
        RECEIVER.read(callback)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, ReceiverProblem.SECRET),
        ({"signature_secret": ""}, ReceiverProblem.SECRET),
        ({"signature_secret": SECRET, "signature_method": "none"}, ReceiverProblem.SECRET),
        ({"signature_secret": SECRET, "window": dt.timedelta(0)}, ReceiverProblem.WINDOW),
        ({"signature_secret": SECRET, "window": 600}, ReceiverProblem.WINDOW),
    ],
)
def test_options_that_cannot_work_are_named(options: dict[str, object], problem: ReceiverProblem) -> None:
    with pytest.raises(ReceiverMisconfigured) as caught:
        VonageReceiver(**options)  # type: ignore[arg-type]  # wrong on purpose
    assert caught.value.problem is problem
    assert SECRET not in str(caught.value)
