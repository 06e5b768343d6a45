from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import pytest
from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import OperationalError, connections
from django.test import testcases

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery import broker, delivery
from resetdelivery.models import Attempt, Delivery, LimitUse, ProviderCircuit, ResetIntent

# No test is timed: a machine may be busy. The gate tries the same examples every time.
hypothesis.settings.register_profile(
    "tests",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
hypothesis.settings.load_profile("tests")

UseTransport = Callable[[Channel, ScriptedTransport], ScriptedTransport]


@pytest.fixture(scope="session", autouse=True)
def _flush_beside_others() -> Iterator[None]:
    """Empty the tables also while a process that outlasts the test is in the middle of a step.

    TRUNCATE and such a step can wait for each other; PostgreSQL then ends one of them.
    """

    def flush(name: str, *args: Any, **options: Any) -> Any:
        for _ in range(9):
            try:
                return _flush_and_forget_keys(name, *args, **options)
            except CommandError as error:
                if not isinstance(error.__cause__, OperationalError):
                    raise
        return _flush_and_forget_keys(name, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(testcases, "call_command", flush)
        yield


def _flush_and_forget_keys(name: str, *args: Any, **options: Any) -> Any:
    """Flush; on SQLite the next account's key is short again, whatever one was chosen before.

    A link holds it, and a text message may take one segment more by it.
    """
    done = call_command(name, *args, **options)
    database = connections[options.get("database", "default")]
    if name == "flush" and database.vendor == "sqlite":
        with database.cursor() as cursor:
            accounts = get_user_model()._meta.db_table
            cursor.execute("UPDATE sqlite_sequence SET seq = 0 WHERE name = %s", [accounts])
    return done


@pytest.fixture(autouse=True)
def _fresh_cache() -> Iterator[None]:
    yield
    cache.clear()


@pytest.fixture(autouse=True)
def _no_memory_of_a_lost_broker() -> None:
    """The breaker of a test that took the broker away would stay open for seconds of the next one."""
    broker.breaker.cache_clear()


@pytest.fixture
def use_transport(monkeypatch: pytest.MonkeyPatch) -> UseTransport:
    """Put a scripted transport on a channel; the others accept everything."""
    transports = {channel: ScriptedTransport() for channel in Channel}
    monkeypatch.setattr(delivery, "get_transport", transports.__getitem__)

    def use(channel: Channel, transport: ScriptedTransport) -> ScriptedTransport:
        transports[channel] = transport
        return transport

    return use


@pytest.fixture
def email(use_transport: UseTransport) -> ScriptedTransport:
    """The email channel's transport: accepts everything."""
    return use_transport(Channel.EMAIL, ScriptedTransport())


@pytest.fixture
def sms(use_transport: UseTransport) -> ScriptedTransport:
    """The SMS channel's transport: accepts everything."""
    return use_transport(Channel.SMS, ScriptedTransport())


@pytest.fixture
def make_account() -> Callable[..., Any]:
    """Creates shop accounts; each call a new one, with a phone unless told otherwise."""
    made = 0

    def make(**fields: Any) -> Any:
        nonlocal made
        made += 1
        values = {
            "username": f"buyer{made}",
            "email": f"buyer{made}@example.com",
            "phone": f"+4915112345{made:03}",
            "password": "correct horse battery staple",
        }
        return get_user_model().objects.create_user(**{**values, **fields})

    return make


@pytest.fixture
def account(db: None, make_account: Callable[..., Any]) -> Any:
    """One shop account."""
    return make_account()


def age(seconds: float) -> None:
    """Make everything that is stored ``seconds`` older, as if that time had passed."""
    back = dt.timedelta(seconds=seconds)
    shifts = {
        ResetIntent: ("created_at", "expires_at", "cancel_requested_at", "closed_at"),
        Delivery: ("due_at", "expires_at", "lease_expires_at", "hinted_at", "finished_at", "arm_at"),
        Attempt: ("started_at", "finished_at", "receipt_at", "claimed_at", "late_at"),
        ProviderCircuit: ("open_until", "opened_at"),
        LimitUse: ("used_at",),
    }
    for model, names in shifts.items():
        for row in model._default_manager.all():
            moments = {name: getattr(row, name) for name in names}
            changed = {name: at - back for name, at in moments.items() if at is not None}
            model._default_manager.filter(pk=row.pk).update(**changed)


def the_delivery(channel: Channel = Channel.EMAIL) -> Delivery:
    """The only delivery on a channel, as it is stored now."""
    return Delivery.objects.get(channel=channel)
