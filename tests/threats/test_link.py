"""A link is a credential: where it rests, who hears of it, what a look at it costs."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from resetdelivery.services import request_reset
from resetdelivery.testing import deliver_now
from tests.reset_page import INVALID, NEW, set_password
from tests.threats.pages import opened, sent_form, works

pytestmark = pytest.mark.django_db

TOKEN = re.compile(r"[0-9a-z]{1,13}-[0-9a-f]{32}")


@pytest.fixture
def link(account: Any) -> str:
    request_reset(account_ref=str(account.pk), channels=["email"])
    (sent,) = deliver_now()
    return sent.link


def sessions() -> str:
    """Every row of the session table, decoded as whoever holds the table and SECRET_KEY can."""
    return json.dumps([row.get_decoded() for row in Session.objects.all()])


# The session store.


def test_a_session_holds_the_link_only_while_somebody_is_choosing_a_password(link: str) -> None:
    # Django's own page keeps it there; whoever reads that row has the session's key as well.
    token = urlsplit(link).path.split("/")[3]
    client = Client()
    opened(client, link)
    assert TOKEN.findall(sessions()) == [token]
    assert sent_form(client, link).status_code == 302
    assert TOKEN.findall(sessions()) == []


def test_what_a_forgotten_session_still_holds_is_dead_once_the_link_was_used(link: str) -> None:
    forgotten = Client()
    page = opened(forgotten, link).request["PATH_INFO"]
    sent_form(Client(), link)
    (kept,) = TOKEN.findall(sessions())
    assert kept in link
    assert not works(link)
    for answer in (forgotten.get(page), set_password(forgotten, page, "a thief's own password")):
        assert INVALID in answer.content.decode()


def test_looking_at_a_dead_link_leaves_no_session_at_all(link: str) -> None:
    sent_form(Client(), link)
    Session.objects.all().delete()
    opened(Client(), link)
    assert not Session.objects.exists()


# Scanners and previews.


def test_ten_scanners_that_follow_the_link_leave_it_to_its_owner(account: Any, link: str) -> None:
    path = urlsplit(link).path
    for _ in range(10):
        scanner = Client()
        assert scanner.head(path, follow=True).status_code == 200
        assert scanner.get(path, follow=True).status_code == 200
    assert sent_form(Client(), link).status_code == 302
    account.refresh_from_db()
    assert account.check_password(NEW)
