"""What the database refuses, whatever the code says: each constraint is violated once."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connection, models, transaction

from resetdelivery.clock import database_now
from resetdelivery.domain.states import HELD_STATES, Authority, DeliveryState
from resetdelivery.models import (
    ApiClient,
    ApiKey,
    Attempt,
    ChannelControl,
    Delivery,
    IdempotencyKey,
    ResetIntent,
)
from tests.steps import seconds, store

pytestmark = pytest.mark.django_db

Fields = dict[str, Any]


def a_row_of(model: type[models.Model]) -> models.Model:
    """A stored row that breaks nothing."""
    now = database_now(connection)
    (delivery,) = store()
    if model is Attempt:
        return Attempt.objects.create(
            delivery=delivery, number=1, token=1, started_at=now, queue_delay_seconds=0, remaining_seconds=1
        )
    if model is IdempotencyKey:
        return IdempotencyKey.objects.create(
            client="web", key_digest="t1:a", request_digest="t1:b", intent=delivery.intent, created_at=now
        )
    if model is ApiKey:
        client = ApiClient.objects.create(name="shop", created_at=now)
        return ApiKey.objects.create(client=client, key_id="k", scopes="health:read", created_at=now)
    if model is ChannelControl:
        return ChannelControl.objects.create(channel="email")
    return delivery if model is Delivery else delivery.intent


NOW = object()  # stands for the database's time in the table below

CHECKS: list[tuple[type[models.Model], str, Fields]] = [
    (ResetIntent, "resetdelivery_intent_kind", {"kind": "greeting"}),
    (ResetIntent, "resetdelivery_intent_strategy", {"strategy": "some"}),
    (ResetIntent, "resetdelivery_intent_closed_at", {"state": "closed"}),
    (ResetIntent, "resetdelivery_intent_closed_at", {"closed_at": NOW}),
    (ResetIntent, "resetdelivery_intent_cancel_reason", {"cancel_requested_at": NOW}),
    (ResetIntent, "resetdelivery_intent_cancel_reason", {"cancel_reason": "withdrawn"}),
    (ResetIntent, "resetdelivery_intent_cancel_reason", {"cancel_requested_at": NOW, "cancel_reason": "x"}),
    (ResetIntent, "resetdelivery_intent_lives", {"expires_at": models.F("created_at")}),
    (Delivery, "resetdelivery_delivery_state", {"state": "sent"}),
    (Delivery, "resetdelivery_delivery_authority", {"authority": "nobody"}),
    (Delivery, "resetdelivery_delivery_lease", {"state": "leased", "lease_owner": "w"}),
    (Delivery, "resetdelivery_delivery_lease", {"state": "leased", "lease_expires_at": NOW}),
    (Delivery, "resetdelivery_delivery_lease", {"lease_owner": "w"}),
    (Delivery, "resetdelivery_delivery_lease", {"lease_expires_at": NOW}),
    (Delivery, "resetdelivery_delivery_finished", {"state": "accepted"}),
    (Delivery, "resetdelivery_delivery_finished", {"finished_at": NOW}),
    (Attempt, "resetdelivery_attempt_outcome", {"outcome": "fine"}),
    (Attempt, "resetdelivery_attempt_outcome", {"late_outcome": "fine"}),
    (Attempt, "resetdelivery_attempt_receipt", {"receipt": "read", "receipt_at": NOW}),
    (Attempt, "resetdelivery_attempt_receipt", {"receipt": "delivered"}),
    (Attempt, "resetdelivery_attempt_receipt", {"receipt_at": NOW}),
    (ChannelControl, "resetdelivery_control_channel", {"channel": "fax"}),
    (ChannelControl, "resetdelivery_control_mode", {"mode": "half"}),
    (ChannelControl, "resetdelivery_control_slice", {"slice_per_mille": 1001}),
    (ChannelControl, "resetdelivery_control_probe", {"probing": True, "paused": True}),
    (ApiKey, "resetdelivery_api_key_scoped", {"scopes": ""}),
]


def refused(model: type[models.Model], pk: object, fields: Fields) -> str:
    """The database's words against an update; fails if there are none."""
    values = {name: database_now(connection) if v is NOW else v for name, v in fields.items()}
    with pytest.raises(IntegrityError) as error, transaction.atomic():
        model._default_manager.filter(pk=pk).update(**values)
    return str(error.value)


@pytest.mark.parametrize(("model", "constraint", "fields"), CHECKS)
def test_a_row_that_breaks_a_check_is_refused(
    model: type[models.Model], constraint: str, fields: Fields
) -> None:
    row = a_row_of(model)
    assert constraint in refused(model, row.pk, fields)


def test_an_intent_is_open_or_closed() -> None:
    # PostgreSQL names the first of the two checks that this breaks, SQLite the other.
    text = refused(ResetIntent, a_row_of(ResetIntent).pk, {"state": "ajar"})
    assert "resetdelivery_intent_state" in text or "resetdelivery_intent_closed_at" in text


@pytest.mark.parametrize("authority", [a for a in Authority if a is not Authority.PIPELINE])
def test_only_what_the_pipeline_sends_reaches_submitting(authority: Authority) -> None:
    (row,) = store()
    fields = {"state": "submitting", "lease_owner": "w", "lease_expires_at": NOW}
    assert "resetdelivery_delivery_sender" in refused(Delivery, row.pk, {**fields, "authority": authority})
    held = {**fields, "lease_expires_at": database_now(connection)}
    assert Delivery.objects.filter(pk=row.pk).update(**held) == 1


@pytest.mark.parametrize("state", list(DeliveryState))
def test_every_state_can_be_stored_with_what_belongs_to_it(state: DeliveryState) -> None:
    (row,) = store()
    now = database_now(connection)
    held, idle = state in HELD_STATES, state in {DeliveryState.WAITING, DeliveryState.PENDING}
    fields: Fields = {
        "state": state,
        "lease_owner": "w" if held else "",
        "lease_expires_at": now if held else None,
        "finished_at": None if held or idle else now,
    }
    assert Delivery.objects.filter(pk=row.pk).update(**fields) == 1


def test_an_intent_has_one_delivery_per_channel() -> None:
    (row,) = store()
    with pytest.raises(IntegrityError), transaction.atomic():
        Delivery.objects.create(
            intent=row.intent, channel=row.channel, due_at=row.due_at, expires_at=row.expires_at
        )


def test_a_delivery_has_one_attempt_per_number() -> None:
    attempt = a_row_of(Attempt)
    attempt.pk = None
    assert isinstance(attempt, Attempt)
    attempt.reference = store()[0].reference
    with pytest.raises(IntegrityError), transaction.atomic():
        attempt.save(force_insert=True)


def test_a_client_uses_a_key_once_and_another_client_may_use_it_too() -> None:
    key = a_row_of(IdempotencyKey)
    assert isinstance(key, IdempotencyKey)
    key.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        key.save(force_insert=True)
    key.client = "another"
    key.save(force_insert=True)
    assert IdempotencyKey.objects.count() == 2


@pytest.mark.parametrize("model", [ResetIntent, Delivery, Attempt])
def test_a_reference_names_one_row(model: type[models.Model]) -> None:
    first, second = a_row_of(model), store()[0]
    other: models.Model = second.intent
    if model is Delivery:
        other = second
    elif model is Attempt:
        now = database_now(connection)
        other = Attempt.objects.create(
            delivery=second, number=1, token=1, started_at=now, queue_delay_seconds=0, remaining_seconds=1
        )
    refused(model, other.pk, {"reference": first.reference})  # type: ignore[attr-defined]


def test_an_account_has_one_open_intent_that_nobody_asked_to_stop() -> None:
    first, second = (row.intent for row in store(2))
    refused(ResetIntent, second.pk, {"account_ref": first.account_ref})
    now = database_now(connection)
    ResetIntent.objects.filter(pk=first.pk).update(cancel_requested_at=now, cancel_reason="superseded")
    assert ResetIntent.objects.filter(pk=second.pk).update(account_ref=first.account_ref) == 1


def test_a_notice_stands_beside_an_open_reset_of_its_account() -> None:
    first, second = (row.intent for row in store(2))
    fields = {"kind": "security_notice", "account_ref": first.account_ref}
    assert ResetIntent.objects.filter(pk=second.pk).update(**fields) == 1


def test_closed_intents_of_one_account_may_be_many() -> None:
    first, second = (row.intent for row in store(2))
    now = database_now(connection) + seconds(1)
    ResetIntent.objects.update(state="closed", closed_at=now)
    assert ResetIntent.objects.filter(pk=second.pk).update(account_ref=first.account_ref) == 1


def test_every_constraint_of_this_package_is_violated_here() -> None:
    checks = {name for _, name, _ in CHECKS}
    checks |= {"resetdelivery_delivery_sender", "resetdelivery_intent_state"}
    uniques = {
        *("resetdelivery_delivery_once", "resetdelivery_attempt_once"),
        *("resetdelivery_key_once", "resetdelivery_intent_one_wanted"),
    }
    mine = (ResetIntent, IdempotencyKey, Delivery, Attempt, ChannelControl, ApiKey)
    assert {c.name for model in mine for c in model._meta.constraints} == checks | uniques
