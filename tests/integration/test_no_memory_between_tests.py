"""What one test did to the broker is forgotten before the next one begins."""

from __future__ import annotations

import pytest

from resetdelivery import broker


@pytest.fixture(scope="module", autouse=True)
def _broker_was_away() -> None:
    """As a test right before this one may leave it: what has the scope of a module comes first."""
    broker.breaker().trip()


def test_no_test_begins_behind_a_breaker_that_another_one_opened() -> None:
    assert not broker.breaker().is_open
