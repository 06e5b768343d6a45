"""An account is taken over by way of its reset: another host, another mailbox, a link that should be dead."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.test import Client

from notifications.message import EmailMessage
from notifications.testing import ScriptedTransport
from resetdelivery.models import ResetIntent
from resetdelivery.services import request_reset
from resetdelivery.testing import Submission, deliver_now
from tests.integration.conftest import Settings
from tests.reset_page import NEW, set_password
from tests.threats.pages import FORGOT, account_of, ask, opened, works
from tests.unit.test_links_time_zones import CHANGES, TICK, customer, generator, zone

__all__ = ["zone"]

pytestmark = pytest.mark.django_db

MakeAccount = Callable[..., Any]
EVIL = "evil.example"


def addresses_in(text: str) -> set[str]:
    """Scheme and host of every address in a text."""
    return set(re.findall(r"https?://[^/\s\"<>]+", text))


# Host header poisoning.


@pytest.fixture
def _careless(settings: Any, change: Settings) -> None:
    """Any host is served, a proxy is believed, and the link is made while the request is still there."""
    settings.ALLOWED_HOSTS, settings.USE_X_FORWARDED_HOST = ["*"], True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    change(DISPATCH="inline")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_careless")
@pytest.mark.parametrize(
    "headers",
    [
        {"HTTP_HOST": EVIL},
        {"HTTP_HOST": EVIL, "SERVER_NAME": EVIL, "SERVER_PORT": "666"},
        {"HTTP_X_FORWARDED_HOST": EVIL},
        {"HTTP_FORWARDED": f"host={EVIL};proto=http"},
        {"HTTP_X_FORWARDED_PROTO": "http", "wsgi.url_scheme": "http"},
        {"HTTP_ORIGIN": f"https://{EVIL}", "HTTP_REFERER": f"https://{EVIL}/"},
        {"HTTP_X_ORIGINAL_URL": f"https://{EVIL}/", "HTTP_X_FORWARDED_PREFIX": f"//{EVIL}"},
        {"SCRIPT_NAME": f"//{EVIL}"},
    ],
    ids="+".join,
)
def test_no_header_of_a_request_moves_its_link(
    client: Client, account: Any, email: ScriptedTransport, sms: ScriptedTransport, headers: dict[str, str]
) -> None:
    ask(client, account.email, **headers)
    (letter,), (text,) = email.messages, sms.messages
    assert isinstance(letter, EmailMessage)
    words = [letter.text, letter.html, text.text]
    assert [addresses_in(one) for one in words] == [{"https://shop.example"}] * 3
    assert not [one for one in words if EVIL in one]


@pytest.mark.usefixtures("_careless")
@pytest.mark.parametrize(
    "headers",
    [{"HTTP_HOST": f"shop.example:80@{EVIL}"}, {"HTTP_X_FORWARDED_HOST": f"shop.example, {EVIL}"}],
    ids="+".join,
)
def test_a_host_that_is_none_is_refused_before_anything_is_stored(
    client: Client, account: Any, headers: dict[str, str]
) -> None:
    assert ask(client, account.email, **headers).status_code == 400
    assert not ResetIntent.objects.exists()


# A second address, and addresses that only look alike.


def strays(sent: Iterable[Submission]) -> list[Submission]:
    """Messages to anywhere but the stored contact points of the account that their link opens."""
    return [one for one in sent if one.to not in {(a := account_of(one.link)).email, a.phone}]


SECOND_ADDRESSES = [
    ["{victim}", "{evil}"],
    ["{evil}", "{victim}"],
    ["{victim},{evil}"],
    ["{victim}, {evil}"],
    ["{victim};{evil}"],
    ["{victim} {evil}"],
    ["{victim}\ncc:{evil}"],
    ["{victim}\r\nBcc: {evil}"],
    ["{victim}\x00{evil}"],
    ["<{victim}> <{evil}>"],
    ['["{victim}", "{evil}"]'],
    ["{victim}%0a{evil}"],
]


@pytest.mark.parametrize("typed", SECOND_ADDRESSES, ids=repr)
@pytest.mark.parametrize("known", [True, False], ids=["an account has the second", "nobody has the second"])
def test_a_second_address_in_a_request_is_sent_no_link_of_the_first(
    client: Client, make_account: MakeAccount, typed: list[str], known: bool
) -> None:
    victim, evil = make_account(), f"mallory@{EVIL}"
    if known:
        make_account(email=evil)
    values = [one.format(victim=victim.email, evil=evil) for one in typed]
    client.post(FORGOT, {"email": values, "email[]": values})
    sent = deliver_now()
    assert strays(sent) == []
    assert len({one.link for one in sent}) <= 1


#: What is stored, what is typed, and whether they mean one account (Unicode TR 36, 2.11.2);
#: ``None`` where that is left to the database's own rules of case.
TWINS = [
    pytest.param("kim@shop.example", "\u212aim@shop.example", True, id="Kelvin sign"),
    pytest.param("anna@shop.example", "ａｎｎａ@ｓｈｏｐ.example", True, id="full width"),
    pytest.param("office@shop.example", "o\ufb03ce@shop.example", True, id="ligature"),
    pytest.param("susan@shop.example", "\u017fusan@shop.example", True, id="long s"),
    pytest.param("mike@shop.example", "m\u0131ke@shop.example", False, id="dotless i"),
    pytest.param("mike@shop.example", "M\u0130KE@shop.example", False, id="dotted capital i"),
    pytest.param("anton@shop.example", "ant\u043en@shop.example", False, id="Cyrillic o"),
    pytest.param("anna@shop.example", "anna@sh\u03bfp.example", False, id="Greek o"),
    pytest.param("strasse@shop.example", "stra\u00dfe@shop.example", None, id="sharp s"),
    pytest.param("strasse@shop.example", "STRA\u1e9eE@shop.example", None, id="capital sharp s"),
    pytest.param("anna@shop.example", "an\u00adna@shop.example", False, id="soft hyphen"),
    pytest.param("anna@shop.example", "anna@shop.example\u200b", False, id="zero width space"),
]


@pytest.mark.parametrize(("kept", "typed", "found"), TWINS)
def test_a_twin_of_an_address_never_becomes_a_destination(
    client: Client, make_account: MakeAccount, kept: str, typed: str, found: bool | None
) -> None:
    victim = make_account(email=kept)
    ask(client, typed)
    reached = [one.to for one in deliver_now()]
    assert reached in {True: [[kept, victim.phone]], False: [[]], None: [[], [kept, victim.phone]]}[found]


@pytest.mark.parametrize(("kept", "typed", "found"), TWINS)
def test_twins_that_are_two_accounts_each_get_their_own_link_alone(
    client: Client, make_account: MakeAccount, kept: str, typed: str, found: bool | None
) -> None:
    make_account(email=kept)
    make_account(email=typed)
    for submitted in (typed, kept):
        ask(client, submitted)
    sent = deliver_now()
    assert kept in {one.to for one in sent}
    assert strays(sent) == []


# A link that should be dead.


def sent_link(account: Any, channel: str) -> str:
    request_reset(account_ref=str(account.pk), channels=[channel])
    (sent,) = deliver_now()
    return sent.link


def change_account(account: Any, **fields: Any) -> None:
    assert get_user_model().objects.filter(pk=account.pk).update(**fields) == 1


@pytest.mark.parametrize("channel", ["email", "sms"])
@pytest.mark.parametrize("fields", [{"phone": "+4915100000000"}, {"phone": ""}], ids=["changed", "removed"])
def test_a_link_that_was_sent_dies_with_the_number_of_its_account(
    account: Any, channel: str, fields: dict[str, str]
) -> None:
    link = sent_link(account, channel)
    assert works(link)
    change_account(account, **fields)
    assert not works(link)


@pytest.mark.parametrize(
    "fields",
    [{"is_active": False}, {"password": make_password(None)}],
    ids=["inactive", "single sign-on only"],
)
def test_a_link_that_was_sent_opens_nothing_for_an_account_that_may_no_longer_reset(
    client: Client, account: Any, fields: dict[str, Any]
) -> None:
    link = sent_link(account, "email")
    page = opened(client, link).request["PATH_INFO"]
    change_account(account, **fields)
    assert not works(link)
    set_password(client, page)
    account.refresh_from_db()
    assert not account.check_password(NEW)
    assert account.is_active is fields.get("is_active", True)


EDGES = [(-TICK, True), (TICK * 0, False), (TICK, False), (dt.timedelta(hours=1), False)]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize(("edge", "alive"), EDGES, ids=lambda value: str(value))
def test_a_link_is_alive_before_its_expiry_and_never_from_then_on(
    zone: str, change: dt.datetime, edge: dt.timedelta, alive: bool
) -> None:
    for expires_at in (change, change + dt.timedelta(minutes=30), change - dt.timedelta(minutes=30)):
        token = generator(expires_at - dt.timedelta(hours=1)).make_token_until(customer(), expires_at)
        assert generator(expires_at + edge).check_token(customer(), token) is alive
