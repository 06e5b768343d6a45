"""The page behind a link, hardened: how often one caller may ask, and how often one account be guessed at."""

from __future__ import annotations

import datetime as dt
import re

import pytest
import redis
from django.test import Client
from django.utils.http import urlsafe_base64_encode

from examples.marketplace.models import User
from resetdelivery import views
from resetdelivery.domain.gcra import Rate
from tests.integration.conftest import Settings
from tests.reset_page import NEW, OLD, has_password, opened, path_of_link, set_password

pytestmark = pytest.mark.django_db

WRONG = "/reset/MQ/ditab6-378a2f1dd9e42bb6548118d507ac006d/"


@pytest.fixture
def user() -> User:
    return User.objects.create_user("anna", email="anna@shop.example", phone="+4915228817386", password=OLD)


@pytest.fixture
def path(user: User) -> str:
    return path_of_link(user)


def test_whoever_asks_too_often_waits(
    client: Client, path: str, limits: redis.Redis[bytes], change: Settings
) -> None:
    change(CONFIRM_PER_10_MINUTES=2)
    answers = [client.get(path) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [302, 302, 429]
    assert 0 < int(answers[-1].headers["Retry-After"]) <= 300


@pytest.fixture
def few_failures(monkeypatch: pytest.MonkeyPatch, change: Settings, limits: redis.Redis[bytes]) -> None:
    """Two wrong links per account and hour, and no bound on callers."""
    monkeypatch.setattr(views, "FAILURES", Rate(limit=2, period=dt.timedelta(hours=1)))
    change(CONFIRM_PER_10_MINUTES=1000)


def test_wrong_links_of_one_account_are_limited(few_failures: None, user: User, path: str) -> None:
    wrong = path[:-5] + "0000/"
    statuses = [Client(REMOTE_ADDR=f"192.0.2.{n}").get(wrong).status_code for n in range(4)]
    assert statuses == [200, 200, 429, 429]


#: The account 7: with bits that no octet needs, with characters that base64 passes over, and the number
#: itself written in other ways.
SPELLINGS = {
    "the usual one": "Nw",
    "other last bits": "Nx",
    "padded": "Nw==",
    "passed over": "N.w",
    "a zero before": urlsafe_base64_encode(b"007"),
    "a plus sign before": urlsafe_base64_encode(b"+7"),
    "other digits": urlsafe_base64_encode("\u0667".encode()),
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("exists", [True, False], ids=["an account", "no account"])
def test_another_spelling_of_the_account_counts_as_the_same(
    few_failures: None, exists: bool, spelling: str
) -> None:
    if exists:
        User.objects.create_user("ben", pk=7)
    statuses = [Client().get(WRONG.replace("MQ", uid)).status_code for uid in ("Nw", spelling, "Nw")]
    assert statuses == [200, 200, 429]


@pytest.mark.parametrize("uid", ["%C3%BC", "A", "_w", "Zm9v", urlsafe_base64_encode(b"9" * 5000)])
def test_what_can_name_no_account_is_limited_by_its_own(few_failures: None, db: None, uid: str) -> None:
    statuses = [Client().get(WRONG.replace("MQ", one)).status_code for one in (uid, uid, "Nw", uid)]
    assert statuses == [200, 200, 200, 429]


def test_wrong_links_to_no_account_are_limited_too(few_failures: None) -> None:
    statuses = [Client().get(WRONG.replace("MQ", "OTk5")).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_a_form_whose_link_died_meanwhile_counts_too(few_failures: None, user: User, path: str) -> None:
    browser = Client()
    page = opened(browser, path)
    User.objects.filter(pk=user.pk).update(email="anna@elsewhere.example")
    assert [set_password(browser, page).status_code for _ in range(3)] == [200, 200, 429]


def test_nobody_can_keep_others_from_a_link_that_works(few_failures: None, user: User, path: str) -> None:
    for _ in range(5):
        Client().get(path[:-5] + "0000/")
    browser = Client()
    set_password(browser, opened(browser, path))
    assert has_password(user, NEW)


def test_a_link_that_works_and_a_form_with_a_mistake_count_as_no_failure(
    few_failures: None, user: User, path: str
) -> None:
    browser = Client()
    page = opened(browser, path)
    statuses = [browser.get(path).status_code for _ in range(4)]
    statuses += [set_password(browser, page, "x").status_code for _ in range(4)]
    assert statuses == [302] * 4 + [200] * 4


def test_redis_holds_no_account_and_no_link(
    few_failures: None, user: User, path: str, limits: redis.Redis[bytes]
) -> None:
    Client().get(path[:-5] + "0000/")
    names = [name.decode() for name in limits.keys("*")]
    assert sorted(name.split(":")[2] for name in names) == ["confirm", "failed-link"]
    assert all(re.fullmatch(r"resetdelivery:limits:[a-z-]+:t1:[0-9a-f]{64}", name) for name in names)
