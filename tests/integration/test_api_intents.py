from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import pytest

from notifications.channels import Channel
from resetdelivery.domain.api_key import Scope
from resetdelivery.models import ChannelControl, Delivery, IdempotencyKey, ResetIntent
from resetdelivery.models.channel_control import ChannelMode
from tests.internal_api import Service, problem, reset_fields, service

pytestmark = pytest.mark.django_db

#: A reference that no intent has.
NOBODYS = uuid.UUID(int=0)


@pytest.fixture
def shop(db: None) -> Service:
    return service()


def test_a_reset_is_admitted(shop: Service, account: Any) -> None:
    fields = reset_fields(account, channels=["email", "sms"], strategy="fallback", locale="de")
    answer = shop.ask(fields)
    intent = ResetIntent.objects.get()
    assert answer.status_code == 202
    assert answer.get_json() == {
        "reference": str(intent.reference),
        "state": "open",
        "expires_at": fields["expires_at"],
        "legacy_channels": [],
    }
    assert answer.headers["Location"] == f"/internal/reset-intents/{intent.reference}"
    assert "Idempotency-Replayed" not in answer.headers
    assert (intent.account_ref, intent.strategy, intent.locale) == (str(account.pk), "fallback", "de")


def test_the_key_belongs_to_the_client_and_is_not_stored(shop: Service, account: Any) -> None:
    shop.ask(reset_fields(account), key="a-key-nobody-stores")
    key = IdempotencyKey.objects.get()
    assert key.client == "shop"
    assert "nobody" not in key.key_digest


def test_a_replay_is_the_same_answer_with_a_header(shop: Service, account: Any) -> None:
    fields = reset_fields(account)
    first, second = shop.ask(fields), shop.ask(fields)
    assert second.status_code == 202
    assert second.get_json() == first.get_json()
    assert second.headers["Location"] == first.headers["Location"]
    assert second.headers["Idempotency-Replayed"] == "true"
    assert ResetIntent.objects.count() == 1


def test_a_replay_says_open_even_when_the_intent_is_closed(shop: Service, account: Any) -> None:
    fields = reset_fields(account)
    first = shop.ask(fields)
    shop.post(f"{first.headers['Location']}/cancel")
    assert ResetIntent.objects.get().state == "closed"
    assert shop.ask(fields).get_json() == first.get_json()


def test_a_key_in_quotation_marks_is_the_same_key(shop: Service, account: Any) -> None:
    fields = reset_fields(account)
    shop.ask(fields, key="abc")
    assert shop.ask(fields, key='"abc"').headers["Idempotency-Replayed"] == "true"


def test_another_request_under_the_key_is_a_conflict(shop: Service, account: Any) -> None:
    shop.ask(reset_fields(account))
    answer = shop.ask(reset_fields(account, channels=["sms"]))
    assert (answer.status_code, problem(answer)) == (422, "idempotency-conflict")
    assert ResetIntent.objects.count() == 1


def test_two_spellings_of_one_moment_are_one_request(shop: Service, account: Any) -> None:
    fields = reset_fields(account)
    shop.ask(fields)
    elsewhere = dt.timezone(dt.timedelta(hours=5, minutes=30))
    moment = dt.datetime.fromisoformat(str(fields["expires_at"])).astimezone(elsewhere).isoformat()
    assert shop.ask({**fields, "expires_at": moment}).headers["Idempotency-Replayed"] == "true"


def test_another_client_with_the_same_key_gets_an_intent_of_its_own(shop: Service, make_account: Any) -> None:
    one, other = make_account(), make_account()
    first = shop.ask(reset_fields(one), key="shared").get_json()
    second = service("billing").ask(reset_fields(other), key="shared")
    assert second.status_code == 202
    assert second.get_json()["reference"] != first["reference"]
    assert "Idempotency-Replayed" not in second.headers


def test_channels_of_the_existing_sender_are_named_once(shop: Service, account: Any) -> None:
    ChannelControl.objects.update_or_create(channel="sms", defaults={"mode": ChannelMode.LEGACY})
    fields = reset_fields(account, channels=["email", "sms"])
    assert shop.ask(fields).get_json()["legacy_channels"] == ["sms"]
    assert shop.ask(fields).get_json()["legacy_channels"] == []


def test_what_a_client_asked_for_it_may_read(shop: Service, account: Any) -> None:
    told = shop.ask(reset_fields(account, channels=["sms", "email"]))
    delivery = Delivery.objects.get(channel="sms")
    Delivery.objects.filter(channel="email").update(state="accepted", finished_at=delivery.due_at)
    answer = shop.get(told.headers["Location"])
    assert answer.status_code == 200
    shown = answer.get_json()
    assert {name: shown[name] for name in ("reference", "state", "expires_at")} == {
        name: told.get_json()[name] for name in ("reference", "state", "expires_at")
    }
    first, second = shown["channels"]
    assert first == {
        "channel": "sms",
        "state": "pending",
        "expires_at": first["expires_at"],
        "finished_at": None,
    }
    assert (second["channel"], second["state"]) == ("email", "accepted")
    assert dt.datetime.fromisoformat(second["finished_at"]).tzinfo is not None


WORDS = {
    "waiting": "pending",
    "pending": "pending",
    "leased": "pending",
    "submitting": "pending",
    "accepted": "accepted",
    "delivered": "delivered",
    "failed": "not_sent",
    "expired": "not_sent",
    "cancelled": "not_sent",
    "withheld": "not_sent",
    "shadowed": "not_sent",
}


def test_every_state_has_one_of_four_words() -> None:
    from resetdelivery.api.intent_status import _word
    from resetdelivery.domain.states import DeliveryState

    assert {state.value: _word(state) for state in DeliveryState} == WORDS


def test_the_channels_of_the_document_are_those_that_exist() -> None:
    from typing import get_args

    from resetdelivery.api.intent_fields import ChannelName

    assert set(get_args(ChannelName)) == {channel.value for channel in Channel}


@pytest.mark.parametrize("what", ["", "/cancel"])
def test_another_clients_intent_is_as_unknown_as_one_that_does_not_exist(
    shop: Service, account: Any, what: str
) -> None:
    other = service("billing")
    theirs = shop.ask(reset_fields(account)).headers["Location"]
    method = "POST" if what else "GET"
    answers = [
        other.call(method, f"{theirs}{what}"),
        other.call(method, f"/internal/reset-intents/{uuid.uuid4()}{what}"),
    ]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].data == answers[1].data
    assert ResetIntent.objects.get().cancel_requested_at is None


def test_what_the_shops_own_code_asked_for_is_nobodys(shop: Service, account: Any) -> None:
    from resetdelivery.services import request_reset

    admission = request_reset(account_ref=str(account.pk), channels=["email"])
    assert shop.get(f"/internal/reset-intents/{admission.reference}").status_code == 404


def test_a_cancelled_reset_is_closed_however_often_it_is_asked(shop: Service, account: Any) -> None:
    where = shop.ask(reset_fields(account, channels=["email", "sms"])).headers["Location"]
    first, second = shop.call("POST", f"{where}/cancel"), shop.call("POST", f"{where}/cancel")
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.get_json() == second.get_json()
    status = shop.get(where).get_json()
    assert (status["state"], [c["state"] for c in status["channels"]]) == ("closed", ["not_sent", "not_sent"])
    assert ResetIntent.objects.get().cancel_reason == "withdrawn"


@pytest.mark.parametrize("state", ["pending", "accepted", "delivered", "cancelled"])
def test_whoever_may_only_ask_learns_nothing_by_cancelling(account: Any, state: str) -> None:
    asker = service(scopes={Scope.INTENTS_CREATE})
    where = asker.ask(reset_fields(account)).headers["Location"]
    finished = None if state == "pending" else Delivery.objects.get().due_at
    Delivery.objects.update(state=state, finished_at=finished)
    answer = asker.call("POST", f"{where}/cancel")
    assert (answer.status_code, answer.get_json()["state"]) == (202, "cancel_requested")
    assert set(answer.get_json()) == {"reference", "state"}


def test_cancelling_touches_no_other_reset_of_the_account(shop: Service, account: Any) -> None:
    first = shop.ask(reset_fields(account), key="1").headers["Location"]
    # Tried already, so that the second request does not join it.
    Delivery.objects.update(lease_token=1, attempts=1)
    shop.ask(reset_fields(account), key="2")
    shop.call("POST", f"{first}/cancel")
    assert list(ResetIntent.objects.order_by("pk").values_list("cancel_reason", flat=True)) == [
        "superseded",
        "",
    ]


def test_a_suppressed_reset_is_cancelled_like_any_other_and_keeps_its_reason(
    shop: Service, account: Any
) -> None:
    where = shop.ask(reset_fields(account)).headers["Location"]
    now = Delivery.objects.get().due_at
    ResetIntent.objects.update(cancel_requested_at=now, cancel_reason="account_limit")
    shop.call("POST", f"{where}/cancel")
    answer = shop.get(where).get_json()
    assert (answer["state"], answer["channels"][0]["state"]) == ("closed", "not_sent")
    assert ResetIntent.objects.get().cancel_reason == Delivery.objects.get().reason == "account_limit"


@pytest.mark.parametrize(
    ("scope", "method", "path"),
    [
        (Scope.INTENTS_CREATE, "POST", "/internal/reset-intents"),
        (Scope.INTENTS_READ, "GET", f"/internal/reset-intents/{NOBODYS}"),
        (Scope.INTENTS_CREATE, "POST", f"/internal/reset-intents/{NOBODYS}/cancel"),
        (Scope.HEALTH_READ, "GET", "/internal/delivery-health"),
    ],
)
def test_every_other_scope_is_not_enough(db: None, scope: Scope, method: str, path: str) -> None:
    answer = service(scopes=set(Scope) - {scope}).call(method, path)
    assert (answer.status_code, problem(answer)) == (403, "missing-scope")
