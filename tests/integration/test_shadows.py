"""A shadow: everything runs but the send, nothing stays but what is counted, and nobody is alarmed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications.channels import Channel
from notifications.email.smtp import SmtpTransport
from notifications.testing import ScriptedTransport
from resetdelivery import delivery as batch
from resetdelivery.clock import database_now
from resetdelivery.delivery import deliver
from resetdelivery.domain.health import HealthReason, Verdict
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import Attempt, ChannelControl, Delivery, ProviderCircuit, ResetIntent
from resetdelivery.recovery import expire_overdue, sweep
from resetdelivery.services import request_reset
from resetdelivery.telemetry.health import delivery_health
from resetdelivery.telemetry.health import told as health_told
from resetdelivery.telemetry.metric_names import LEASE_RECOVERIES, OLDEST_ELIGIBLE, USELESS_EXPIRED
from resetdelivery.telemetry.metrics.samples import samples
from resetdelivery.telemetry.metrics.scrape import scrape
from resetdelivery.telemetry.rollup import roll_up
from tests.brokers import everything
from tests.conftest import the_delivery
from tests.integration.conftest import Settings
from tests.moved_clock import moved_clock
from tests.rolled import counts, displayed
from tests.steps import record, seconds, store, take

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]

S = DeliveryState
MakeAccount = Callable[..., Any]


def mode(name: str, channel: Channel = Channel.EMAIL) -> None:
    ChannelControl.objects.update_or_create(channel=channel, defaults={"mode": name})


def shadow(account: Any, channel: Channel = Channel.EMAIL) -> Delivery:
    """What came of a reset of ``account`` that another sender sends."""
    mode("shadow", channel)
    request_reset(account_ref=str(account.pk), channels=[channel.value])
    deliver(channel)
    return the_delivery(channel)


def events(*of: str) -> dict[tuple[str, ...], int]:
    roll_up()
    return {key: number for key, number in counts(displayed()).items() if key[0] in of}


def test_a_shadow_ends_without_an_attempt_and_without_a_message(
    account: Any, email: ScriptedTransport, caplog: pytest.LogCaptureFixture
) -> None:
    row = shadow(account)
    assert (row.state, row.reason, row.outcome) == (S.SHADOWED, "shadow", "")
    assert (row.claims, row.attempts, row.lease_owner, row.segments_bucket) == (1, 0, "", "")
    assert email.messages == []
    assert Attempt.objects.count() == 0
    assert "resetdelivery.attempts" not in {one.name for one in caplog.records}
    assert ResetIntent.objects.get().state == "closed"


@pytest.mark.parametrize(("letters", "bucket"), [(4, "1"), (160, "2"), (1200, "7+")])
def test_of_a_text_message_the_bucket_of_its_length_stays(
    make_account: MakeAccount, sms: ScriptedTransport, change: Settings, letters: int, bucket: str
) -> None:
    channels = {"email": {"TRANSPORT": "tests.transports.email"}}
    change(
        BRAND="S" * letters,
        CHANNELS=channels | {"sms": {"TRANSPORT": "tests.transports.sms", "MAX_SEGMENTS": 20}},
    )
    row = shadow(make_account(pk=7), Channel.SMS)
    assert (row.state, row.segments_bucket, sms.messages) == (S.SHADOWED, bucket, [])
    assert events("shadow_segments") == {("shadow_segments", "sms", bucket): 1}


def test_the_bucket_is_written_by_the_statement_that_ends_it(
    make_account: MakeAccount, sms: ScriptedTransport
) -> None:
    mode("shadow", Channel.SMS)
    for _ in range(3):
        request_reset(account_ref=str(make_account().pk), channels=["sms"])
    with CaptureQueriesContext(connection) as captured:
        deliver(Channel.SMS)
    (statement,) = [q["sql"] for q in captured.captured_queries if "segments_bucket =" in q["sql"]]
    assert "state = step_state" in statement
    assert set(Delivery.objects.values_list("state", "segments_bucket")) == {("shadowed", "1")}


@pytest.mark.parametrize("name", ["live", "shadow"])
def test_an_address_that_no_transport_takes_fails_alike_in_both_modes(
    make_account: MakeAccount, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    real = SmtpTransport(host="127.0.0.1", port=1, tls="none", from_address="shop@shop.example")
    monkeypatch.setattr(batch, "get_transport", lambda _: real)
    mode(name)
    request_reset(account_ref=str(make_account(email="jürgen@shop.example").pk), channels=["email"])
    deliver(Channel.EMAIL)
    assert (the_delivery().state, the_delivery().reason) == (S.FAILED, "invalid_destination")


@pytest.mark.parametrize("name", ["live", "shadow"])
@pytest.mark.parametrize(
    ("channel", "fields", "changes", "state", "reason"),
    [
        ("sms", {"phone": ""}, {}, S.FAILED, "no_destination"),
        ("sms", {"phone": "+449098790000"}, {}, S.FAILED, "invalid_destination"),
        ("sms", {}, {"BRAND": "S" * 900}, S.FAILED, "invalid_message"),
        ("email", {"is_active": False}, {}, S.CANCELLED, "account_inactive"),
        ("email", {}, {"TEMPLATE_VERSION": "1"}, None, ""),
    ],
)
def test_whatever_the_gate_refuses_it_refuses_alike_in_both_modes(
    make_account: MakeAccount,
    email: ScriptedTransport,
    sms: ScriptedTransport,
    change: Settings,
    name: str,
    channel: str,
    fields: dict[str, Any],
    changes: dict[str, Any],
    state: S | None,
    reason: str,
) -> None:
    change(**changes)
    mode(name, Channel(channel))
    request_reset(account_ref=str(make_account(**fields).pk), channels=[channel])
    deliver(Channel(channel))
    row = the_delivery(Channel(channel))
    passed = {"live": (S.ACCEPTED, "ok"), "shadow": (S.SHADOWED, "shadow")}[name]
    assert (row.state, row.reason) == ((state, reason) if state else passed)
    assert len(email.messages + sms.messages) == (name == "live" and state is None)


def test_no_limit_of_text_messages_is_used_up(
    limits: redis.Redis[bytes], make_account: MakeAccount, sms: ScriptedTransport, change: Settings
) -> None:
    change(PREFIX_PER_HOUR=1, SMS_SEGMENTS_PER_HOUR=1)
    mode("shadow", Channel.SMS)
    for _ in range(3):
        request_reset(account_ref=str(make_account().pk), channels=["sms"])
    deliver(Channel.SMS)
    assert set(Delivery.objects.values_list("state", flat=True)) == {"shadowed"}
    assert b"sms" not in everything(limits)
    mode("live", Channel.SMS)
    request_reset(account_ref=str(make_account(phone="+4915223456001").pk), channels=["sms"])
    deliver(Channel.SMS)
    assert len(sms.messages) == 1
    # What was sent is counted there, in the place that was searched before.
    assert b"sms" in everything(limits)


def test_no_circuit_of_a_provider_is_touched(account: Any, email: ScriptedTransport) -> None:
    ProviderCircuit.objects.create(
        channel="email",
        provider="scripted",
        outages=3,
        open_until=database_now(connection) - seconds(1),
        opened_at=database_now(connection) - seconds(60),
        reason="provider_error",
    )
    before = list(ProviderCircuit.objects.values())
    assert shadow(account).state == S.SHADOWED
    assert list(ProviderCircuit.objects.values()) == before


def test_a_shadow_proves_nothing_to_a_channel_that_is_probed(
    account: Any, make_account: MakeAccount, email: ScriptedTransport
) -> None:
    fields = {"paused": True, "pause_reason": "misconfigured", "probe_at": database_now(connection)}
    ChannelControl.objects.update_or_create(channel="email", defaults=fields)
    waits = shadow(account)
    control = ChannelControl.objects.get(channel="email")
    assert (waits.state, control.paused, control.probing) == (S.PENDING, True, False)
    mode("live")
    request_reset(account_ref=str(make_account().pk), channels=["email"])
    deliver(Channel.EMAIL)
    deliver(Channel.EMAIL, fill_at_once=True)
    control.refresh_from_db()
    waits.refresh_from_db()
    assert (control.probing, control.pause_reason, len(email.messages)) == (False, "", 1)
    assert waits.state == S.SHADOWED


# What is counted of shadows, and what is not.


def test_shadows_are_counted_apart_from_what_is_ours(
    account: Any, make_account: MakeAccount, email: ScriptedTransport
) -> None:
    shadow(account)
    request_reset(account_ref=str(make_account(email="").pk), channels=["email"])
    request_reset(account_ref=str(make_account().pk), channels=["email"])
    deliver(Channel.EMAIL)
    mode("live")
    request_reset(account_ref=str(make_account().pk), channels=["email"])
    deliver(Channel.EMAIL)
    found = events("finished", "shadow_finished", "shadow_claimed", "shadow_refused")
    assert found == {
        ("finished", "email", "accepted"): 1,
        ("shadow_finished", "email", "shadowed"): 2,
        ("shadow_finished", "email", "failed"): 1,
        ("shadow_claimed", "email", ""): 3,
        ("shadow_refused", "email", "no_destination"): 1,
    }


@pytest.mark.parametrize(
    ("waited", "label"), [(0, "0.1"), (0.3, "0.5"), (7, "10"), (899.9, "900"), (901, "inf")]
)
def test_the_wait_of_a_shadow_is_counted_in_its_bucket(waited: float, label: str) -> None:
    now = database_now(connection)
    store(authority="shadow", state="shadowed", reason="shadow", finished_at=now)
    Delivery.objects.update(due_at=now - seconds(waited))
    assert events("shadow_delay") == {("shadow_delay", "email", label): 1}


def test_a_wait_that_is_just_the_bound_is_in_the_bucket_below_it() -> None:
    at = dt.datetime(2026, 1, 31, 12, 0, tzinfo=dt.UTC)
    store(authority="shadow", state="shadowed", reason="shadow", finished_at=at)
    Delivery.objects.update(due_at=at - seconds(30))
    assert events("shadow_delay") == {("shadow_delay", "email", "30"): 1}


def test_a_shadow_that_no_worker_took_was_not_claimed() -> None:
    store(life=-1, overdue=5, authority="shadow")
    expire_overdue()
    found = events("shadow_claimed", "shadow_finished", "shadow_refused", "expired_usefully", "finished")
    assert found == {
        ("shadow_finished", "email", "expired"): 1,
        ("shadow_refused", "email", "no_useful_time_left"): 1,
    }


# Nobody is woken up for a shadow.


def health() -> Any:
    found = delivery_health(dt.timedelta(minutes=5))
    return next(one for one in found.channels if one.numbers.channel is Channel.EMAIL)


def alarming(authority: str) -> None:
    """A morning on which everything waits, expires, or is held by workers that died."""
    past = database_now(connection) - seconds(1)
    store(30, life=-1, overdue=300, authority=authority)
    expire_overdue()
    store(10, life=3600, authority=authority)
    assert len(take()) == 10
    Delivery.objects.filter(state="leased").update(lease_expires_at=past)
    sweep()
    store(5, life=3600, overdue=1800, authority=authority)
    roll_up()


def test_what_would_alarm_of_ours_does(email: ScriptedTransport) -> None:
    alarming("pipeline")
    assert set(health().reasons) == {
        HealthReason.DUE_TOO_LATE,
        HealthReason.EXPIRING_MANY,
        HealthReason.LEASES_LOST,
    }


@pytest.mark.parametrize("authority", ["shadow", "legacy"])
def test_the_same_of_what_another_sender_sends_alarms_nobody(authority: str) -> None:
    alarming(authority)
    found = health()
    assert (found.verdict, found.reasons) == (Verdict.OK, ())
    numbers = found.numbers
    assert (numbers.oldest_due_seconds, numbers.expired_usefully, numbers.lease_recoveries) == (None, 0, 0)
    assert numbers.pending == 15
    assert numbers.oldest_shadow_seconds is not None
    assert 1800 <= numbers.oldest_shadow_seconds < 1860
    values = samples(scrape())
    for metric in (LEASE_RECOVERIES, OLDEST_ELIGIBLE, USELESS_EXPIRED):
        assert set(values[metric].values()) == {0.0}


def test_the_wait_of_a_shadow_is_told_beside_that_of_ours() -> None:
    store(1, overdue=40)
    store(1, overdue=80, authority="shadow")
    (found,) = [
        one
        for one in health_told(delivery_health(dt.timedelta(minutes=1)))["channels"]
        if one["channel"] == "email"
    ]
    assert 40 <= found["oldest_due_seconds"] < 80 <= found["oldest_shadow_seconds"]


def test_a_lease_of_a_shadow_that_ran_out_is_put_back_as_any_other() -> None:
    store(2, authority="shadow")
    assert record(take()) == []
    Delivery.objects.update(lease_expires_at=database_now(connection) - seconds(1))
    assert sweep().put_back == 2
    assert set(Delivery.objects.values_list("state", flat=True)) == {"pending"}
