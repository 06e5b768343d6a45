from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from resetdelivery.domain.telemetry import Job
from tests.counted import attempts, succeeded
from tests.moved_clock import moved_clock
from tests.staff import sign_in, words
from tests.steps import pause, store

__all__ = ["moved_clock", "sign_in"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer(sign_in: Callable[..., Client]) -> Client:
    """A member of the staff who may look at deliveries."""
    return sign_in("view_delivery")


def where(query: str = "") -> str:
    return reverse("admin:resetdelivery_delivery_health") + query


def page(client: Client, query: str = "") -> str:
    answer = client.get(where(query))
    assert answer.status_code == 200
    return answer.content.decode()


def test_who_may_look_at_deliveries_may_look_at_their_health(viewer: Client) -> None:
    assert "How delivery is doing" in page(viewer)


def test_nobody_else_may(client: Client, sign_in: Callable[..., Client]) -> None:
    assert client.get(where()).status_code == 302
    assert sign_in("view_attempt").get(where()).status_code == 403
    assert sign_in("view_delivery", is_staff=False).get(where()).status_code == 302


def test_the_list_of_deliveries_leads_there(viewer: Client) -> None:
    listed = viewer.get(reverse("admin:resetdelivery_delivery_changelist")).content.decode()
    assert f'href="{where()}"' in listed


def test_verdicts_stand_with_their_reasons_in_words(viewer: Client) -> None:
    succeeded(Job.SWEEP)
    succeeded(Job.ROLL_UP)
    pause(Channel.SMS)
    seen = words(page(viewer))
    assert "degraded Counted from" in seen
    assert "email ok" in seen
    assert "sms degraded Somebody paused the channel. paused_by_operator" in seen
    assert "live, paused" in seen


def test_each_outcome_has_a_bar_as_long_as_its_number(viewer: Client) -> None:
    attempts(OutcomeKind.ACCEPTED, [1.0] * 8)
    attempts(OutcomeKind.TRANSIENT, [1.0] * 4)
    picture = re.findall(r'<svg[^>]* role="img".*?</svg>', page(viewer), re.DOTALL)[0]
    assert re.findall(r'<rect[^>]* width="([^"]*)"', picture) == ["52.00%", "26.00%"] + ["0.00%"] * 5
    assert 'aria-label="accepted 8, transient 4, throttled 0, ' in picture


def test_a_delay_above_the_last_bound_is_said_to_be_so(viewer: Client) -> None:
    attempts(OutcomeKind.LATE, [5000.0])
    assert "Queue delay p50, p95, p99 over 900 s, over 900 s, over 900 s" in words(page(viewer))


def test_an_older_minute_shows_in_a_longer_window(viewer: Client) -> None:
    attempts(OutcomeKind.ACCEPTED, [1.0] * 8, ago=30)
    assert "accepted 0," in page(viewer, "?window=5m")
    assert "accepted 8," in page(viewer, "?window=1h")


@pytest.mark.parametrize("query", ["", "?window=2h", "?window=%3Cscript%3E"])
def test_a_word_that_is_no_window_means_the_usual_one(viewer: Client, query: str) -> None:
    found = page(viewer, query)
    assert '<a href="?window=5m" aria-current="page">' in found
    assert "%3Cscript" not in found


def test_nothing_on_it_names_a_reset(viewer: Client) -> None:
    (row,) = store(overdue=30)
    found = page(viewer)
    assert "Oldest due" in found
    assert [
        name for name in (row.reference, row.intent.reference, row.intent.account_ref) if str(name) in found
    ] == []


def test_it_needs_no_script_and_no_style_in_the_page(viewer: Client) -> None:
    (own,) = re.findall(r'class="resetdelivery-health".*</section>', page(viewer), re.DOTALL)
    assert "<svg" in own
    assert re.findall(r"<script|<style|<[^>]* (?:style|on\w+)=", own) == []


def test_on_a_site_of_another_name_it_leads_back_to_that_site(viewer: Client, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.hosts.ops_admin_urls"
    found = viewer.get("/ops/resetdelivery/delivery/health/").content.decode()
    assert 'href="/ops/resetdelivery/delivery/"' in found
    assert "/admin/" not in re.sub(r'href="/static/[^"]*"|src="/static/[^"]*"', "", found)
    listed = viewer.get("/ops/resetdelivery/delivery/").content.decode()
    assert 'href="/ops/resetdelivery/delivery/health/"' in listed
