"""Amazon SNS: signatures, certificates, subscriptions, and the events it carries."""

from __future__ import annotations

import datetime as dt
import json
import threading
from typing import Any

import pytest

from notifications.outcome import Reason
from notifications.receipts.aws_events import CONTEXT_KEY, EVENTS
from notifications.receipts.callback import (
    CallbackPostponed,
    CallbackRefused,
    CallbackStale,
    CallbackUnreadable,
)
from notifications.receipts.problems import ReceiverMisconfigured, ReceiverProblem
from notifications.receipts.receipt import Receipt, ReceiptVerdict
from notifications.receipts.sns import SnsReceiver
from notifications.receipts.sns_certificates import MAX_KEPT
from notifications.sms import aws
from tests.receipt_samples import (
    ATTEMPT,
    CERTIFICATE,
    NOW,
    OTHER,
    TOPIC,
    SnsSigner,
    call,
    event,
    unreachable,
)


@pytest.fixture(scope="module")
def amazon() -> SnsSigner:
    return SnsSigner()


@pytest.fixture
def receiver(amazon: SnsSigner) -> SnsReceiver:
    amazon.fetched.clear()
    return SnsReceiver(topic_arns=[TOPIC], window=dt.timedelta(minutes=5), fetch=amazon.fetch)


def read(receiver: SnsReceiver, body: bytes, **call_options: Any) -> Receipt:
    (receipt,) = receiver.read(call("sns", body, attempt=None, **call_options))
    return receipt


def altered(body: bytes, **changes: object) -> bytes:
    return json.dumps({**json.loads(body), **changes}).encode()


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_signed_event_is_a_receipt_of_the_attempt_in_its_context(
    amazon: SnsSigner, receiver: SnsReceiver, version: str
) -> None:
    assert read(receiver, amazon.message(event(), version=version)) == Receipt(
        attempt_reference=ATTEMPT,
        provider_reference="862a8790-60c0-4430-9b2b-658bde0ca1f3",
        verdict=ReceiptVerdict.DELIVERED,
        occurred_at=NOW,
    )


def test_a_subject_is_signed_where_there_is_one(amazon: SnsSigner, receiver: SnsReceiver) -> None:
    body = amazon.message(event(), Subject="Events")
    assert read(receiver, body).verdict is ReceiptVerdict.DELIVERED
    with pytest.raises(CallbackRefused):
        read(receiver, altered(body, Subject="Other events"))


def test_the_reference_is_where_our_transport_puts_it() -> None:
    assert CONTEXT_KEY == aws.CONTEXT_KEY


@pytest.mark.parametrize(("kind", "meaning"), EVENTS.items())
def test_each_event_has_its_meaning(
    amazon: SnsSigner, receiver: SnsReceiver, kind: str, meaning: tuple[ReceiptVerdict, Reason]
) -> None:
    receipt = read(receiver, amazon.message(event(kind)))
    assert (receipt.verdict, receipt.reason) == meaning


def test_an_unknown_event_is_progress_and_can_be_counted(amazon: SnsSigner, receiver: SnsReceiver) -> None:
    receipt = read(receiver, amazon.message(event("TEXT_TELEPORTED")))
    assert (receipt.verdict, receipt.reason) == (ReceiptVerdict.PROGRESS, Reason.UNREADABLE_REPLY)


@pytest.mark.parametrize("kind", ["TEXT_SUCCESSFUL", "TEXT_UNREACHABLE"])
def test_what_is_not_final_is_progress(amazon: SnsSigner, receiver: SnsReceiver, kind: str) -> None:
    receipt = read(receiver, amazon.message(event(kind, isFinal=False)))
    assert receipt.verdict is ReceiptVerdict.PROGRESS


@pytest.mark.parametrize(
    "changes",
    [
        {"Message": event("TEXT_BLOCKED")},
        {"MessageId": "another"},
        {"Timestamp": "2026-11-29T12:00:01.000Z"},
        {"TopicArn": TOPIC + "2"},
        {"TopicArn": None},
        {"Type": "UnsubscribeConfirmation"},
        {"Type": "Letter"},
        {"SignatureVersion": "1"},
        {"SignatureVersion": "3"},
        {"Signature": ""},
        {"Signature": "no base64"},
        {"Signature": 7},
        {"Message": 7},
    ],
    ids=lambda changes: ",".join(changes),
)
def test_what_amazon_did_not_sign_is_refused(
    amazon: SnsSigner, receiver: SnsReceiver, changes: dict[str, object]
) -> None:
    with pytest.raises(CallbackRefused):
        read(receiver, altered(amazon.message(event()), **changes))


def test_another_key_of_amazons_name_is_refused(receiver: SnsReceiver) -> None:
    with pytest.raises(CallbackRefused):
        read(receiver, SnsSigner().message(event()))


@pytest.mark.parametrize(
    "url",
    [
        CERTIFICATE.replace("https", "http"),
        CERTIFICATE.replace("sns.eu-central-1", "sns.us-east-1"),
        CERTIFICATE.replace("amazonaws.com", "amazonaws.com.evil.example"),
        CERTIFICATE.replace("amazonaws.com", "evil.example"),
        CERTIFICATE.replace("sns.", "s3."),
        CERTIFICATE.replace("https://", "https://me@evil.example:443/"),
        CERTIFICATE.replace("amazonaws.com", "amazonaws.com:8443"),
        CERTIFICATE.replace("amazonaws.com", "amazonaws.com.cn"),
        CERTIFICATE.replace("amazonaws.com/", "amazonaws.com/bucket/../"),
        CERTIFICATE.removeprefix("https://sns.eu-central-1.amazonaws.com"),
        CERTIFICATE + "?x=.pem",
        CERTIFICATE + "\n",
        CERTIFICATE.replace(".pem", ".txt"),
        "",
    ],
)
def test_a_certificate_is_fetched_from_the_topics_own_region_of_sns_only(
    amazon: SnsSigner, receiver: SnsReceiver, url: str
) -> None:
    with pytest.raises(CallbackRefused):
        read(receiver, amazon.message(event(), SigningCertURL=url))
    assert amazon.fetched == []


def test_chinas_regions_have_a_domain_of_their_own(amazon: SnsSigner) -> None:
    topic = TOPIC.replace("aws:", "aws-cn:").replace("eu-central-1", "cn-north-1")
    url = CERTIFICATE.replace("eu-central-1.amazonaws.com", "cn-north-1.amazonaws.com.cn")
    signer = SnsSigner(name="sns.cn-north-1.amazonaws.com.cn")
    receiver = SnsReceiver(topic_arns=[topic], fetch=signer.fetch)
    body = signer.message(event(), TopicArn=topic, SigningCertURL=url)
    assert read(receiver, body).verdict is ReceiptVerdict.DELIVERED


def test_a_certificate_is_fetched_once(amazon: SnsSigner, receiver: SnsReceiver) -> None:
    for _ in range(3):
        read(receiver, amazon.message(event()))
    assert amazon.fetched == [CERTIFICATE]


def test_the_certificates_that_are_kept_are_bounded(amazon: SnsSigner, receiver: SnsReceiver) -> None:
    urls = [CERTIFICATE.replace("0123", f"{number:04}") for number in range(MAX_KEPT + 1)]
    for url in [*urls, urls[-1], urls[0]]:
        read(receiver, amazon.message(event(), SigningCertURL=url))
    assert amazon.fetched == [*urls, urls[0]]


@pytest.mark.parametrize(
    "signer",
    [
        pytest.param(lambda: SnsSigner(name="evil.example"), id="of another name"),
        pytest.param(lambda: SnsSigner(not_after=NOW - dt.timedelta(seconds=1)), id="expired"),
        pytest.param(lambda: SnsSigner(bits=1024), id="too short"),
    ],
)
def test_a_certificate_that_is_not_snss_is_refused(signer: Any) -> None:
    made = signer()
    with pytest.raises(CallbackRefused):
        read(SnsReceiver(topic_arns=[TOPIC], fetch=made.fetch), made.message(event()))


def test_what_is_no_certificate_is_refused_and_not_kept(amazon: SnsSigner) -> None:
    answers = [b"no certificate", amazon.pem]
    receiver = SnsReceiver(topic_arns=[TOPIC], fetch=lambda _: answers.pop(0))
    with pytest.raises(CallbackRefused):
        read(receiver, amazon.message(event()))
    assert read(receiver, amazon.message(event())).verdict is ReceiptVerdict.DELIVERED


def test_a_certificate_that_cannot_be_had_postpones(amazon: SnsSigner) -> None:
    with pytest.raises(CallbackPostponed):
        read(SnsReceiver(topic_arns=[TOPIC], fetch=unreachable), amazon.message(event()))


def test_whoever_comes_during_a_fetch_comes_again_and_waits_for_nothing(amazon: SnsSigner) -> None:
    fetching, released = threading.Event(), threading.Event()

    def slow(url: str) -> bytes:
        fetching.set()
        assert released.wait(10)
        return amazon.fetch(url)

    receiver = SnsReceiver(topic_arns=[TOPIC], fetch=slow)
    first = threading.Thread(target=read, args=(receiver, amazon.message(event())))
    first.start()
    assert fetching.wait(10)
    with pytest.raises(CallbackPostponed):
        read(receiver, amazon.message(event()))
    released.set()
    first.join(10)
    assert read(receiver, amazon.message(event())).verdict is ReceiptVerdict.DELIVERED


@pytest.mark.parametrize("late", [dt.timedelta(minutes=5, seconds=1), dt.timedelta(seconds=-61)])
def test_a_message_outside_the_window_is_stale(
    amazon: SnsSigner, receiver: SnsReceiver, late: dt.timedelta
) -> None:
    with pytest.raises(CallbackStale):
        read(receiver, amazon.message(event()), at=NOW + late)


@pytest.mark.parametrize("timestamp", ["", "now", "2026-11-29T12:00:00"])
def test_a_message_without_a_time_is_stale(amazon: SnsSigner, receiver: SnsReceiver, timestamp: str) -> None:
    with pytest.raises(CallbackStale):
        read(receiver, amazon.message(event(), Timestamp=timestamp))


def test_a_subscription_to_our_topic_is_confirmed_at_an_address_of_our_own_making(
    amazon: SnsSigner, receiver: SnsReceiver
) -> None:
    body = amazon.message(
        "", Type="SubscriptionConfirmation", Token="a token&b", SubscribeURL="https://evil.example/"
    )
    assert receiver.read(call("sns", body, attempt=None)) == []
    assert amazon.fetched[1:] == [
        "https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription"
        "&TopicArn=arn%3Aaws%3Asns%3Aeu-central-1%3A123456789012%3Asms-events&Token=a+token%26b"
    ]


def test_a_subscription_to_another_topic_is_not_confirmed(amazon: SnsSigner) -> None:
    amazon.fetched.clear()
    receiver = SnsReceiver(topic_arns=[TOPIC + "-other"], fetch=amazon.fetch)
    with pytest.raises(CallbackRefused):
        receiver.read(call("sns", amazon.confirmation(), attempt=None))
    assert amazon.fetched == []


def test_a_forged_confirmation_confirms_nothing(amazon: SnsSigner, receiver: SnsReceiver) -> None:
    with pytest.raises(CallbackRefused):
        receiver.read(call("sns", altered(amazon.confirmation(), Token="another"), attempt=None))
    assert amazon.fetched == [CERTIFICATE]


def test_a_confirmation_that_fails_is_asked_for_again(amazon: SnsSigner) -> None:
    def fetch(url: str) -> bytes:
        return unreachable(url) if "?" in url else amazon.pem

    with pytest.raises(CallbackPostponed):
        SnsReceiver(topic_arns=[TOPIC], fetch=fetch).read(call("sns", amazon.confirmation(), attempt=None))


def test_the_end_of_a_subscription_is_not_undone(amazon: SnsSigner, receiver: SnsReceiver) -> None:
    body = amazon.message("Bye.", Type="UnsubscribeConfirmation", Token="t", SubscribeURL="https://x/")
    assert receiver.read(call("sns", body, attempt=None)) == []
    assert amazon.fetched == [CERTIFICATE]


def test_an_event_sent_on_to_another_attempts_address_is_refused(
    amazon: SnsSigner, receiver: SnsReceiver
) -> None:
    with pytest.raises(CallbackRefused):
        receiver.read(call("sns", amazon.message(event()), attempt=OTHER))


@pytest.mark.parametrize("text", ["", "[]", "{}", event(""), event(messageId=7), event(messageId="x" * 256)])
def test_a_signed_message_that_is_no_event_is_unreadable(
    amazon: SnsSigner, receiver: SnsReceiver, text: str
) -> None:
    with pytest.raises(CallbackUnreadable):
        read(receiver, amazon.message(text))


@pytest.mark.parametrize("context", [None, [], {}, {"reference": 7}, {"reference": "x"}])
def test_an_event_of_anothers_message_names_no_attempt(
    amazon: SnsSigner, receiver: SnsReceiver, context: object
) -> None:
    assert read(receiver, amazon.message(event(context=context))).attempt_reference is None


@pytest.mark.parametrize(
    "arns",
    [
        [],
        TOPIC,
        [TOPIC, "arn:aws:sns:eu-central-1:123456789012"],
        ["arn:aws:sqs:eu-central-1:123456789012:queue"],
        ["arn:aws:sns:evil.example/x:123456789012:topic"],
        ["arn:aws:sns:eu-central-1:1234:topic"],
        [TOPIC + "\n"],
        [None],
    ],
)
def test_topics_of_a_wrong_form_are_named(arns: Any) -> None:
    with pytest.raises(ReceiverMisconfigured) as caught:
        SnsReceiver(topic_arns=arns)
    assert caught.value.problem is ReceiverProblem.TOPIC
