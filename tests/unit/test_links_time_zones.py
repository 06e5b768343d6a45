from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.test import override_settings

from examples.marketplace.models import User
from resetdelivery.links import ResetTokenGenerator, utc_now

ZONES = ["UTC", "America/New_York", "Europe/Berlin"]
TICK = dt.timedelta(microseconds=1)

#: Moments in and around the changes of 2026, in UTC, when local clocks jump or repeat an hour.
CHANGES = {
    "New York springs forward": dt.datetime(2026, 3, 8, 7, 0, tzinfo=dt.UTC),
    "New York falls back": dt.datetime(2026, 11, 1, 6, 0, tzinfo=dt.UTC),
    "Berlin springs forward": dt.datetime(2026, 3, 29, 1, 0, tzinfo=dt.UTC),
    "Berlin falls back": dt.datetime(2026, 10, 25, 1, 0, tzinfo=dt.UTC),
}
OFFSETS = [dt.timedelta(minutes=m) for m in (-60, -30, 0, 10, 30, 60)]

#: Prints the token of one user for each expiry given, made by a process that lives in one zone.
MINT = """
import datetime as dt, json, sys
import django
from django.conf import settings
zone, key, expiries = json.loads(sys.argv[1])
settings.configure(
    TIME_ZONE=zone,
    USE_TZ=True,
    SECRET_KEY="unused",
    RESETDELIVERY={"LINK_KEYS": [key], "MAX_LIFETIME": dt.timedelta(days=366)},
    AUTH_USER_MODEL="marketplace.User",
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "examples.marketplace"],
)
django.setup()
from examples.marketplace.models import User
from resetdelivery.links import ResetTokenGenerator
user = User(pk=7, email="anna@shop.example", password="md5$salt$digest")
moments = [dt.datetime.fromisoformat(text) for text in expiries]
generator = ResetTokenGenerator(email_field="email", clock=lambda: min(moments))
print(json.dumps([generator.make_token_until(user, moment) for moment in moments]))
"""


def customer() -> User:
    return User(pk=7, email="anna@shop.example", password="md5$salt$digest")


def generator(now: dt.datetime) -> ResetTokenGenerator:
    return ResetTokenGenerator(email_field="email", clock=lambda: now)


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest) -> Iterator[str]:
    """This process in another zone: Django's setting and the C library's."""
    with override_settings(TIME_ZONE=request.param):
        assert os.environ["TZ"] == request.param
        yield request.param


def test_the_clock_reads_utc_in_every_zone(zone: str) -> None:
    assert utc_now().utcoffset() == dt.timedelta(0)
    assert abs(utc_now().timestamp() - time.time()) < 5


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("offset", OFFSETS, ids=str)
def test_a_link_lives_to_its_expiry_across_a_clock_change(
    zone: str, change: dt.datetime, offset: dt.timedelta
) -> None:
    expires_at = change + offset
    token = generator(expires_at - dt.timedelta(minutes=45)).make_token_until(customer(), expires_at)
    assert generator(expires_at - TICK).check_token(customer(), token)
    assert not generator(expires_at).check_token(customer(), token)
    assert not generator(expires_at + dt.timedelta(minutes=59)).check_token(customer(), token)


@pytest.mark.parametrize("minting_zone", ZONES)
def test_a_link_made_by_a_process_in_one_zone_works_in_all_others(minting_zone: str) -> None:
    moments = [change + offset for change in CHANGES.values() for offset in OFFSETS]
    minted = tokens_of_a_process(minting_zone, moments)
    for checking_zone in ZONES:
        with override_settings(TIME_ZONE=checking_zone):
            for expires_at, token in zip(moments, minted, strict=True):
                assert generator(expires_at - TICK).check_token(customer(), token)
                assert not generator(expires_at).check_token(customer(), token)


def tokens_of_a_process(zone: str, moments: list[dt.datetime]) -> list[str]:
    key = settings.RESETDELIVERY["LINK_KEYS"][0]
    argument = json.dumps([zone, key, [moment.isoformat() for moment in moments]])
    done = subprocess.run(
        [sys.executable, "-c", MINT, argument],
        cwd=Path(__file__).parents[2],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    tokens: list[str] = json.loads(done.stdout)
    return tokens
