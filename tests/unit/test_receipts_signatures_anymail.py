"""Anymail's tracking events, behind a window of our own."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from anymail.signals import AnymailTrackingEvent, EventType, RejectReason

from notifications.email import anymail as transport
from notifications.outcome import Reason
from notifications.receipts.anymail import EVENTS, METADATA_KEY, REJECTIONS, AnymailReceiver
from notifications.receipts.callback import CallbackStale
from notifications.receipts.problems import ReceiverMisconfigured, ReceiverProblem
from notifications.receipts.receipt import Receipt, ReceiptVerdict
from tests.receipt_samples import ATTEMPT, NOW

RECEIVER = AnymailReceiver(window=dt.timedelta(minutes=5))


def read(event_type: str = EventType.DELIVERED, **values: Any) -> Receipt:
    fields = {"timestamp": NOW, "message_id": "<m@esp>", "metadata": {"reference": str(ATTEMPT)}, **values}
    return RECEIVER.read(AnymailTrackingEvent(event_type=event_type, **fields), NOW)


def constants(holder: type) -> set[str]:
    return {value for name, value in vars(holder).items() if name.isupper()}


def test_an_event_is_a_receipt_of_the_attempt_in_its_metadata() -> None:
    assert read() == Receipt(
        attempt_reference=ATTEMPT,
        provider_reference="<m@esp>",
        verdict=ReceiptVerdict.DELIVERED,
        occurred_at=NOW,
    )


def test_the_reference_is_where_our_transport_puts_it() -> None:
    assert METADATA_KEY == transport.METADATA_KEY


def test_the_table_knows_each_event_type_of_anymails() -> None:
    unknown = {EventType.UNKNOWN, EventType.INBOUND, EventType.INBOUND_FAILED}
    assert set(EVENTS) == constants(EventType) - unknown


def test_the_table_knows_each_rejection_of_anymails() -> None:
    assert set(REJECTIONS) == constants(RejectReason) - {RejectReason.OTHER}


@pytest.mark.parametrize("event_type", [EventType.BOUNCED, EventType.REJECTED, EventType.FAILED])
def test_what_did_not_arrive_failed(event_type: str) -> None:
    receipt = read(event_type, reject_reason=RejectReason.BOUNCED)
    assert (receipt.verdict, receipt.reason) == (ReceiptVerdict.FAILED, Reason.MAILBOX_UNAVAILABLE)


def test_an_unknown_event_is_progress_and_can_be_counted() -> None:
    receipt = read(EventType.UNKNOWN)
    assert (receipt.verdict, receipt.reason) == (ReceiptVerdict.PROGRESS, Reason.UNREADABLE_REPLY)


@pytest.mark.parametrize(
    "metadata", [{}, None, {"reference": "x"}, {"reference": 7}, {"other": str(ATTEMPT)}]
)
def test_mail_that_is_not_ours_names_no_attempt(metadata: dict[str, Any] | None) -> None:
    assert read(metadata=metadata).attempt_reference is None


@pytest.mark.parametrize(
    "timestamp", [None, NOW - dt.timedelta(minutes=5, seconds=1), NOW + dt.timedelta(seconds=61)]
)
def test_an_event_without_a_time_within_the_window_is_stale(timestamp: dt.datetime | None) -> None:
    with pytest.raises(CallbackStale):
        read(timestamp=timestamp)


@pytest.mark.parametrize("options", [{}, {"window": dt.timedelta(days=2)}, {"window": 300}])
def test_no_window_is_no_receiver(options: dict[str, Any]) -> None:
    with pytest.raises(ReceiverMisconfigured) as caught:
        AnymailReceiver(**options)
    assert caught.value.problem is ReceiverProblem.WINDOW
