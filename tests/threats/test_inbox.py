"""Somebody asks again and again: for a full inbox, a locked account, or to be in its owner's way."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from resetdelivery.testing import Submission, deliver_now
from tests.integration.conftest import Settings
from tests.threats.pages import ask, works

pytestmark = pytest.mark.django_db

TIMES = 20


@pytest.fixture(autouse=True)
def _limits_as_shipped(change: Settings) -> None:
    change(ACCOUNT_PER_HOUR=3, ACCOUNT_PER_DAY=8, DESTINATION_PER_HOUR=3, DESTINATION_PER_DAY=8)


def asked_again_and_again(typed: str) -> list[Submission]:
    """What is sent when each request comes after the one before was delivered, and joins none."""
    sent = []
    for number in range(TIMES):
        assert ask(Client(REMOTE_ADDR=f"198.51.100.{number}"), typed).status_code == 302
        sent += deliver_now()
    return sent


def test_an_inbox_and_a_telephone_get_no_more_than_the_limit(account: Any) -> None:
    reached = [one.to for one in asked_again_and_again(account.email)]
    assert sorted(reached) == sorted([account.email, account.phone] * 3)


def test_changing_accounts_fills_no_inbox_that_they_share(make_account: Any) -> None:
    family = [make_account(email="family@shop.example", phone="") for _ in range(3)]
    sent = [one for member in family for one in asked_again_and_again(member.username)]
    assert [one.to for one in sent] == ["family@shop.example"] * 3


def test_however_often_it_is_asked_for_the_account_itself_is_untouched(client: Client, account: Any) -> None:
    def stored() -> Any:
        return get_user_model().objects.filter(pk=account.pk).values().get()

    before = stored()
    client.force_login(account)
    signed_in = stored()
    asked_again_and_again(account.email)
    assert stored() == signed_in
    assert signed_in == {**before, "last_login": signed_in["last_login"]}
    assert client.get("/").context["user"] == account
    assert Client().login(username=account.username, password="correct horse battery staple")


def test_what_was_sent_before_the_flood_goes_on_working(account: Any) -> None:
    links = {one.link for one in asked_again_and_again(account.email)}
    assert links
    assert not [link for link in links if not works(link)]
