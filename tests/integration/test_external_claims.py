from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError, connection

from notifications.channels import Channel
from resetdelivery import claims as protocol
from resetdelivery import external
from resetdelivery.claim_bounds import InvalidClaim
from resetdelivery.clock import database_now
from resetdelivery.conf import get_settings
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import ChannelControl, Delivery, ProviderCircuit
from tests.conftest import the_delivery
from tests.integration.conftest import Settings
from tests.integration.external_steps import LEASE, MAILER, claim
from tests.steps import pause, seconds, store

pytestmark = pytest.mark.django_db

S = DeliveryState


def test_a_claim_leases_rows_as_a_worker_of_ours_does_under_the_clients_name() -> None:
    rows = store(2, overdue=5)
    found = claim()
    stored = [Delivery.objects.get(pk=row.pk) for row in rows]
    assert [work.reference for work in found] == [row.reference for row in stored]
    assert {(row.state, row.lease_owner, row.lease_token, row.claims) for row in stored} == {
        (S.LEASED, "api:mailer:w1", 1, 1)
    }
    assert [work.lease_expires_at for work in found] == [row.lease_expires_at for row in stored]


def test_a_claim_takes_a_row_that_a_worker_of_ours_was_told_of_this_moment() -> None:
    store(hinted_at=database_now(connection))
    assert len(claim()) == 1


@pytest.mark.parametrize(
    ("draw", "channels"), [(0.0, ["email", "email", "sms"]), (0.5, ["sms", "sms", "email"])]
)
def test_a_claim_without_a_channel_goes_on_with_the_next_one_up_to_its_limit(
    draw: float, channels: list[str]
) -> None:
    store(2, Channel.EMAIL, overdue=5)
    store(2, Channel.SMS, overdue=5)
    assert [work.channel for work in claim(None, limit=3, draw=draw)] == channels


@pytest.mark.parametrize("busy", list(Channel))
def test_a_busy_channel_leaves_no_other_one_waiting_for_ever(busy: Channel) -> None:
    store(100, busy, overdue=5)
    (other,) = set(Channel) - {busy}
    (waiting,) = store(1, other, overdue=5)
    asks: dict[str, Any] = {"sender": MAILER, "worker_id": "w1", "limit": 1, "lease_seconds": LEASE}
    # By chance it would take this many once in 2**100 runs.
    assert waiting.reference in {external.claim(**asks)[0].reference for _ in range(100)}


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Channel:
    """A channel of which a claim loses the database."""

    real = protocol.claim

    def claim_or_fail(channel: Channel, **options: Any) -> list[protocol.Claimed]:
        if channel is Channel.SMS:
            raise OperationalError("the server said: marked-text")
        return real(channel, **options)

    monkeypatch.setattr(protocol, "claim", claim_or_fail)
    return Channel.SMS


def test_what_was_leased_before_a_failure_is_told(failing: Channel, caplog: pytest.LogCaptureFixture) -> None:
    store(2, Channel.EMAIL, overdue=5)
    assert [work.channel for work in claim(None)] == ["email", "email"]
    assert "marked-text" not in caplog.text
    assert "'event': 'claim_failed'" in caplog.text
    assert "'error_class': 'OperationalError'" in caplog.text


def test_a_failure_with_nothing_leased_is_one(failing: Channel) -> None:
    store(1, Channel.EMAIL, overdue=5)
    with pytest.raises(OperationalError):
        claim(None, draw=0.5)
    assert the_delivery().state == S.PENDING


def test_a_claim_leaves_what_can_no_longer_help() -> None:
    store(overdue=5, life=get_settings().policy(Channel.EMAIL).useful_floor_seconds - 1)
    assert claim() == []


@pytest.mark.parametrize(
    "channel_state",
    [
        {},
        {"pause_reason": "misconfigured", "probe_at": "past"},
        {"paused": False, "probing": True, "pause_reason": "misconfigured", "probe_at": "past"},
    ],
    ids=["paused", "probe due", "being probed"],
)
def test_a_paused_channel_gives_nothing_and_its_probe_is_left_to_our_own_workers(
    channel_state: dict[str, Any],
) -> None:
    store(2, overdue=5)
    if "probe_at" in channel_state:
        channel_state = {**channel_state, "probe_at": database_now(connection) - seconds(1)}
    pause(**channel_state)
    before = ChannelControl.objects.values().get()
    assert claim() == []
    assert ChannelControl.objects.values().get() == before


def test_a_resting_provider_of_ours_holds_back_no_worker_outside() -> None:
    store(overdue=5)
    later = database_now(connection) + seconds(60)
    ProviderCircuit.objects.create(channel="email", provider="email", outages=3, open_until=later)
    assert len(claim()) == 1


@pytest.mark.parametrize(
    ("wish", "part"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 51}, "limit"),
        ({"lease": 19.9}, "lease_seconds"),
        ({"lease": 300.1}, "lease_seconds"),
        ({"channel": "fax"}, "channel"),
    ],
)
def test_what_is_out_of_bounds_is_refused_by_name_and_claims_nothing(wish: dict[str, Any], part: str) -> None:
    store(overdue=5)
    with pytest.raises(InvalidClaim) as caught:
        claim(**wish)
    assert caught.value.part == part
    assert the_delivery().state == S.PENDING


@pytest.mark.parametrize("wish", [{"limit": 1}, {"limit": 50}, {"lease": 20}, {"lease": 300}])
def test_bounds_themselves_are_allowed(wish: dict[str, Any]) -> None:
    store(overdue=5)
    assert len(claim(**wish)) == 1


def test_the_refusal_of_a_short_lease_says_how_long_it_must_be(change: Settings) -> None:
    change(LEASE_MARGIN=seconds(7))
    with pytest.raises(InvalidClaim, match="at least 22 s"):
        claim(lease=21)


def test_a_lease_on_any_channel_fits_the_slowest_of_them(change: Settings) -> None:
    channels: dict[str, Any] = {"email": {}, "sms": {"SEND_BUDGET": seconds(40)}}
    change(CHANNELS={name: {"TRANSPORT": "tests.transports", **one} for name, one in channels.items()})
    with pytest.raises(InvalidClaim, match="at least 45 s"):
        claim(None)
    assert claim("email") == []
