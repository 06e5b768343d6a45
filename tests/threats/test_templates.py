"""What an account's owner chose, or a caller sent, is never more than a choice between fixed texts."""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from notifications.channels import Channel
from notifications.email.mime import build_mime, parse_sender
from notifications.exceptions import InvalidMessage
from notifications.message import EmailMessage
from resetdelivery.exceptions import InvalidOption
from resetdelivery.models import ResetIntent
from resetdelivery.services import request_reset
from resetdelivery.testing import Submission, deliver_now
from tests.integration.conftest import Settings

pytestmark = pytest.mark.django_db

SENDER = parse_sender("Shop <no-reply@shop.example>")
HEADERS = [
    "From",
    "To",
    "Subject",
    "Date",
    "Message-ID",
    "Expires",
    "Auto-Submitted",
    "X-Auto-Response-Suppress",
    "MIME-Version",
    "Content-Type",
]
POISONS = [
    "\r\nBcc: mallory@evil.example",
    "\nSubject: Invoice\n\nPay here: https://evil.example/",
    "\r\n.\r\nMAIL FROM:<mallory@evil.example>",
    "<script>alert(1)</script><img src=https://evil.example/x>",
    "{{ link }}{% include 'admin/base.html' %}",
    "https://evil.example/reset/",
    "\u202eexe.tset\u2066 \u2028 \u0085",
    "%(link)s {link} ${link} $link",
    "../../../../../etc/passwd",
    "a, mallory@evil.example",
]


def letters(sent: Iterable[Submission]) -> list[EmailMessage]:
    return [one.message for one in sent if isinstance(one.message, EmailMessage)]


def without_link(one: Submission) -> str:
    """All words of a message but for the one thing that is an account's own in it."""
    markup = one.message.html if isinstance(one.message, EmailMessage) else ""
    return "\n".join((one.subject, one.text, markup)).replace(one.link, "LINK")


@pytest.fixture
def plain_words(make_account: Callable[..., Any]) -> list[str]:
    """The words of both channels for an account without any surprise."""
    request_reset(account_ref=str(make_account().pk), channels=["email", "sms"])
    return [without_link(one) for one in deliver_now()]


@pytest.mark.parametrize("poison", POISONS, ids=lambda text: ascii(text[:12]))
def test_an_accounts_own_texts_are_in_no_message(
    make_account: Callable[..., Any], change: Settings, plain_words: list[str], poison: str
) -> None:
    change(DIRECTORY_OPTIONS={"phone_field": "phone", "locale_field": "last_name"})
    # As long as a language tag may be: a longer one is the next test's.
    own = make_account(username=f"anna{poison}", first_name=poison, last_name=poison[:16])
    request_reset(account_ref=str(own.pk), channels=["email", "sms"])
    assert [without_link(one) for one in deliver_now()] == plain_words


@pytest.mark.parametrize("locale", ["x" * 150, "en-" + "US-" * 40, "de_AT.UTF-8@euro;q=0.9"])
def test_an_accounts_own_language_may_be_anything_at_all(
    make_account: Callable[..., Any], change: Settings, plain_words: list[str], locale: str
) -> None:
    change(DIRECTORY_OPTIONS={"phone_field": "phone", "locale_field": "last_name"})
    request_reset(account_ref=str(make_account(last_name=locale).pk), channels=["email", "sms"])
    assert [without_link(one) for one in deliver_now()] == plain_words


@pytest.mark.parametrize("option", ["locale", "template_version"])
@pytest.mark.parametrize("poison", [*POISONS, "..", "en/../de", "en\x00", "", "1 ", "en\n"], ids=ascii)
def test_no_caller_chooses_a_template_by_anything_but_a_plain_name(
    account: Any, option: str, poison: str
) -> None:
    asked: dict[str, Any] = {option: poison}
    with pytest.raises(InvalidOption) as refused:
        request_reset(account_ref=str(account.pk), channels=["email"], **asked)
    assert len(poison) < 4 or poison not in str(refused.value)
    assert not ResetIntent.objects.exists()


def header_names(message: EmailMessage) -> list[str]:
    """The headers of a message as a receiving server reads them, part by part's own left aside."""
    parsed = email.message_from_bytes(build_mime(message, SENDER), policy=email.policy.SMTP)
    assert parsed["To"] == message.to
    return parsed.keys()


@pytest.mark.parametrize("poison", POISONS, ids=lambda text: ascii(text[:12]))
@pytest.mark.parametrize("form", ["anna{}@shop.example", "anna@shop.example{}", "{}anna@shop.example"])
def test_an_address_with_more_in_it_than_a_mailbox_is_sent_nothing(
    make_account: Callable[..., Any], poison: str, form: str
) -> None:
    own = make_account()
    get_user_model().objects.filter(pk=own.pk).update(email=form.format(poison))
    request_reset(account_ref=str(own.pk), channels=["email"])
    for message in letters(deliver_now()):
        with pytest.raises(InvalidMessage):
            build_mime(message, SENDER)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    address=st.one_of(st.emails(), st.text(max_size=60), st.text('@.a\r\n:,;<>" \t\0é', max_size=40)),
    name=st.text(max_size=40),
)
@example(address="anna@shop.example\r\nBcc: mallory@evil.example", name="anna")
@example(address="anna@shop.example", name="anna\r\nBcc: mallory@evil.example")
def test_no_account_adds_a_header_or_a_recipient_to_its_message(
    account: Any, address: str, name: str
) -> None:
    storable = [re.sub("[\x00\ud800-\udfff]", "", text) for text in (address, name)]
    get_user_model().objects.filter(pk=account.pk).update(email=storable[0], first_name=storable[1])
    request_reset(account_ref=str(account.pk), channels=["email"])
    for message in letters(deliver_now()):
        try:
            assert header_names(message) == HEADERS
        except InvalidMessage:
            continue
        assert message.to == storable[0].strip()
    ResetIntent.objects.all().delete()


def test_an_ordinary_account_gets_every_header_once(account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=[Channel.EMAIL])
    (message,) = letters(deliver_now())
    assert header_names(message) == HEADERS
