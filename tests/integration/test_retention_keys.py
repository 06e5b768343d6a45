"""Pseudonym keys change while resets are open: retention takes away all that the old key made."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from notifications.testing import ScriptedTransport
from resetdelivery import upkeep
from resetdelivery.models import IdempotencyKey, LimitUse, ResetIntent
from resetdelivery.poller import Poller
from resetdelivery.services import notify_password_changed, request_reset
from tests.integration.conftest import Settings
from tests.moved_clock import Clock, moved_clock

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]

OLD = {"old": "a pseudonym key that is on its way out"}
NEW = {"new": "a pseudonym key that takes its place"}
DAY = dt.timedelta(days=1)
MINUTE = dt.timedelta(minutes=1)


def ask(account: Any, key: str) -> Any:
    return request_reset(account_ref=str(account.pk), channels=["email"], idempotency_key=key)


def key_ids() -> set[str]:
    """The ids of all keys that anything stored was made with."""
    columns = (
        (ResetIntent, "account_digest"),
        (IdempotencyKey, "key_digest"),
        (IdempotencyKey, "request_digest"),
        (LimitUse, "key_digest"),
    )
    digests = [
        digest
        for model, name in columns
        for digest in model._default_manager.values_list(name, flat=True)
        if digest
    ]
    return {digest.partition(":")[0] for digest in digests}


def test_what_is_open_goes_on_while_the_new_key_comes_to_the_front(
    account: Any, change: Settings, email: ScriptedTransport, moved_clock: Clock
) -> None:
    change(PSEUDONYM_KEYS=OLD, ACCOUNT_PER_HOUR=2)
    first = ask(account, "one key")
    change(PSEUDONYM_KEYS={**NEW, **OLD})
    upkeep.purge()
    assert ask(account, "one key").replayed
    joined = ask(account, "another key")
    assert (joined.coalesced, joined.reference) == (True, first.reference)
    Poller().run_once()
    assert len(email.messages) == 1
    ask(account, "a third key")
    Poller().run_once()
    limited = ask(account, "a fourth key")
    assert ResetIntent.objects.get(reference=limited.reference).cancel_reason == "account_limit"


def test_after_a_day_nothing_is_left_that_the_old_key_made(
    account: Any, change: Settings, email: ScriptedTransport, sms: ScriptedTransport, moved_clock: Clock
) -> None:
    change(PSEUDONYM_KEYS=OLD)
    ask(account, "one key")
    request_reset(submitted="nobody@example.com", channels=["email"], idempotency_key="one key", client="c")
    notify_password_changed(account_ref=str(account.pk))
    change(PSEUDONYM_KEYS={**NEW, **OLD})
    Poller().run_once()
    assert key_ids() == {"old"}
    moved_clock.pass_by(DAY - MINUTE)
    ask(account, "a new key")
    moved_clock.pass_by(2 * MINUTE)
    upkeep.roll_up()
    upkeep.purge()
    assert key_ids() == {"new"}


def test_dropping_the_old_key_after_a_day_changes_nothing(
    account: Any, change: Settings, email: ScriptedTransport, moved_clock: Clock
) -> None:
    change(PSEUDONYM_KEYS=OLD)
    ask(account, "one key")
    Poller().run_once()
    change(PSEUDONYM_KEYS={**NEW, **OLD})
    moved_clock.pass_by(DAY + MINUTE)
    during = ask(account, "a new key")
    upkeep.roll_up()
    upkeep.purge()
    change(PSEUDONYM_KEYS=NEW)
    again = ask(account, "a new key")
    assert (again.replayed, again.reference) == (True, during.reference)
    Poller().run_once()
    assert len(email.messages) == 2
