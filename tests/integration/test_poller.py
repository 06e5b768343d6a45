"""The boundary without a broker."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery import delivery, recovery
from resetdelivery.clock import database_now
from resetdelivery.domain.states import DeliveryState
from resetdelivery.exceptions import StepFailed
from resetdelivery.models import Delivery
from resetdelivery.poller import Poller
from resetdelivery.services import request_reset
from tests.conftest import UseTransport, the_delivery
from tests.steps import seconds, store, take

CEILING_SECONDS = 20.0

S = DeliveryState


def ask(account: Any, *channels: str) -> None:
    request_reset(account_ref=str(account.pk), channels=list(channels) or ["email"])


@pytest.mark.django_db
def test_a_round_delivers_on_every_channel(
    account: Any, email: ScriptedTransport, sms: ScriptedTransport
) -> None:
    ask(account, "email", "sms")
    assert Poller().run_once() == 2
    assert (len(email.messages), len(sms.messages)) == (1, 1)


@pytest.mark.django_db
def test_a_round_takes_what_was_only_just_hinted_at(account: Any, email: ScriptedTransport) -> None:
    ask(account)
    Delivery.objects.update(hinted_at=database_now(connection))
    assert Poller().run_once() == 1


@pytest.mark.django_db
def test_a_round_puts_back_what_was_abandoned_and_delivers_it(account: Any, email: ScriptedTransport) -> None:
    ask(account)
    take()
    Delivery.objects.update(lease_expires_at=database_now(connection) - seconds(1))
    assert Poller().run_once() == 1
    assert the_delivery().state == S.ACCEPTED


@pytest.mark.django_db
def test_a_round_ends_what_is_past_help(email: ScriptedTransport) -> None:
    (row,) = store(life=3, overdue=5)
    assert Poller().run_once() == 0
    row.refresh_from_db()
    assert row.state == S.EXPIRED


@pytest.mark.django_db
def test_one_round_is_a_command(account: Any, email: ScriptedTransport, capsys: Any) -> None:
    ask(account)
    call_command("run_poller", "--once")
    assert capsys.readouterr().out == "1 deliveries claimed\n"


@pytest.mark.django_db
def test_an_error_of_one_round_keeps_its_text_to_itself(
    account: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> None:
        raise RuntimeError("about anna@shop.example")

    monkeypatch.setattr(recovery, "sweep", fail)
    with pytest.raises(StepFailed, match=r"RuntimeError in fail \(test_poller\.py:\d+\)") as failure:
        Poller().run_once()
    assert "anna" not in str(failure.value)
    assert failure.value.__context__ is None


@pytest.fixture
def running(transactional_db: None, settings: Any) -> Any:
    """Starts a poller in a thread; stops it at the end."""
    settings.RESETDELIVERY = {**settings.RESETDELIVERY, "POLL_INTERVAL": seconds(0.02)}
    started: list[tuple[Poller, threading.Thread]] = []

    def run() -> Poller:
        poller = Poller()
        thread = threading.Thread(target=run_and_close, args=(poller,))
        thread.start()
        started.append((poller, thread))
        return poller

    yield run
    for poller, thread in started:
        poller.stop()
        thread.join(CEILING_SECONDS)
        assert not thread.is_alive()


def run_and_close(poller: Poller) -> None:
    try:
        poller.run()
    finally:
        connections.close_all()


def test_a_running_poller_delivers_what_is_admitted_later(
    running: Callable[[], Poller], account: Any, email: ScriptedTransport
) -> None:
    running()
    ask(account)
    assert email.arrived.wait(CEILING_SECONDS)


def test_an_error_in_one_round_does_not_end_the_next(
    running: Callable[[], Poller],
    account: Any,
    email: ScriptedTransport,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failed = threading.Event()
    deliver = delivery.deliver

    def fail_once(*args: Any, **kwargs: Any) -> int:
        if not failed.is_set():
            failed.set()
            raise RuntimeError
        return deliver(*args, **kwargs)

    monkeypatch.setattr("resetdelivery.poller.deliver", fail_once)
    running()
    assert failed.wait(CEILING_SECONDS)
    ask(account)
    assert email.arrived.wait(CEILING_SECONDS)


def test_a_slow_channel_holds_up_no_other(
    running: Callable[[], Poller], account: Any, use_transport: UseTransport
) -> None:
    gate = threading.Event()
    email = use_transport(Channel.EMAIL, ScriptedTransport(gate=gate))
    sms = use_transport(Channel.SMS, ScriptedTransport())
    ask(account, "email")
    running()
    try:
        assert email.arrived.wait(CEILING_SECONDS)
        ask(account, "sms")
        assert sms.arrived.wait(CEILING_SECONDS)
    finally:
        gate.set()


def test_a_running_poller_turns_to_the_second_channel_in_time(
    running: Callable[[], Poller],
    account: Any,
    settings: Any,
    email: ScriptedTransport,
    sms: ScriptedTransport,
) -> None:
    channels = settings.RESETDELIVERY["CHANNELS"]
    slow = {**channels["email"], "GIVES_RECEIPTS": True, "FALLBACK_AFTER": seconds(0.5)}
    settings.RESETDELIVERY = {**settings.RESETDELIVERY, "CHANNELS": {**channels, "email": slow}}
    request_reset(account_ref=str(account.pk), channels=["email", "sms"], strategy="fallback")
    running()
    assert email.arrived.wait(CEILING_SECONDS)
    assert sms.arrived.wait(CEILING_SECONDS)
