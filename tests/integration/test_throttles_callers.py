"""Who a caller is, and the page that answers 429."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from django.test import Client, RequestFactory

from resetdelivery.models import ResetIntent
from resetdelivery.throttles.callers import caller_network, parsed_address, wait_seconds
from tests.integration.conftest import Settings

PROXIES = ("10.0.0.0/8", "2001:db8:ffff::/48", "no network")


@pytest.mark.parametrize(
    ("remote", "forwarded", "network"),
    [
        ("192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),  # nobody whom we believe says so
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),  # the left one is the caller's own word
        ("10.0.0.1", "203.0.113.9, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
        ("10.0.0.1", "rubbish, 198.51.100.7,10.1.2.3", "198.51.100.7"),
        ("10.0.0.1", "198.51.100.7, unknown", "10.0.0.1"),  # our own proxy wrote no address
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", " , ", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.7:4711", "198.51.100.7"),
        ("10.0.0.1", "[2001:db8:1:2:3::4]:4711", "2001:db8:1:2::/64"),
        ("10.0.0.1", '"[2001:db8:1:2:3::4]"', "2001:db8:1:2::/64"),
        ("10.0.0.1", "2001:db8:1:2:3::4%eth0", "2001:db8:1:2::/64"),
        ("10.0.0.1", "::ffff:198.51.100.7", "198.51.100.7"),
        ("::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("2001:db8:ffff::1", "198.51.100.7", "198.51.100.7"),
        ("2001:db8:1:2::3", "198.51.100.7", "2001:db8:1:2::/64"),
        ("", "198.51.100.7", ""),
        ("not an address", "198.51.100.7", ""),
    ],
)
def test_the_caller_is_the_first_from_the_right_that_is_no_proxy_of_ours(
    remote: str, forwarded: str, network: str
) -> None:
    assert caller_network(remote, forwarded, PROXIES) == network


def test_a_proxy_on_a_unix_socket_is_believed_where_that_is_said() -> None:
    assert caller_network("", "203.0.113.9, 198.51.100.7", ("unix",)) == "198.51.100.7"


@pytest.mark.parametrize(
    "text", ["", "-", "1.2.3", "1.2.3.4.5", "[::1", "1.2.3.4, 5.6.7.8", "::1::", "😀", "[]"]
)
def test_what_is_no_address_is_none(text: str) -> None:
    assert parsed_address(text) is None


def test_two_addresses_of_one_ipv6_network_are_one_caller(
    limits: redis.Redis[bytes], change: Settings, rf: RequestFactory
) -> None:
    change(CALLER_PER_10_MINUTES=1)
    first = rf.post("/", REMOTE_ADDR="2001:db8:1:2::3")
    assert wait_seconds(first, purpose="forgot") == 0.0
    assert wait_seconds(rf.post("/", REMOTE_ADDR="2001:db8:1:2:ffff::4"), purpose="forgot") > 0
    assert wait_seconds(rf.post("/", REMOTE_ADDR="2001:db8:1:3::3"), purpose="forgot") == 0.0


def test_a_caller_cannot_choose_its_address(
    limits: redis.Redis[bytes], change: Settings, rf: RequestFactory
) -> None:
    change(CALLER_PER_10_MINUTES=1, TRUSTED_PROXIES=["10.0.0.1"])
    for pretended, over in (("203.0.113.1", False), ("203.0.113.2", True), ("203.0.113.3", True)):
        line = f"{pretended}, 198.51.100.7"
        request = rf.post("/", REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR=line)
        assert (wait_seconds(request, purpose="forgot") > 0) is over


def test_the_confirm_page_has_a_limit_of_its_own(
    limits: redis.Redis[bytes], change: Settings, rf: RequestFactory
) -> None:
    change(CALLER_PER_10_MINUTES=1, CONFIRM_PER_10_MINUTES=2)
    waits = [wait_seconds(rf.get("/"), purpose="confirm") for _ in range(3)]
    assert waits[:2] == [0.0, 0.0]
    assert waits[2] > 0


def test_a_caller_without_an_address_passes(
    limits: redis.Redis[bytes], change: Settings, rf: RequestFactory
) -> None:
    change(CALLER_PER_10_MINUTES=1)
    assert [wait_seconds(rf.post("/", REMOTE_ADDR=""), purpose="forgot") for _ in range(2)] == [0.0, 0.0]


# The shop's page.

PAGE = "/accounts/forgot/"


def ask(client: Client, who: str, *, caller: str = "192.0.2.1") -> Any:
    """Ask for a reset over https, where there is nothing to be redirected to."""
    return client.post(PAGE, {"email": who, "request_key": who}, secure=True, REMOTE_ADDR=caller)


@pytest.mark.django_db
def test_over_the_limit_the_page_answers_429_and_admits_nothing(
    limits: redis.Redis[bytes], change: Settings, client: Client
) -> None:
    change(CALLER_PER_10_MINUTES=1)
    assert ask(client, "anna@shop.example").status_code == 302
    answer = ask(client, "bert@shop.example")
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= 600
    assert answer["Cache-Control"] == "no-store"
    assert "in 10 minutes" in answer.content.decode()
    assert ResetIntent.objects.count() == 1


@pytest.mark.django_db
def test_another_caller_is_not_held_up(limits: redis.Redis[bytes], change: Settings, client: Client) -> None:
    change(CALLER_PER_10_MINUTES=1)
    ask(client, "anna@shop.example", caller="192.0.2.1")
    assert ask(client, "anna@shop.example", caller="192.0.2.2").status_code == 302


@pytest.mark.django_db
def test_looking_at_the_page_counts_nothing(
    limits: redis.Redis[bytes], change: Settings, client: Client
) -> None:
    change(CALLER_PER_10_MINUTES=1)
    assert [client.get(PAGE, secure=True).status_code for _ in range(3)] == [200] * 3
    assert ask(client, "anna@shop.example").status_code == 302


@pytest.mark.django_db
def test_the_429_is_the_same_whoever_was_asked_for(
    limits: redis.Redis[bytes], change: Settings, client: Client, account: Any
) -> None:
    change(CALLER_PER_10_MINUTES=1)
    ask(client, "somebody@shop.example")
    known, unknown = ask(client, account.email), ask(client, "nobody@shop.example")
    assert known.status_code == unknown.status_code == 429
    assert known.content == unknown.content
    assert set(known.headers) == set(unknown.headers)
