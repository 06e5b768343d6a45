"""Provider × behaviour → the delivery's next state, and when the next try is due, over a real socket."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from notifications.testing.provider import Behaviour, FakeProvider, Fault
from notifications.transport import Transport
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, ChannelControl, Delivery
from resetdelivery.services import request_reset
from tests.conftest import the_delivery
from tests.wire.samples import ADDRESS, NUMBER
from tests.wire.speakers import HTTP, OVER_HTTP, SMTP, SPEAKERS, Speaker
from tests.wire.test_outcome_matrix import REFUSALS

pytestmark = pytest.mark.django_db

S = DeliveryState
#: Half of the first backoff of two seconds: the draw is fixed.
BACKOFF = 1.0


class Next(NamedTuple):
    """Where a first attempt leaves a delivery; ``delay`` in seconds from the answer, if there is one."""

    state: str
    delay: float | None
    pauses: bool = False


NEXT = {
    OutcomeKind.ACCEPTED: Next(S.ACCEPTED, None),
    OutcomeKind.TRANSIENT: Next(S.PENDING, BACKOFF),
    OutcomeKind.THROTTLED: Next(S.PENDING, BACKOFF),
    OutcomeKind.AMBIGUOUS: Next(S.PENDING, BACKOFF),
    OutcomeKind.PERMANENT: Next(S.FAILED, None),
    OutcomeKind.MISCONFIGURED: Next(S.PENDING, 0.0, pauses=True),
}


def channel_of(speaker: Speaker) -> Channel:
    return Channel.EMAIL if speaker.name in {"smtp", "anymail"} else Channel.SMS


@pytest.fixture
def after(
    provider: FakeProvider, make_account: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Next]]:
    """What became of one reset whose provider behaved so."""
    monkeypatch.setattr("resetdelivery.delivery._draw", lambda: 0.5)
    made: list[Transport] = []

    def run(speaker: Speaker, behaviour: Behaviour | None, **fault: Any) -> Next:
        if behaviour is not None:
            values = {"phase": speaker.phase, **fault}
            provider.faults.add(Fault(channel=speaker.channel, behaviour=behaviour, **values))
        made.append(speaker.make(provider, clock=lambda: dt.datetime.now(dt.UTC)))
        channel = channel_of(speaker)
        account = make_account(email=ADDRESS, phone=NUMBER)
        request_reset(account_ref=str(account.pk), channels=[channel])
        deliver(channel, transport=made[-1])
        return found(the_delivery(channel))

    yield run
    for transport in made:
        transport.close()


def found(row: Delivery) -> Next:
    answered_at = Attempt.objects.get().finished_at
    assert answered_at is not None
    delay = (row.due_at - answered_at).total_seconds() if row.state == S.PENDING else None
    return Next(row.state, delay, ChannelControl.objects.filter(channel=row.channel, paused=True).exists())


def assert_next(got: Next, expected: Next) -> None:
    assert (got.state, got.pauses) == (expected.state, expected.pauses)
    assert got.delay == (
        expected.delay if expected.delay is None else pytest.approx(expected.delay, abs=0.002)
    )


@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.name)
@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (None, OutcomeKind.ACCEPTED),
        (Behaviour.DROP, OutcomeKind.AMBIGUOUS),
        (Behaviour.GARBAGE, OutcomeKind.AMBIGUOUS),
    ],
)
def test_what_a_provider_does_leads_to_the_next_step(
    after: Callable[..., Next], speaker: Speaker, behaviour: Behaviour | None, kind: OutcomeKind
) -> None:
    assert_next(after(speaker, behaviour), NEXT[kind])


@pytest.mark.parametrize(
    ("speaker", "delay"),
    [(SMTP, BACKOFF), *((speaker, 7.0) for speaker in OVER_HTTP)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_next_try_is_due_when_a_provider_that_is_too_busy_says(
    after: Callable[..., Next], speaker: Speaker, delay: float
) -> None:
    assert_next(after(speaker, Behaviour.THROTTLE, seconds=7), Next(S.PENDING, delay))


@pytest.mark.parametrize("refusal", REFUSALS, ids=str)
def test_a_refusal_leads_to_the_next_step(after: Callable[..., Next], refusal: Any) -> None:
    assert_next(after(refusal.speaker, Behaviour.REPLY, **refusal.fault), NEXT[refusal.kind])


WITHOUT_KEYS = [s for s in SPEAKERS if channel_of(s) is Channel.SMS and s is not HTTP]


@pytest.fixture
def cut_every_answer(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> Callable[[Speaker], None]:
    """Each submission is recorded, and none is answered; no try waits for another."""
    monkeypatch.setattr("resetdelivery.delivery._draw", lambda: 0.0)

    def cut(speaker: Speaker) -> None:
        fault = Fault(channel=speaker.channel, behaviour=Behaviour.DROP, phase=speaker.phase, count=0)
        provider.faults.add(fault)

    return cut


def try_often(speaker: Speaker, provider: FakeProvider, account: Any) -> Delivery:
    transport = speaker.make(provider, clock=lambda: dt.datetime.now(dt.UTC))
    request_reset(account_ref=str(account.pk), channels=["sms"])
    for _ in range(4):
        deliver(Channel.SMS, transport=transport, fill_at_once=True)
    transport.close()
    return the_delivery(Channel.SMS)


@pytest.mark.parametrize("speaker", WITHOUT_KEYS, ids=lambda speaker: speaker.name)
def test_an_sms_that_is_ambiguous_twice_is_not_sent_a_third_time(
    provider: FakeProvider, account: Any, cut_every_answer: Callable[[Speaker], None], speaker: Speaker
) -> None:
    cut_every_answer(speaker)
    row = try_often(speaker, provider, account)
    assert (row.state, row.reason, row.outcome) == (S.FAILED, "ambiguous_resends_used_up", "ambiguous")
    assert provider.store.count() == 2


def test_a_provider_that_knows_keys_is_asked_again_and_sends_once(
    provider: FakeProvider, account: Any, cut_every_answer: Callable[[Speaker], None]
) -> None:
    cut_every_answer(HTTP)
    assert try_often(HTTP, provider, account).state == S.ACCEPTED
    assert provider.store.count() == 1
