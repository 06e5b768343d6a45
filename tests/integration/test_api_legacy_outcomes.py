"""An existing sender's word over HTTP: the same as in the process, for whoever asked for the reset."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.delivery import deliver
from resetdelivery.domain.api_key import Scope
from resetdelivery.models import ChannelControl, Delivery, EventMinute
from tests.internal_api import Service, problem, reset_fields, service

pytestmark = pytest.mark.django_db

ACCEPTED = {"channel": "email", "outcome": "accepted"}


@pytest.fixture
def shop(db: None) -> Service:
    return service()


@pytest.fixture
def place(shop: Service, account: Any, email: ScriptedTransport) -> str:
    """Where the outcome of a reset's email, which another sender sends, is told."""
    ChannelControl.objects.update_or_create(channel="email", defaults={"mode": "shadow"})
    answer = shop.ask(reset_fields(account, channels=["email", "sms"]))
    assert answer.get_json()["legacy_channels"] == ["email"]
    return f"/internal/reset-intents/{answer.get_json()['reference']}/legacy-outcome"


def test_a_report_is_stored_and_told_back(shop: Service, place: str) -> None:
    deliver(Channel.EMAIL)
    answer = shop.post(place, ACCEPTED)
    assert answer.status_code == 200
    assert answer.get_json() == {**ACCEPTED, "reference": place.split("/")[3]}
    assert Delivery.objects.get(channel="email").legacy_outcome == "accepted"
    assert EventMinute.objects.get(event="legacy_reported").label == "shadowed:accepted"


def test_the_same_report_again_is_the_same_answer(shop: Service, place: str) -> None:
    first, second = shop.post(place, ACCEPTED), shop.post(place, ACCEPTED)
    assert (second.status_code, second.get_json()) == (200, first.get_json())
    assert EventMinute.objects.get(event="legacy_reported").count == 1


def test_another_outcome_is_a_conflict(shop: Service, place: str) -> None:
    shop.post(place, ACCEPTED)
    answer = shop.post(place, {**ACCEPTED, "outcome": "failed"})
    assert (answer.status_code, problem(answer)) == (409, "outcome-conflict")
    assert Delivery.objects.get(channel="email").legacy_outcome == "accepted"


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"channel": "sms"}, "#/channel"),
        ({"channel": "pigeon"}, "#/channel"),
        ({"outcome": "lost"}, "#/outcome"),
        ({"outcome": 1}, "#/outcome"),
        ({"more": 1}, "#"),
    ],
)
def test_what_cannot_be_told_is_pointed_at(
    shop: Service, place: str, change: dict[str, object], pointer: str
) -> None:
    answer = shop.post(place, {**ACCEPTED, **change})
    assert (answer.status_code, problem(answer)) == (422, "invalid-request")
    assert [error["pointer"] for error in answer.get_json(force=True)["errors"]] == [pointer]
    assert not EventMinute.objects.filter(event="legacy_reported").exists()


def test_a_reset_of_another_client_is_not_found(shop: Service, place: str) -> None:
    answer = service("other").post(place, ACCEPTED)
    unknown = shop.post(f"/internal/reset-intents/{uuid.UUID(int=0)}/legacy-outcome", ACCEPTED)
    assert (answer.status_code, answer.get_json(force=True)) == (404, unknown.get_json(force=True))
    assert Delivery.objects.get(channel="email").legacy_outcome == ""


def test_whoever_asked_needs_no_further_scope(place: str) -> None:
    assert service(scopes=[Scope.INTENTS_CREATE]).post(place, ACCEPTED).status_code == 200


def test_of_an_account_that_does_not_exist_the_answer_is_the_same(shop: Service, place: str) -> None:
    asked = shop.ask(reset_fields("987654321", channels=["email", "sms"]), key="key-2").get_json()
    answer = shop.post(f"/internal/reset-intents/{asked['reference']}/legacy-outcome", ACCEPTED)
    known = shop.post(place, ACCEPTED)
    assert asked["legacy_channels"] == ["email"]
    assert answer.status_code == known.status_code == 200
    assert {**answer.get_json(), "reference": ""} == {**known.get_json(), "reference": ""}
