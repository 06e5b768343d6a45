from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from notifications.outcome import Outcome, OutcomeKind, Reason
from resetdelivery.models import Attempt, ResetIntent
from resetdelivery.services import request_reset
from resetdelivery.testing import deliver_now
from tests.conftest import age

pytestmark = pytest.mark.django_db

BUSY = Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.PROVIDER_BUSY, retry_after_seconds=0)


@pytest.fixture
def superuser(client: Client, make_account: Callable[..., Any]) -> Client:
    """A browser in which a superuser is signed in."""
    client.force_login(make_account(is_staff=True, is_superuser=True))
    return client


def address() -> str:
    """Where the page of the only intent is."""
    return reverse("admin:resetdelivery_resetintent_change", args=[ResetIntent.objects.get().reference])


def story(client: Client) -> str:
    """The page of the only intent."""
    return client.get(address()).content.decode()


def steps(page: str) -> list[str]:
    """The timeline's items as plain text."""
    (items,) = re.findall(r'<ol class="resetdelivery-timeline">(.*?)</ol>', page, re.DOTALL)
    return [" ".join(re.sub("<[^>]*>", " ", item).split()) for item in re.findall("<li>(.*?)</li>", items)]


def test_the_timeline_is_an_ordered_list_with_the_seconds_since_the_request(
    superuser: Client, account: Any
) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    age(2)
    deliver_now(outcomes={"email": [BUSY]})
    age(1)
    deliver_now()
    found = steps(story(superuser))
    words = [re.sub(r"^\+\d+\.\d{3} s |, \d+\.\d+ s after.*$", "", step) for step in found]
    # SQLite's clock is as coarse as a millisecond: what ends with the attempt may be listed beside it.
    ends = ("email accepted", "closed: nothing more can happen")
    assert [step for step in words if step not in ends] == [
        "requested",
        "email attempt 1 started",
        "email attempt 1 transient: provider busy",
        "email attempt 2 started",
        "email attempt 2 accepted: ok",
    ]
    assert set(ends) < set(words[3:])
    assert found[0].startswith("+0.000 s")
    assert float(found[1][1:6]) >= 2


def test_each_step_carries_its_full_time(superuser: Client, account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    created_at = ResetIntent.objects.get().created_at.replace(microsecond=0)
    assert f'<time datetime="{created_at.isoformat()[:19]}' in story(superuser)


def test_the_picture_has_a_line_per_channel_and_a_mark_per_step(superuser: Client, account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email", "sms"])
    deliver_now()
    page = story(superuser)
    (picture,) = re.findall('<svg width="100%".*?</svg>', page, re.DOTALL)
    assert picture.count("<line") == 3
    assert picture.count("<circle") == len(steps(page))


def test_an_intent_of_which_nothing_happened_yet_has_a_picture_too(superuser: Client, account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    page = story(superuser)
    assert [step.split(" s ")[1] for step in steps(page)] == ["requested", "email due"]
    assert "Nothing was submitted to a provider." in page


def test_an_intents_page_takes_the_same_queries_however_much_happened(
    superuser: Client, account: Any, django_assert_num_queries: Any
) -> None:
    request_reset(account_ref=str(account.pk), channels=["email", "sms"])
    deliver_now(outcomes={"email": [BUSY], "sms": [BUSY]})
    page = address()
    superuser.get(page)  # Django remembers the model's content type from here on
    # Session, user, intent, its deliveries; of the timeline paused channels, deliveries, attempts; attempts.
    with django_assert_num_queries(8):
        superuser.get(page)
    age(1)
    deliver_now(outcomes={"email": [BUSY], "sms": [BUSY]})
    age(1)
    deliver_now()
    assert Attempt.objects.count() == 6
    with django_assert_num_queries(8):
        superuser.get(page)


@pytest.mark.parametrize(("model", "queries"), [("resetintent", 5), ("delivery", 4), ("attempt", 4)])
def test_a_list_takes_the_same_queries_however_long_it_is(
    superuser: Client,
    make_account: Callable[..., Any],
    django_assert_num_queries: Any,
    model: str,
    queries: int,
) -> None:
    rows = reverse(f"admin:resetdelivery_{model}_changelist")
    for length in (1, 8):
        for _ in range(length):
            request_reset(account_ref=str(make_account().pk), channels=["email", "sms"])
        deliver_now()
        # Session, user, count, rows; for intents their deliveries.
        with django_assert_num_queries(queries):
            superuser.get(rows)
