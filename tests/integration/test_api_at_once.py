"""Many requests at one moment, each on a thread and a connection of its own."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from resetdelivery.models import Delivery, IdempotencyKey, ResetIntent
from tests.internal_api import Service, reset_fields, service

pytestmark = [pytest.mark.usefixtures("postgres_only"), pytest.mark.django_db(transaction=True)]

REQUESTS = 200
#: As many as a server's threads; the test's PostgreSQL takes 100 connections.
THREADS = 80
#: A client that is told "in progress" asks again; more often than this would be no progress at all.
TRIES = 50


def ask_until_admitted(shop: Service, fields: dict[str, object], key: str) -> tuple[str, bool, list[int]]:
    """The reference, whether the answer was a replay, and the statuses before it."""
    before: list[int] = []
    for _ in range(TRIES):
        answer = shop.ask(fields, key=key)
        if answer.status_code == 202:
            return answer.get_json()["reference"], "Idempotency-Replayed" in answer.headers, before
        assert answer.headers["Retry-After"]
        before.append(answer.status_code)
    raise AssertionError(f"never admitted: {Counter(before)}")


def at_once(shop: Service, fields: dict[str, object], keys: list[str]) -> list[tuple[str, bool, list[int]]]:
    """One request for each key; as many at a time as there are threads, the first of them together."""
    together = threading.Barrier(THREADS)
    started = iter(range(len(keys)))
    counting = threading.Lock()

    def one(key: str) -> tuple[str, bool, list[int]]:
        with counting:
            number = next(started)
        if number < THREADS:
            together.wait(30)
        try:
            return ask_until_admitted(shop, fields, key)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(one, keys))


def test_two_hundred_requests_with_one_key_are_one_intent(account: Any) -> None:
    answers = at_once(service(), reset_fields(account), ["one-key"] * REQUESTS)
    references = {reference for reference, _, _ in answers}
    assert references == {str(ResetIntent.objects.get().reference)}
    assert Counter(replayed for _, replayed, _ in answers) == {True: REQUESTS - 1, False: 1}
    assert (Delivery.objects.count(), IdempotencyKey.objects.count()) == (1, 1)
    assert {status for _, _, before in answers for status in before} <= {409}


def test_two_hundred_requests_with_a_key_each_are_one_intent_as_well(account: Any) -> None:
    keys = [f"key-{number}" for number in range(REQUESTS)]
    answers = at_once(service(), reset_fields(account), keys)
    assert {reference for reference, _, _ in answers} == {str(ResetIntent.objects.get().reference)}
    assert not any(replayed for _, replayed, _ in answers)
    assert IdempotencyKey.objects.count() == REQUESTS
