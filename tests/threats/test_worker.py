"""A machine whose clock is wrong: what the database decides, and what is left to the web server's own."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery import clock
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.links import ResetTokenGenerator
from resetdelivery.recovery import expire_overdue
from resetdelivery.services import request_reset
from tests.conftest import the_delivery
from tests.steps import seconds
from tests.unit.test_links_time_zones import TICK, customer

EXPIRES_AT = dt.datetime(2026, 11, 29, 12, 0, tzinfo=dt.UTC)
SKEW = dt.timedelta(seconds=90)


def accepted_at(true_time: dt.datetime, *, skew: dt.timedelta) -> bool:
    """Whether a web server whose clock is ``skew`` ahead takes the link at ``true_time``."""
    made = ResetTokenGenerator(email_field="email", clock=lambda: EXPIRES_AT - dt.timedelta(minutes=10))
    token = made.make_token_until(customer(), EXPIRES_AT)
    web = ResetTokenGenerator(email_field="email", clock=lambda: true_time + skew)
    return web.check_token(customer(), token)


@pytest.mark.parametrize("skew", [-SKEW, SKEW], ids=["90 s slow", "90 s fast"])
def test_the_window_of_a_link_moves_by_the_web_servers_skew_and_no_further(skew: dt.timedelta) -> None:
    ends = EXPIRES_AT - skew
    assert accepted_at(ends - TICK, skew=skew)
    assert not accepted_at(ends, skew=skew)


@pytest.fixture
def shift_database(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the database's clock that many seconds apart from this machine's."""

    def shift(seconds: float) -> None:
        monkeypatch.setitem(clock._NOW, "postgresql", f"(clock_timestamp() + interval '{seconds} s')")
        monkeypatch.setitem(
            clock._AFTER, "postgresql", f"(clock_timestamp() + (%s + {seconds}) * interval '1 s')"
        )
        text = "(strftime('%%Y-%%m-%%d %%H:%%M:%%f','now', '{first} seconds'{second}) || '000')"
        monkeypatch.setitem(clock._NOW, "sqlite", text.format(first=seconds, second=""))
        monkeypatch.setitem(clock._AFTER, "sqlite", text.format(first=seconds, second=", %s || ' seconds'"))

    return shift


@pytest.mark.django_db
@pytest.mark.parametrize(
    "skew", [-90.0, 90.0], ids=["90 s ahead of the database", "90 s behind the database"]
)
def test_a_machine_with_another_clock_than_the_database_delivers_by_the_databases(
    account: Any, email: ScriptedTransport, shift_database: Callable[[float], None], skew: float
) -> None:
    shift_database(skew)
    before = clock.database_now(connection)
    admission = request_reset(account_ref=str(account.pk), channels=["email"], lifetime=seconds(60))
    assert seconds(58) < admission.expires_at - before < seconds(62)
    deliver(Channel.EMAIL)
    assert (the_delivery().state, len(email.messages)) == (DeliveryState.ACCEPTED, 1)


@pytest.mark.django_db
def test_what_is_past_its_expiry_by_the_databases_clock_is_not_sent_whatever_the_machine_thinks(
    account: Any, email: ScriptedTransport, shift_database: Callable[[float], None]
) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"], lifetime=seconds(60))
    shift_database(90)
    deliver(Channel.EMAIL)
    expire_overdue()
    assert (the_delivery().state, email.messages) == (DeliveryState.EXPIRED, [])
