"""The meters in a real Redis: held to the arithmetic, on the server's clock, without a name in it."""

from __future__ import annotations

import datetime as dt
import ssl
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resetdelivery.domain.gcra import Rate, meter
from resetdelivery.throttles import admit_api_call
from resetdelivery.throttles.connection import LimitsServer, run
from resetdelivery.throttles.meters import TAKE, key, look, take
from tests.brokers import everything
from tests.integration.conftest import Settings

NOW = 1_800_000_000_000_000
HOUR = dt.timedelta(hours=1)
ONE = Rate(limit=1, period=HOUR)
TWO = Rate(limit=2, period=HOUR)

# Long intervals: a key must not run out while a busy machine is between two calls.
rates = st.builds(Rate, limit=st.integers(1, 10), period=st.timedeltas(HOUR, dt.timedelta(days=1)))
steps = st.lists(st.integers(-HOUR // dt.timedelta(microseconds=1), 10**10), max_size=15)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rates, steps)
def test_the_script_says_and_stores_what_the_arithmetic_says(
    limits: redis.Redis[bytes], rate: Rate, steps: list[int]
) -> None:
    name, now, arrival = f"meter {uuid.uuid4()}", NOW, None
    for step in steps:
        now += step
        expected = meter(rate, arrival_us=arrival, now_us=now)
        assert run(TAKE, [name], [rate.interval_us, rate.limit, 1, now]) == expected.wait_us
        if expected.wait_us == 0:
            arrival = expected.arrival_us
        stored = limits.get(name)
        assert (stored and int(stored)) == arrival


def test_the_clock_is_the_servers(limits: redis.Redis[bytes]) -> None:
    def server_us() -> int:
        time: tuple[int, int] = limits.time()
        return time[0] * 1_000_000 + time[1]

    before = server_us()
    assert take("forgot", "192.0.2.1", rate=TWO) == 0.0
    stored = int(limits.get(key("forgot", "192.0.2.1")) or 0) - TWO.interval_us
    assert before <= stored <= server_us()


def test_a_meter_is_kept_no_longer_than_it_says_anything(limits: redis.Redis[bytes]) -> None:
    take("forgot", "192.0.2.1", rate=TWO)
    assert 0 < limits.pttl(key("forgot", "192.0.2.1")) <= TWO.interval_us // 1000 + 1


def test_over_the_limit_the_seconds_to_wait_are_told(limits: redis.Redis[bytes]) -> None:
    assert [take("forgot", "192.0.2.1", rate=TWO) for _ in range(2)] == [0.0, 0.0]
    assert 0 < take("forgot", "192.0.2.1", rate=TWO) <= 1800


def test_a_refused_call_uses_nothing(limits: redis.Redis[bytes]) -> None:
    take("forgot", "192.0.2.1", rate=ONE)
    before = limits.get(key("forgot", "192.0.2.1"))
    assert take("forgot", "192.0.2.1", rate=ONE) > 0
    assert limits.get(key("forgot", "192.0.2.1")) == before


def test_looking_uses_nothing_and_says_what_taking_would(limits: redis.Redis[bytes]) -> None:
    assert [look("confirm", "an account", rate=ONE) for _ in range(3)] == [0.0] * 3
    take("confirm", "an account", rate=ONE)
    assert look("confirm", "an account", rate=ONE) > 0


def test_each_purpose_and_each_caller_has_a_meter_of_its_own(limits: redis.Redis[bytes]) -> None:
    meters = [("forgot", "192.0.2.1"), ("confirm", "192.0.2.1"), ("forgot", "192.0.2.2")]
    assert [take(purpose, caller, rate=ONE) for purpose, caller in meters] == [0.0] * 3


def test_a_script_that_redis_forgot_is_sent_again(limits: redis.Redis[bytes]) -> None:
    take("forgot", "192.0.2.1", rate=TWO)
    limits.script_flush()
    assert take("forgot", "192.0.2.1", rate=TWO) == 0.0
    assert take("forgot", "192.0.2.1", rate=TWO) > 0


def test_what_does_not_belong_into_a_meter_is_an_empty_one(limits: redis.Redis[bytes]) -> None:
    limits.set(key("forgot", "192.0.2.1"), "no number")
    assert take("forgot", "192.0.2.1", rate=TWO) == 0.0


def test_a_meter_is_under_a_pseudonym(limits: redis.Redis[bytes]) -> None:
    take("forgot", "192.0.2.1", rate=TWO)
    assert b"resetdelivery:limits:forgot:t1:" in everything(limits)
    assert b"192.0.2.1" not in everything(limits)


def test_another_pseudonym_key_makes_another_meter(limits: redis.Redis[bytes], change: Settings) -> None:
    before = key("forgot", "192.0.2.1")
    change(PSEUDONYM_KEYS={"t2": "another pseudonym key for tests"})
    assert key("forgot", "192.0.2.1") != before


def test_without_a_redis_for_them_there_are_no_limits(change: Settings) -> None:
    change(LIMITS_REDIS_URL="")
    assert [take("forgot", "192.0.2.1", rate=ONE) for _ in range(3)] == [0.0] * 3


def test_a_client_of_the_api_has_so_many_calls_a_minute(limits: redis.Redis[bytes], change: Settings) -> None:
    change(API_CALLS_PER_MINUTE=3)
    assert [admit_api_call("orders") for _ in range(3)] == [0.0] * 3
    assert 0 < admit_api_call("orders") <= 20
    assert admit_api_call("other") == 0.0


def test_callers_at_the_same_moment_share_one_meter(limits: redis.Redis[bytes]) -> None:
    five = Rate(limit=5, period=HOUR)
    with ThreadPoolExecutor(20) as threads:
        waits = list(threads.map(lambda _: take("forgot", "192.0.2.1", rate=five), range(40)))
    assert waits.count(0.0) == 5


@pytest.mark.parametrize("url", ["rediss://limits.example/0", "rediss://limits.example/0?socket_timeout=9"])
def test_tls_verifies_whom_it_talks_to(url: str) -> None:
    connection: Any = LimitsServer(url, 0.1, 5.0).client.connection_pool.make_connection()
    assert (connection.cert_reqs, connection.check_hostname) == (ssl.CERT_REQUIRED, True)
