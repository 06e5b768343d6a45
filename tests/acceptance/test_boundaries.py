"""The same requests through a worker, through the poller and in the caller's own process."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from notifications.testing.provider import FakeProvider, Fault
from notifications.testing.provider.faults import Behaviour
from resetdelivery.models import Attempt, ChannelControl, Delivery
from resetdelivery.services import request_reset
from tests.acceptance.conftest import MakeAccounts
from tests.acceptance.harness.boundary import Boundary
from tests.acceptance.harness.invariants import assert_final_rows_kept, assert_invariants, final_rows
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.waiting import eventually

pytestmark = pytest.mark.acceptance


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What the provider does, and what must come of one request."""

    channel: str
    faults: tuple[Fault, ...] = ()
    end: tuple[str, str, str]
    attempts: tuple[str, ...]
    copies: int


def fault(channel: str, behaviour: Behaviour, **options: int | str) -> Fault:
    return Fault(channel=channel, behaviour=behaviour, **options)  # type: ignore[arg-type]  # fields of Fault


CASES = {
    "a healthy email": Case(
        channel="email", end=("accepted", "ok", "accepted"), attempts=("accepted",), copies=1
    ),
    "a healthy SMS": Case(
        channel="sms", end=("accepted", "ok", "accepted"), attempts=("accepted",), copies=1
    ),
    "refused for now, then taken": Case(
        channel="email",
        faults=(fault("email", Behaviour.REPLY, phase="rcpt", code=451),),
        end=("accepted", "ok", "accepted"),
        attempts=("transient", "accepted"),
        copies=1,
    ),
    "too fast, then taken": Case(
        channel="sms",
        faults=(fault("sms", Behaviour.THROTTLE, seconds=1),),
        end=("accepted", "ok", "accepted"),
        attempts=("throttled", "accepted"),
        copies=1,
    ),
    "refused for good": Case(
        channel="email",
        faults=(fault("email", Behaviour.REPLY, phase="rcpt", code=550, text="5.1.1 No such user"),),
        end=("failed", "recipient_refused", "permanent"),
        attempts=("permanent",),
        copies=0,
    ),
    "an email cut after its final dot": Case(
        channel="email",
        faults=(fault("email", Behaviour.DROP),),
        end=("accepted", "ok", "accepted"),
        attempts=("ambiguous", "accepted"),
        copies=2,
    ),
    "an SMS answered with an error": Case(
        channel="sms",
        faults=(fault("sms", Behaviour.ERROR),),
        end=("accepted", "ok", "accepted"),
        attempts=("ambiguous", "accepted"),
        copies=2,
    ),
    "an SMS answered with nothing but errors": Case(
        channel="sms",
        faults=(fault("sms", Behaviour.ERROR, count=0),),
        end=("failed", "ambiguous_resends_used_up", "ambiguous"),
        attempts=("ambiguous", "ambiguous"),
        copies=2,
    ),
    "a retry that does not fit": Case(
        channel="sms",
        faults=(fault("sms", Behaviour.THROTTLE, seconds=3600),),
        end=("expired", "retry_does_not_fit", "throttled"),
        attempts=("throttled",),
        copies=0,
    ),
}


@pytest.fixture(scope="module", params=list(Boundary), ids=str)
def running(request: pytest.FixtureRequest, lasting_stage: Stage) -> Iterator[Boundary]:
    """A boundary with its process, which serves every case."""
    boundary: Boundary = request.param
    boundary.start(lasting_stage)
    yield boundary
    lasting_stage.clear()


@pytest.fixture
def boundary(running: Boundary, configure: Callable[[str], None]) -> Boundary:
    """The boundary, with this process set up for it."""
    configure(running)
    return running


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_reset_ends_alike_through_every_boundary(
    boundary: Boundary, provider: FakeProvider, make_accounts: MakeAccounts, case: Case
) -> None:
    for one in case.faults:
        provider.faults.add(one)
    request_reset(account_ref=make_accounts(1)[0], channels=[case.channel])
    boundary.carry_on_until_finished()

    delivery = Delivery.objects.get()
    attempts = Attempt.objects.order_by("number").values_list("outcome", flat=True)
    assert (delivery.state, delivery.reason, delivery.outcome) == case.end
    assert tuple(attempts) == case.attempts
    assert provider.store.count() == case.copies
    assert_invariants(provider.store.list())


def test_a_newer_reset_supersedes_one_that_waits_for_its_retry(
    boundary: Boundary, provider: FakeProvider, make_accounts: MakeAccounts
) -> None:
    (account,) = make_accounts(1)
    provider.faults.add(fault("sms", Behaviour.THROTTLE, seconds=30))
    older = request_reset(account_ref=account, channels=["sms"]).reference
    eventually(lambda: Attempt.objects.filter(outcome="throttled").exists(), "the first try")
    # Another expiry makes another link, by which their messages are told apart.
    sooner = dt.timedelta(seconds=60)
    newer = request_reset(account_ref=account, channels=["sms"], lifetime=sooner).reference
    boundary.carry_on_until_finished()

    ends = dict(Delivery.objects.values_list("intent__reference", "state"))
    assert ends == {older: "cancelled", newer: "accepted"}
    assert provider.store.count() == 1
    assert_invariants(provider.store.list())


def test_what_expires_in_a_paused_channel_is_not_sent_when_it_opens(
    boundary: Boundary, provider: FakeProvider, make_accounts: MakeAccounts
) -> None:
    ChannelControl.objects.update_or_create(channel="email", defaults={"paused": True})
    request_reset(account_ref=make_accounts(1)[0], channels=["email"], lifetime=dt.timedelta(seconds=4))
    boundary.carry_on_until_finished()
    final = final_rows()
    ChannelControl.objects.update(paused=False)
    boundary.carry_on()

    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.reason, delivery.attempts) == ("expired", "no_useful_time_left", 0)
    assert provider.store.count() == 0
    assert_final_rows_kept(final)
    assert_invariants(provider.store.list())


def test_an_address_that_nobody_has_is_answered_alike_and_sends_nothing(
    boundary: Boundary, provider: FakeProvider
) -> None:
    answer = request_reset(submitted="nobody@example.com", channels=["email", "sms"])
    boundary.carry_on_until_finished()
    assert not answer.replayed
    ends = set(Delivery.objects.values_list("state", "reason", "attempts"))
    assert ends == {("cancelled", "unknown_account", 0)}
    assert provider.store.count() == 0
    assert_invariants(provider.store.list())
