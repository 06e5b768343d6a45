"""The stored circuits: whose probe it is, and what the database refuses."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction

from notifications.channels import Channel
from resetdelivery.claims import circuits
from resetdelivery.clock import database_now
from resetdelivery.models import ProviderCircuit
from tests.steps import seconds

pytestmark = pytest.mark.django_db


def test_a_probe_given_back_is_the_next_ones() -> None:
    ProviderCircuit.objects.create(
        channel="email", provider="main", outages=3, open_until=database_now(connection) - seconds(1)
    )
    assert circuits.begin_probe(connection, Channel.EMAIL, "main", 30.0)
    assert not circuits.begin_probe(connection, Channel.EMAIL, "main", 30.0)
    circuits.return_probe(connection, Channel.EMAIL, "main")
    assert circuits.begin_probe(connection, Channel.EMAIL, "main", 30.0)


@pytest.mark.parametrize("open_for", [None, 30])
def test_there_is_no_probe_where_the_circuit_is_closed_or_its_pause_goes_on(open_for: float | None) -> None:
    until = None if open_for is None else database_now(connection) + seconds(open_for)
    ProviderCircuit.objects.create(channel="email", provider="main", open_until=until)
    assert not circuits.begin_probe(connection, Channel.EMAIL, "main", 30.0)


def test_giving_a_probe_back_opens_no_circuit_that_was_closed_meanwhile() -> None:
    ProviderCircuit.objects.create(channel="email", provider="main")
    circuits.return_probe(connection, Channel.EMAIL, "main")
    assert ProviderCircuit.objects.get().open_until is None


def test_a_provider_has_one_circuit_on_a_channel() -> None:
    ProviderCircuit.objects.create(channel="email", provider="main")
    ProviderCircuit.objects.create(channel="sms", provider="main")
    with pytest.raises(IntegrityError, match=r"circuit_once|UNIQUE"), transaction.atomic():
        ProviderCircuit.objects.create(channel="sms", provider="main")


def test_a_circuit_is_of_a_channel_that_there_is() -> None:
    with pytest.raises(IntegrityError, match="resetdelivery_circuit_channel"), transaction.atomic():
        ProviderCircuit.objects.create(channel="pigeon", provider="main")
