"""A worker that is asked what it is set to (``inspect conf``, Flower's worker page) tells no secret."""

from __future__ import annotations

import json
from typing import Any

import pytest
from celery import Celery

from config.celery import CelerySettings

MARK = "marked-secret-2718"


@pytest.fixture
def told(settings: Any) -> str:
    """All that Celery's own answer to that question holds, with secrets in every setting of ours."""
    settings.SECRET_KEY = MARK
    settings.CELERY_BROKER_URL = f"redis://worker:{MARK}@127.0.0.1:6379/0"
    settings.RESETDELIVERY = {
        **settings.RESETDELIVERY,
        "PSEUDONYM_KEYS": {"k1": MARK},
        "LINK_KEYS": [MARK],
        "LIMITS_REDIS_URL": f"redis://limits:{MARK}@127.0.0.1:6379/1",
    }
    app = Celery("asked", set_as_current=False)
    app.config_from_object(CelerySettings())
    table: Any = app.conf.table(with_defaults=False, censored=True)
    return json.dumps(dict(table), default=str)


def test_it_tells_what_celery_is_set_to(told: str) -> None:
    assert "global_keyprefix" in told
    assert "visibility_timeout" in told


def test_it_tells_no_secret_and_nothing_of_ours(told: str) -> None:
    assert MARK not in told
    assert "RESETDELIVERY" not in told
