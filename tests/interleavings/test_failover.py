"""Workers that meet at a provider's circuit at the same moment."""

from __future__ import annotations

from functools import partial

import pytest
from django.db import connection

from notifications.channels import Channel
from notifications.outcome import Outcome, OutcomeKind, Reason
from resetdelivery.claims import circuits
from resetdelivery.claims.settle import Result, settle
from resetdelivery.clock import database_now
from resetdelivery.conf import get_settings
from resetdelivery.domain.circuit import CircuitPolicy
from resetdelivery.domain.failover import Lineup
from resetdelivery.models import Delivery, ProviderCircuit
from tests.interleavings.racing import together
from tests.steps import record, seconds, store, take

DOWN = Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.CONNECT_FAILED)
LINEUP = Lineup(order=("scripted", "second"), policy=CircuitPolicy(threshold=3))
WORKERS = 4


def test_of_many_workers_one_probes() -> None:
    ProviderCircuit.objects.create(
        channel="email", provider="main", outages=3, open_until=database_now(connection) - seconds(1)
    )
    won = together(
        *[lambda: circuits.begin_probe(connection, Channel.EMAIL, "main", 30.0) for _ in range(WORKERS)]
    )
    assert sorted(won) == [False] * (WORKERS - 1) + [True]


def settle_one(row: Delivery) -> None:
    (marked,) = record(take(ids=[row.pk], limit=1))
    result = Result(marked=marked, outcome=DOWN, finished_at=marked.started_at, duration_seconds=0.0)
    settle(
        [result],
        policy=get_settings().policy(Channel.EMAIL),
        draw=lambda: 0.0,
        max_claims=10,
        probe_after_seconds=30,
        using="default",
        lineup=LINEUP,
    )


@pytest.mark.parametrize(("number", "outages", "is_open"), [(2, 2, False), (3, 3, True), (4, 3, True)])
def test_outages_that_are_settled_at_once_are_all_counted(number: int, outages: int, is_open: bool) -> None:
    rows = store(number, overdue=5)
    together(*[partial(settle_one, row) for row in rows])
    found = ProviderCircuit.objects.get()
    assert (found.outages, found.open_until is not None) == (outages, is_open)
    assert set(Delivery.objects.values_list("state", flat=True)) == {"pending"}
