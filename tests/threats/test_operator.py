"""Who may look at everything we keep sees no contact, no link, and nothing to make one from."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.core.management import call_command
from django.db import models
from django.test import Client
from django.urls import reverse

from notifications.outcome import Outcome, OutcomeKind, Reason
from resetdelivery.models import ProviderCircuit
from resetdelivery.services import explain, request_reset
from resetdelivery.testing import deliver_now
from tests.sinks import named
from tests.steps import pause

pytestmark = pytest.mark.django_db

PHONE, ADDRESS, KEY = "+4915199918181", "marked.buyer.1618@shop.example", "marked-key-3141"
BUSY = Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.PROVIDER_BUSY)


@pytest.fixture
def secrets(make_account: Any) -> list[str]:
    """What a whole run knew of one person, after it: one channel delivered, one to be tried again."""
    person = make_account(username="marked.name.1414", email=ADDRESS, phone=PHONE)
    request_reset(submitted=ADDRESS, channels=["email", "sms"], idempotency_key=KEY)
    request_reset(submitted="marked.nobody.2236@shop.example", channels=["email"], idempotency_key=KEY + "2")
    sent = deliver_now(outcomes={"sms": [BUSY]})
    pause()
    ProviderCircuit.objects.get_or_create(channel="email", provider="smtp")
    tokens = [one.link.rstrip("/").rpartition("/")[2] for one in sent]
    assert len(tokens) == 2
    words = ["marked.buyer", "marked.nobody", "marked.name", PHONE[3:], KEY, person.password]
    return [*words, *tokens, *digests()]


def digests() -> list[str]:
    """The stored digests: with the key, a guess at what was typed could be tried against them."""
    found = []
    for model in apps.get_app_config("resetdelivery").get_models():
        names = [f.name for f in model._meta.concrete_fields if f.name.endswith("digest")]
        found += [text for row in model._default_manager.values_list(*names) for text in row] if names else []
    assert found
    return found


@pytest.fixture
def root(client: Client, make_account: Any) -> Client:
    """A browser in which somebody is signed in who may do everything."""
    client.force_login(make_account(username="root", is_staff=True, is_superuser=True))
    return client


def our_models() -> list[type[models.Model]]:
    return [model for model in admin.site._registry if model._meta.app_label == "resetdelivery"]


def pages_of(model: type[models.Model]) -> list[str]:
    """Every page of a model: its list, and for each row all that the admin has a page for."""
    where = f"admin:resetdelivery_{model._meta.model_name}"
    rows = [named(row) for row in model._default_manager.all()]
    pages = [
        reverse(f"{where}_{page}", args=[row]) for row in rows for page in ("change", "history", "delete")
    ]
    return [reverse(f"{where}_changelist"), reverse(f"{where}_add"), *pages]


def test_a_run_leaves_rows_in_the_tables_that_hold_anything_about_a_person(secrets: list[str]) -> None:
    kept = {model._meta.model_name for model in our_models() if model._default_manager.exists()}
    assert {"resetintent", "delivery", "attempt", "channelcontrol", "providercircuit"} <= kept


@pytest.mark.parametrize("model", our_models(), ids=lambda model: model._meta.model_name)
def test_no_page_of_the_admin_shows_a_contact_a_link_or_a_digest(
    secrets: list[str], root: Client, model: type[models.Model]
) -> None:
    shown = "\n".join(root.get(page).content.decode() for page in pages_of(model))
    assert "<main" in shown or "<title>" in shown
    assert [word for word in secrets if word in shown] == []
    # Nothing on a page leads to where a message could be looked at or sent again.
    assert not re.search(r'href="[^"]*/reset/', shown)


@pytest.mark.parametrize("model", our_models(), ids=lambda model: model._meta.model_name)
def test_nothing_that_is_posted_to_the_admin_changes_a_row(
    secrets: list[str], root: Client, model: type[models.Model]
) -> None:
    before = list(model._default_manager.order_by("pk").values())
    answers = [root.post(page, {"post": "yes", "_save": "Save"}).status_code for page in pages_of(model)]
    assert set(answers) <= {200, 403, 405}
    assert list(model._default_manager.order_by("pk").values()) == before


def test_the_timeline_of_a_reset_shows_no_contact_and_no_link(secrets: list[str]) -> None:
    told = []
    for intent in apps.get_model("resetdelivery", "ResetIntent").objects.all():
        out = io.StringIO()
        call_command("explain", str(intent.reference), stdout=out)
        told += [out.getvalue(), repr(explain(intent.reference))]
    text = "\n".join(told)
    assert "accepted" in text
    assert [word for word in secrets if word in text] == []


def test_the_search_of_the_pages_would_find_a_contact(secrets: list[str], root: Client) -> None:
    apps.get_model("resetdelivery", "Delivery").objects.update(reason="marked.buyer")
    model = apps.get_model("resetdelivery", "Delivery")
    shown = "\n".join(root.get(page).content.decode() for page in pages_of(model))
    assert [word for word in secrets if word in shown] == ["marked.buyer"]
