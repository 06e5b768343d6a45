from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from resetdelivery.clock import database_now
from resetdelivery.exceptions import (
    IdempotencyConflict,
    InvalidExpiry,
)
from resetdelivery.models import Delivery, IdempotencyKey, ResetIntent
from resetdelivery.pseudonyms import lock_numbers
from resetdelivery.services import request_reset
from tests.conftest import age
from tests.sinks import stored
from tests.steps import seconds

pytestmark = pytest.mark.django_db

MakeAccount = Callable[..., Any]
Request = dict[str, Any]
Settings = Callable[..., None]


def rows() -> tuple[int, int, int]:
    return ResetIntent.objects.count(), Delivery.objects.count(), IdempotencyKey.objects.count()


def test_the_same_request_under_the_same_key_is_answered_the_same(account: Any, hinted: list[int]) -> None:
    request: Request = {"account_ref": str(account.pk), "channels": ["email"], "idempotency_key": "k"}
    first, again = request_reset(**request), request_reset(**request)
    assert (again.reference, again.expires_at) == (first.reference, first.expires_at)
    assert (first.replayed, again.replayed, again.coalesced) == (False, True, False)
    assert rows() == (1, 1, 1)


def test_a_replay_is_answered_even_past_the_resets_expiry(account: Any) -> None:
    request: Request = {
        "account_ref": str(account.pk),
        "channels": ["email"],
        "idempotency_key": "k",
        "expires_at": database_now(connection).replace(microsecond=0) + seconds(120),
    }
    first = request_reset(**request)
    age(3600)
    again = request_reset(**request)
    assert (again.reference, again.replayed) == (first.reference, True)


def test_a_replay_past_the_requests_own_expiry_is_no_bad_request(
    account: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = database_now(connection)
    request: Request = {
        "account_ref": str(account.pk),
        "channels": ["email"],
        "idempotency_key": "k",
        "expires_at": now.replace(microsecond=0) + seconds(120),
    }
    first = request_reset(**request)
    monkeypatch.setattr("resetdelivery.admission.terms.database_now", lambda _: now + seconds(3600))
    assert request_reset(**request).reference == first.reference
    with pytest.raises(InvalidExpiry):
        request_reset(**{**request, "idempotency_key": "another"})


@pytest.mark.parametrize(
    "change",
    [
        {"channels": ["sms"]},
        {"lifetime": seconds(60)},
        {"expires_at": dt.datetime.max.replace(tzinfo=dt.timezone(dt.timedelta(hours=-12)))},
        {"account_ref": "another"},
        {"account_ref": None, "submitted": "anna@shop.example"},
        {"strategy": "fallback"},
        {"locale": "de"},
        {"template_version": "1"},
    ],
)
def test_another_request_under_the_same_key_is_a_conflict(account: Any, change: dict[str, Any]) -> None:
    request: Request = {
        "account_ref": str(account.pk),
        "channels": ["email"],
        "idempotency_key": "secret",
    }
    request_reset(**request)
    before = rows()
    with pytest.raises(IdempotencyConflict) as conflict:
        request_reset(**{**request, **change})
    assert "secret" not in str(conflict.value)
    assert rows() == before


def test_two_clients_may_use_one_key(make_account: MakeAccount, db: None) -> None:
    for client in ("web", "app"):
        ref = str(make_account().pk)
        request_reset(account_ref=ref, channels=["email"], idempotency_key="k", client=client)
    assert rows() == (2, 2, 2)


def test_without_a_key_each_call_is_a_request_of_its_own(account: Any) -> None:
    for _ in range(2):
        assert not request_reset(account_ref=str(account.pk), channels=["email"]).replayed
    assert IdempotencyKey.objects.count() == 2


def test_a_replay_is_found_under_an_older_key_and_not_without_it(account: Any, change: Settings) -> None:
    request: Request = {
        "account_ref": str(account.pk),
        "channels": ["email"],
        "idempotency_key": "k",
    }
    change(PSEUDONYM_KEYS={"old": "the old key"})
    first = request_reset(**request)
    change(PSEUDONYM_KEYS={"new": "the new key", "old": "the old key"})
    assert request_reset(**request).reference == first.reference
    change(PSEUDONYM_KEYS={"new": "the new key"})
    assert not request_reset(**request).replayed


def test_an_open_intent_is_joined_across_a_key_rotation(account: Any, change: Settings) -> None:
    change(PSEUDONYM_KEYS={"old": "the old key"})
    first = request_reset(account_ref=str(account.pk), channels=["email"])
    change(PSEUDONYM_KEYS={"new": "the new key", "old": "the old key"})
    second = request_reset(account_ref=str(account.pk), channels=["email"])
    assert (second.reference, second.coalesced) == (first.reference, True)


def test_processes_that_rotate_their_keys_one_after_the_other_meet_in_one_lock(change: Settings) -> None:
    steps = [
        {"old": "the old key"},
        {"old": "the old key", "new": "the new key"},
        {"new": "the new key", "old": "the old key"},
        {"new": "the new key"},
    ]
    numbers = []
    for keys in steps:
        change(PSEUDONYM_KEYS=keys)
        numbers.append(lock_numbers("account lock", "7"))
    assert all(set(one) & set(after) for one, after in itertools.pairwise(numbers))
    assert numbers[1] == numbers[2]


def test_no_raw_key_is_stored(account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"], idempotency_key="marked-key-3141")
    assert "marked-key-3141" not in stored()
