"""What no provider sends, to every receiver: an answer of ours, and never another error."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notifications.receipts.callback import CallbackError, Receiver
from notifications.receipts.sns import SnsReceiver
from notifications.receipts.twilio import TwilioReceiver
from notifications.receipts.vonage import VonageReceiver
from tests.receipt_samples import FORM, SECRET, TOKEN, TOPIC, call, unreachable

RECEIVERS: list[Receiver] = [
    TwilioReceiver(auth_token=TOKEN),
    VonageReceiver(signature_secret=SECRET),
    SnsReceiver(topic_arns=[TOPIC], fetch=unreachable),
]
NAMES = st.sampled_from(
    ["sig", "timestamp", "client-ref", "status", "TopicArn", "Type", "Signature", "SignatureVersion", "x"]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(TOPIC)
OBJECTS = st.dictionaries(NAMES, LEAVES | st.lists(LEAVES, max_size=2))
BODIES = st.binary(max_size=200) | OBJECTS.map(lambda value: json.dumps(value).encode())


@settings(max_examples=150, deadline=None)
@given(
    receiver=st.sampled_from(RECEIVERS),
    body=BODIES,
    kind=st.sampled_from([FORM, "application/json", "text/plain", ""]),
    signature=st.text(max_size=40),
    query=st.text(st.characters(max_codepoint=255), max_size=40),
)
def test_what_nobody_signed_is_never_a_receipt_and_never_a_surprise(
    receiver: Receiver, body: bytes, kind: str, signature: str, query: str
) -> None:
    callback = call(receiver.name, body, query=query, content_type=kind, x_twilio_signature=signature)
    with pytest.raises(CallbackError) as caught:
        receiver.read(callback)
    assert str(caught.value) == ""


@pytest.mark.parametrize("receiver", RECEIVERS, ids=lambda receiver: receiver.name)
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"x": "\\ud800"}', id="half a surrogate pair"),
        pytest.param(b'{"timestamp": %s}' % (b"9" * 9000), id="a number of 9000 digits"),
        pytest.param(b'{"x":' * 3000, id="too deep"),
    ],
)
def test_json_that_breaks_parsers_is_no_surprise(receiver: Receiver, body: bytes) -> None:
    with pytest.raises(CallbackError):
        receiver.read(call(receiver.name, body, content_type="application/json", x_twilio_signature="x"))
