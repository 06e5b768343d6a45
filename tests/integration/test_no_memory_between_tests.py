"""What one test did to the broker, or chose as a key, is forgotten before the next one begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import testcases

from resetdelivery import broker


@pytest.fixture(scope="module", autouse=True)
def _broker_was_away() -> None:
    """As a test right before this one may leave it: what has the scope of a module comes first."""
    broker.breaker().trip()


def test_no_test_begins_behind_a_breaker_that_another_one_opened() -> None:
    assert not broker.breaker().is_open


def test_no_test_is_given_a_long_key_because_another_one_chose_it(
    transactional_db: None, make_account: Callable[..., Any]
) -> None:
    make_account(pk=9_999_999_999_999)
    flush: Any = vars(testcases)["call_command"]  # as a transactional test does at its end
    flush("flush", verbosity=0, interactive=False, database="default")
    assert make_account().pk < 1_000_000
