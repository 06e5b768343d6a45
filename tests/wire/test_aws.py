"""SMS through AWS End User Messaging on a real socket: what goes over it, and how it is signed."""

from __future__ import annotations

import datetime as dt
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from notifications.deadline import Deadline
from notifications.option_problems import OptionMisconfigured, OptionProblem
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.sms.aws import AwsSmsTransport, endpoint
from notifications.sms.aws_signing import Signer
from notifications.testing.provider import FakeProvider
from notifications.testing.provider.aws import CONTENT_TYPE, TARGET, SendTextMessage
from notifications.testing.provider.form import HttpRequest
from tests.wire.samples import LINK, NOW, NUMBER, an_email, an_sms, soon

MakeAws = Callable[..., AwsSmsTransport]

KEY = "AKIDEXAMPLE"
SECRET = "marked-secret-key"


@pytest.fixture
def make_aws() -> Iterator[MakeAws]:
    made: list[AwsSmsTransport] = []

    def make(base_url: str = "", **options: Any) -> AwsSmsTransport:
        values = {
            "region": "eu-west-1",
            "origination_identity": "+447700900000",
            "access_key_id": KEY,
            "secret_access_key": SECRET,
            "clock": lambda: NOW,
        }
        made.append(AwsSmsTransport(base_url=base_url, **{**values, **options}))
        return made[-1]

    yield make
    for transport in made:
        transport.close()


@pytest.fixture
def aws_provider() -> Iterator[FakeProvider]:
    with FakeProvider(sms_credentials=(KEY, SECRET)) as running:
        yield running


@pytest.fixture
def aws(aws_provider: FakeProvider, make_aws: MakeAws) -> AwsSmsTransport:
    return make_aws(aws_provider.http_url)


def input_of(provider: FakeProvider) -> dict[str, Any]:
    return dict(json.loads(provider.store.list("sms")[0].body))


def test_the_input_holds_what_the_operation_asks_for(
    aws_provider: FakeProvider, aws: AwsSmsTransport
) -> None:
    aws.submit(an_sms(), soon())
    assert input_of(aws_provider) == {
        "DestinationPhoneNumber": NUMBER,
        "OriginationIdentity": "+447700900000",
        "MessageBody": an_sms().text,
        "MessageType": "TRANSACTIONAL",
        "TimeToLive": 540,
        "Context": {"reference": "attempt-5f0c1c9e"},
    }


def test_a_configuration_set_and_a_price_are_passed_on(aws_provider: FakeProvider, make_aws: MakeAws) -> None:
    transport = make_aws(aws_provider.http_url, configuration_set="receipts", max_price="0.10")
    assert transport.submit(an_sms(), soon()).kind is OutcomeKind.ACCEPTED
    assert (input_of(aws_provider)["ConfigurationSetName"], input_of(aws_provider)["MaxPrice"]) == (
        "receipts",
        "0.10",
    )


@pytest.mark.parametrize(
    ("left", "seconds"),
    [
        (dt.timedelta(seconds=5), 5),
        (dt.timedelta(seconds=5.999), 5),
        (dt.timedelta(minutes=9), 540),
        (dt.timedelta(hours=72), 259_200),
        (dt.timedelta(hours=73), 259_200),
    ],
)
def test_the_time_to_live_is_what_is_left_in_whole_seconds(
    aws_provider: FakeProvider, aws: AwsSmsTransport, left: dt.timedelta, seconds: int
) -> None:
    assert aws.submit(an_sms(expires_at=NOW + left), soon()).kind is OutcomeKind.ACCEPTED
    assert input_of(aws_provider)["TimeToLive"] == seconds


@pytest.mark.parametrize("left", [dt.timedelta(seconds=4.999), dt.timedelta(0), dt.timedelta(seconds=-5)])
def test_a_lifetime_that_aws_does_not_take_is_not_sent(
    aws_provider: FakeProvider, aws: AwsSmsTransport, left: dt.timedelta
) -> None:
    outcome = aws.submit(an_sms(expires_at=NOW + left), soon())
    assert outcome == Outcome(kind=OutcomeKind.LATE, reason=Reason.LIFETIME_TOO_SHORT)
    assert aws_provider.http.connections == 0


@pytest.mark.parametrize(
    "options",
    [{"access_key_id": "ANOTHER"}, {"secret_access_key": "another"}],
    ids=["another key", "another secret"],
)
def test_a_signature_of_somebody_else_is_our_mistake(
    aws_provider: FakeProvider, make_aws: MakeAws, options: dict[str, str]
) -> None:
    outcome = make_aws(aws_provider.http_url, **options).submit(an_sms(), soon())
    assert outcome == Outcome(kind=OutcomeKind.MISCONFIGURED, reason=Reason.AUTHENTICATION_FAILED)
    assert aws_provider.store.count() == 0


def test_a_session_token_is_signed_and_sent(aws_provider: FakeProvider, make_aws: MakeAws) -> None:
    transport = make_aws(aws_provider.http_url, session_token="marked-token")
    assert transport.submit(an_sms(), soon()).kind is OutcomeKind.ACCEPTED


def test_an_email_is_a_callers_mistake(aws: AwsSmsTransport) -> None:
    with pytest.raises(TypeError, match="AwsSmsTransport submits SmsMessage"):
        aws.submit(an_email(), soon())


def test_nothing_private_is_logged_while_signing(
    aws: AwsSmsTransport, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    aws.submit(an_sms(), soon())
    assert [value for value in (NUMBER, LINK, SECRET) if value in caplog.text] == []


def test_credentials_come_from_the_usual_chain_where_none_are_given(
    aws_provider: FakeProvider, make_aws: MakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    transport = make_aws(aws_provider.http_url, access_key_id="", secret_access_key="")
    assert transport.submit(an_sms(), soon()).kind is OutcomeKind.ACCEPTED


def test_credentials_that_cannot_be_renewed_are_certainly_not_sent(
    aws_provider: FakeProvider, aws: AwsSmsTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    def renew(_: Deadline) -> object:
        raise RuntimeError("marked words about the metadata service")

    monkeypatch.setattr(aws, "_signer", Signer(renew, "eu-west-1"))
    outcome = aws.submit(an_sms(), soon())
    assert outcome == Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.AUTHENTICATION_FAILED)
    assert aws_provider.http.connections == 0


GOOD_INPUT = {"DestinationPhoneNumber": NUMBER, "MessageBody": "Hello", "TimeToLive": 540}


def ask(provider: FakeProvider, fields: object, **changes: str) -> tuple[int, dict[str, Any]]:
    """What the fake says to a well signed request with changed headers."""
    body = json.dumps(fields).encode()
    url = "http://127.0.0.1:8000/"
    signer = Signer(lambda _: _credentials(), "eu-west-1")
    headers = signer.signed_headers(url, {"Content-Type": CONTENT_TYPE, "X-Amz-Target": TARGET}, body, soon())
    received = {"host": "127.0.0.1:8000", **{name.lower(): value for name, value in headers.items()}}
    speaks = SendTextMessage(provider.store, provider.faults, (KEY, SECRET))
    answer = speaks.post(HttpRequest(path="/", headers={**received, **changes}, body=body))
    return answer.status, json.loads(answer.body)


def _credentials() -> object:
    from botocore.credentials import ReadOnlyCredentials

    return ReadOnlyCredentials(KEY, SECRET, None)


def test_the_fake_takes_what_the_api_reference_documents(provider: FakeProvider) -> None:
    status, said = ask(provider, GOOD_INPUT)
    assert (status, list(said)) == (200, ["MessageId"])


@pytest.mark.parametrize(
    "change",
    [
        {"TimeToLive": 540_000},  # milliseconds
        {"TimeToLive": "540"},
        {"TimeToLive": 4},
        {"DestinationPhoneNumber": "+44 7911"},
        {"MessageBody": " "},
        {"MessageBody": "x" * 1601},
        {"MessageType": "transactional"},
        {"MaxPrice": "1"},
        {"Context": "reference"},
        {"ClientToken": "x"},
    ],
)
def test_the_fake_refuses_an_input_that_the_api_reference_does_not_know(
    provider: FakeProvider, change: dict[str, object]
) -> None:
    status, said = ask(provider, {**GOOD_INPUT, **change})
    assert (status, said["__type"].rpartition("#")[2]) == (400, "ValidationException")
    assert [field["Name"] for field in said["Fields"]] == list(change)
    assert provider.store.count() == 0


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"authorization": ""}, "MissingAuthenticationTokenException"),
        ({"authorization": "Basic eA=="}, "IncompleteSignatureException"),
        ({"host": "evil.example"}, "InvalidSignatureException"),
        ({"x-amz-date": "20200101T000000Z"}, "InvalidSignatureException"),
        ({"x-amz-date": "yesterday"}, "IncompleteSignatureException"),
        ({"x-amz-target": "PinpointSMSVoiceV2.DeletePool"}, "InvalidSignatureException"),
    ],
)
def test_the_fake_refuses_what_is_not_signed_as_it_came(
    provider: FakeProvider, changes: dict[str, str], error: str
) -> None:
    status, said = ask(provider, GOOD_INPUT, **changes)
    assert (status, said["__type"].rpartition("#")[2]) == (400, error)
    assert provider.store.count() == 0


@pytest.mark.parametrize(
    ("region", "address"),
    [
        ("eu-west-1", "https://sms-voice.eu-west-1.amazonaws.com"),
        ("us-gov-west-1", "https://sms-voice.us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "https://sms-voice.cn-north-1.amazonaws.com.cn"),
    ],
)
def test_a_region_has_its_own_address(region: str, address: str) -> None:
    assert endpoint(region) == address


@pytest.mark.parametrize(
    ("options", "problem", "words"),
    [
        ({"region": "Ireland"}, OptionProblem.REGION, "'Ireland'"),
        ({"region": "eu-west-1a"}, OptionProblem.REGION, "'eu-west-1'"),
        ({"region": ""}, OptionProblem.REGION, "region"),
        ({"secret_access_key": ""}, OptionProblem.CREDENTIALS, "'secret_access_key'"),
        ({"access_key_id": ""}, OptionProblem.CREDENTIALS, "'access_key_id'"),
        ({"origination_identity": ""}, OptionProblem.SENDER, "'origination_identity'"),
        ({"origination_identity": "My shop"}, OptionProblem.SENDER, "'My shop'"),
        ({"configuration_set": "a b"}, OptionProblem.SENDER, "'configuration_set'"),
        ({"max_price": "10 cents"}, OptionProblem.VALUE, "US dollars"),
    ],
)
def test_options_that_cannot_work_are_named(
    make_aws: MakeAws, options: dict[str, str], problem: OptionProblem, words: str
) -> None:
    with pytest.raises(OptionMisconfigured) as caught:
        make_aws(**options)
    assert caught.value.problem is problem
    assert words in str(caught.value)
    assert SECRET not in str(caught.value)


def test_without_botocore_the_extra_is_named(make_aws: MakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "botocore.session", None)
    with pytest.raises(OptionMisconfigured, match=r"resetdelivery\[aws\]"):
        make_aws()
