"""The checks of the limits in Redis."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks

from tests.integration.conftest import Settings

URL = "redis://:marked-password@127.0.0.1:6379/1"
OURS = {f"resetdelivery.{kind}{number:03}" for kind in "EW" for number in (71, *range(84, 90))}


def found(*, deploy: bool = False) -> list[CheckMessage]:
    messages = run_checks(tags=["resetdelivery"], include_deployment_checks=deploy)
    return [message for message in messages if message.id in OURS]


def ids(*, deploy: bool = False) -> list[str]:
    return [str(message.id).removeprefix("resetdelivery.") for message in found(deploy=deploy)]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, []),
        ({"LIMITS_REDIS_URL": ""}, []),
        ({"LIMITS_REDIS_URL": "rediss://limits.example/0?ssl_cert_reqs=required"}, []),
        ({"LIMITS_REDIS_URL": "unix:///run/redis.sock?db=1"}, []),
        ({"LIMITS_REDIS_URL": "127.0.0.1:6379"}, ["E084"]),
        ({"LIMITS_REDIS_URL": "amqp://127.0.0.1"}, ["E084"]),
        ({"LIMITS_REDIS_URL": "redis://127.0.0.1:port"}, ["E084"]),
        ({"LIMITS_REDIS_URL": "rediss://limits.example/0?ssl_cert_reqs=none"}, ["E085"]),
        ({"LIMITS_REDIS_URL": "rediss://limits.example/0?ssl_cert_reqs=None"}, ["E085"]),
        ({"LIMITS_REDIS_URL": "rediss://limits.example/0?ssl_cert_reqs=optional"}, ["E085"]),
        ({"LIMITS_REDIS_URL": "rediss://limits.example/0?ssl_check_hostname=false"}, ["E085"]),
        ({"TRUSTED_PROXIES": ["10.0.0.0/8", "10.0.0.1", "10.0.0.1/8", "2001:db8::/32", "unix"]}, []),
        ({"TRUSTED_PROXIES": ["10.0.0.0/33", "proxy.example", "10.0.0.1"]}, ["E086", "E086"]),
        ({"LIMITS_TIMEOUT": dt.timedelta(0)}, ["E087"]),
        ({"LIMITS_TIMEOUT": dt.timedelta(seconds=2)}, []),
        ({"LIMITS_TIMEOUT": dt.timedelta(seconds=3)}, ["E087"]),
        ({"LIMITS_PAUSE": dt.timedelta(0)}, ["E088"]),
    ],
)
def test_what_the_limits_are_set_to_is_checked(
    change: Settings, changed: dict[str, Any], expected: list[str]
) -> None:
    change(**{"LIMITS_REDIS_URL": URL, **changed})
    assert ids() == expected


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"LIMITS_REDIS_URL": ""}, ["W084"]),
        ({}, ["W085"]),
        ({"SMS_SEGMENTS_PER_HOUR": 100}, []),
        ({"SMS_SEGMENTS_PER_DAY": 0}, []),
        ({"CHANNELS": {"email": {"TRANSPORT": "tests.transports.email"}}}, []),
    ],
)
def test_what_has_no_limit_is_named_before_it_is_deployed(
    change: Settings, changed: dict[str, Any], expected: list[str]
) -> None:
    change(**{"LIMITS_REDIS_URL": URL, **changed})
    assert ids(deploy=True) == expected
    assert ids() == []


@pytest.mark.parametrize(
    ("sign", "value"),
    [("SECURE_PROXY_SSL_HEADER", ("HTTP_X_FORWARDED_PROTO", "https")), ("SECURE_SSL_REDIRECT", True)],
)
@pytest.mark.parametrize(
    ("changed", "expected"),
    [({}, ["W086"]), ({"TRUSTED_PROXIES": ["10.0.0.0/8"]}, []), ({"LIMITS_REDIS_URL": ""}, ["W084"])],
)
def test_a_proxy_that_is_not_named_is_one_caller(
    change: Settings, settings: Any, sign: str, value: object, changed: dict[str, Any], expected: list[str]
) -> None:
    setattr(settings, sign, value)
    change(**{"LIMITS_REDIS_URL": URL, "SMS_SEGMENTS_PER_DAY": 100, **changed})
    assert ids(deploy=True) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://:marked-password@redis.internal:6379/1", ["W071"]),
        ("redis://10.0.0.7/1", ["W071"]),
        ("redis://localhost/1", []),
        ("redis://[::1]:6379/1", []),
        ("redis:///1", []),  # this machine's
        ("rediss://redis.internal:6379/1", []),
        ("unix:///run/redis.sock", []),
        ("redis://redis.internal:port", ["E084"]),
        ("", ["W084"]),
    ],
)
def test_limits_on_another_machine_are_asked_over_tls(
    change: Settings, url: str, expected: list[str]
) -> None:
    change(LIMITS_REDIS_URL=url, SMS_SEGMENTS_PER_DAY=100)
    assert ids(deploy=True) == expected


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:marked-password",
        "rediss://:marked-password@h/?ssl_cert_reqs=none",
        "redis://:marked-password@h/",
    ],
)
def test_no_check_shows_the_address(change: Settings, url: str) -> None:
    change(LIMITS_REDIS_URL=url, SMS_SEGMENTS_PER_DAY=100)
    (message,) = found(deploy=True)
    assert "marked-password" not in f"{message.msg} {message.hint}"
