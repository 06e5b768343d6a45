"""How the environment is read: keys with their ids, the address of a Redis with its CA."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured
from redis.connection import parse_url

from config.env import keys_by_id, with_ca

KEY, OTHER = 32 * "k", 32 * "o"
CA = "/etc/shop/a CA & more.pem"


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        ([], {}),
        ([KEY], {"1": KEY}),
        ([f"1:{KEY}"], {"1": KEY}),
        ([f"2026-b:{OTHER}", KEY], {"2026-b": OTHER, "1": KEY}),
    ],
)
def test_a_key_has_the_id_before_its_colon_or_is_the_first(values: list[str], keys: dict[str, str]) -> None:
    found = keys_by_id(values)
    assert list(found.items()) == list(keys.items())


@pytest.mark.parametrize(
    "value",
    [
        f"ab:{KEY}:{KEY}",  # one key with colons, or an id and a key
        f"{KEY}:{KEY}",  # no id is that long
        f"a+b/:{KEY}",
        f":{KEY}",
        f"{KEY}:",
        "1:",
    ],
)
def test_a_colon_that_may_be_the_keys_own_is_refused_without_showing_the_key(value: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="Key 2 of PSEUDONYM_KEY") as refused:
        keys_by_id([f"9:{OTHER}", value])
    assert KEY not in str(refused.value)


def test_two_keys_with_one_id_are_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="one id"):
        keys_by_id([KEY, f"1:{OTHER}"])


@pytest.mark.parametrize(
    ("url", "ca_file", "found"),
    [
        ("rediss://:p%2Fw@r.internal:6380/1", CA, CA),
        ("rediss://r.internal/1?protocol=3", CA, CA),
        ("rediss://r.internal/1?ssl_ca_certs=/own.pem", CA, "/own.pem"),
        ("rediss://r.internal/1", "", None),
        ("redis://r.internal/1", CA, None),
        ("unix:///run/redis.sock?db=1", CA, None),
    ],
)
def test_a_redis_behind_tls_is_known_by_the_ca_that_is_named(
    url: str, ca_file: str, found: str | None
) -> None:
    options = dict(parse_url(with_ca(url, ca_file)))
    assert options.pop("ssl_ca_certs", None) == found
    # Host, password, database and other options are as they were.
    assert options == {name: one for name, one in parse_url(url).items() if name != "ssl_ca_certs"}
