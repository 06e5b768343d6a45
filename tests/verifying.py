"""The verification of recovery under test: short waits, and nothing sent or left open, whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery import abandoned
from resetdelivery.cutover import stranded, verification
from resetdelivery.cutover.verification import Verification, verify
from resetdelivery.domain.states import OPEN_STATES, Authority
from resetdelivery.domain.verification import Kind
from resetdelivery.models import Attempt, Delivery
from tests.steps import seconds

LATER_THAN_ALL = "'2999-01-01 00:00:00'"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a module that imports it."""
    monkeypatch.setattr(stranded, "ABANDONED_LEASE_SECONDS", 0.05)
    monkeypatch.setattr(verification, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(verification, "SWEEP_SECONDS", 0.1)
    monkeypatch.setattr(verification, "END_SECONDS", 2.0)


@pytest.fixture(autouse=True)
def nothing_sent_or_left(email: ScriptedTransport, sms: ScriptedTransport) -> Iterator[None]:
    """Of a module that imports it."""
    yield
    left = Delivery.objects.filter(authority=Authority.SHADOW, state__in=OPEN_STATES)
    assert (list(left), list(Attempt.objects.all())) == ([], [])
    assert (email.messages, sms.messages) == ([], [])


def run(**options: Any) -> Verification:
    """Of the email channel, by Anna, with four rows and her own sweep, unless told otherwise."""
    given = {"number": 4, "timeout": seconds(20), "sweep_here": True, **options}
    return verify(Channel.EMAIL, who="anna", **given)


def not_ok(found: Verification) -> list[str]:
    """The names of what was not as it should be."""
    return [finding.name for finding in found.findings if not finding.ok]


def of_kind(found: Verification, kind: Kind) -> list[str]:
    """The states that the rows of a kind were last seen in."""
    return [one.last.state.value for one in found.courses if one.kind is kind]


def return_live_leases(patch: pytest.MonkeyPatch) -> None:
    """Break the sweep: it takes every lease for one that ran out."""
    patch.setattr(abandoned, "now_sql", lambda _: LATER_THAN_ALL)
