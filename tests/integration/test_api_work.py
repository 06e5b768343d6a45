from __future__ import annotations

import logging
import uuid
from typing import Any

import pytest

from notifications.channels import Channel
from notifications.outcome import OutcomeKind, Reason
from resetdelivery.api import access
from resetdelivery.cancellation import request_cancel
from resetdelivery.directory import get_directory
from resetdelivery.domain.api_key import Scope
from resetdelivery.domain.reasons import CancelReason
from resetdelivery.models import Attempt, Delivery
from resetdelivery.recovery import sweep
from tests.conftest import age, the_delivery
from tests.integration import work_calls
from tests.integration.external_steps import reset_for
from tests.integration.work_calls import STEPS, Held, held, moment
from tests.internal_api import Service, problem, service
from tests.sinks import stored

pytestmark = pytest.mark.django_db

#: A reference that no delivery has.
NOBODYS = uuid.UUID(int=0)


@pytest.fixture
def mailer(db: None) -> Service:
    return work_calls.mailer()


def test_an_email_is_handed_out_once_and_for_no_cache(mailer: Service, account: Any) -> None:
    reset_for(account)
    hold = held(mailer)
    answer = hold.ask("message")
    attempt, row = Attempt.objects.get(), the_delivery()
    told = answer.get_json()
    assert answer.headers["Cache-Control"] == "no-store"
    expected = {
        "channel": "email",
        "to": account.email,
        "message_id": f"<{row.reference}@shop.example>",
        "attempt_reference": str(attempt.reference),
        "expires_at": moment(row.expires_at),
    }
    assert {name: told[name] for name in expected} == expected
    assert set(told) == {
        *("channel", "to", "subject", "text", "html", "message_id", "date", "boundary"),
        *("attempt_reference", "send_within_seconds", "expires_at"),
    }
    assert told["send_within_seconds"] == 15
    again = hold.ask("message")
    assert (again.status_code, problem(again)) == (409, "already-marked")


def test_what_was_sent_is_reported_however_often_its_client_calls(
    mailer: Service, account: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reset_for(account)
    hold = held(mailer)
    assert hold.ask("message").status_code == 200
    monkeypatch.setattr(access, "admit_api_call", lambda _: 60.0)
    answers = [hold.ask("outcome").status_code for _ in range(2)]
    assert (answers, the_delivery().state) == ([200, 200], "accepted")
    assert problem(hold.ask("renew")) == "too-many-requests"


def test_the_link_in_a_message_leads_to_the_shop_and_not_to_the_private_listener(
    mailer: Service, account: Any
) -> None:
    reset_for(account)
    told = held(mailer).ask("message").get_json()
    row = the_delivery()
    found = get_directory().get_many([str(account.pk)])[str(account.pk)]
    link = get_directory().make_link(found, row.expires_at)
    assert link.startswith("https://shop.example/")
    assert link in told["text"]


def test_a_text_message_has_its_segments_and_the_deliverys_key(mailer: Service, account: Any) -> None:
    reset_for(account, "sms")
    told = held(mailer).ask("message").get_json()
    assert (told["channel"], told["to"], told["segments"]) == ("sms", account.phone, 1)
    assert told["key"] == str(the_delivery(Channel.SMS).reference)


def test_what_the_gate_refuses_is_not_handed_out(mailer: Service, account: Any) -> None:
    reset_for(account)
    hold = held(mailer)
    request_cancel(account_ref=str(account.pk), reason=CancelReason.WITHDRAWN, using="default")
    answer = hold.ask("message")
    assert (answer.status_code, problem(answer)) == (409, "not-sendable")
    assert answer.get_json()["state"] == "cancelled"


def test_an_outcome_is_settled_and_may_be_told_again(mailer: Service, account: Any) -> None:
    reset_for(account)
    hold = held(mailer)
    hold.ask("message")
    for _ in range(2):
        answer = hold.ask("outcome", provider_reference="SM123")
        assert (answer.status_code, answer.get_json()) == (
            200,
            {"reference": hold.reference, "state": "accepted"},
        )
    attempt = Attempt.objects.get()
    assert (attempt.outcome, attempt.reason, attempt.provider_reference) == ("accepted", "ok", "SM123")


@pytest.mark.parametrize("kind", list(OutcomeKind))
@pytest.mark.parametrize("reason", [None, Reason.PROVIDER_BUSY])
def test_every_outcome_can_be_told_with_a_reason_or_without(
    mailer: Service, account: Any, kind: OutcomeKind, reason: Reason | None
) -> None:
    reset_for(account)
    hold = held(mailer)
    hold.ask("message")
    answer = hold.ask("outcome", outcome=kind.value, reason=reason)
    attempt = Attempt.objects.get()
    assert answer.get_json()["state"] == the_delivery().state
    assert attempt.outcome == kind
    assert attempt.reason == reason or (reason is None and attempt.reason in set(Reason))


def test_the_providers_delay_is_kept(mailer: Service, account: Any) -> None:
    reset_for(account)
    hold = held(mailer)
    hold.ask("message")
    hold.ask("outcome", outcome="throttled", retry_after_seconds=77)
    attempt, row = Attempt.objects.get(), the_delivery()
    assert attempt.finished_at is not None
    assert (row.due_at - attempt.finished_at).total_seconds() == 77


@pytest.mark.parametrize(
    ("step", "fields", "pointer"),
    [
        ("message", {"lease_token": 1}, "#/lease_token"),
        ("message", {"lease_token": "01"}, "#/lease_token"),
        ("message", {"lease_token": "9" * 10}, "#/lease_token"),
        ("message", {"lease_token": "1\n"}, "#/lease_token"),
        ("message", {"to": "eve@example.com"}, "#"),
        ("renew", {"lease_seconds": 3}, "#/lease_seconds"),
        ("outcome", {"outcome": "delivered"}, "#/outcome"),
        ("outcome", {"outcome": None}, "#/outcome"),
        ("outcome", {"reason": "they did not say"}, "#/reason"),
        ("outcome", {"provider_reference": "x" * 256}, "#/provider_reference"),
        ("outcome", {"provider_reference": "anna at example"}, "#/provider_reference"),
        ("outcome", {"retry_after_seconds": -1}, "#/retry_after_seconds"),
        ("outcome", {"retry_after_seconds": "1"}, "#/retry_after_seconds"),
    ],
)
def test_what_has_another_form_is_refused_and_changes_nothing(
    mailer: Service, account: Any, step: str, fields: dict[str, Any], pointer: str
) -> None:
    reset_for(account)
    hold = held(mailer)
    before = Delivery.objects.values().get()
    answer = hold.ask(step, **fields)
    assert (answer.status_code, problem(answer)) == (422, "invalid-request")
    assert [error["pointer"] for error in answer.get_json()["errors"]] == [pointer]
    assert Delivery.objects.values().get() == before


def test_a_lease_is_renewed(mailer: Service, account: Any) -> None:
    reset_for(account)
    hold = held(mailer)
    answer = hold.ask("renew", lease_seconds=100)
    ends = the_delivery().lease_expires_at
    assert answer.get_json() == {"reference": hold.reference, "lease_expires_at": moment(ends)}


def test_a_delivery_is_given_back(mailer: Service, account: Any) -> None:
    reset_for(account)
    hold = held(mailer)
    assert hold.ask("release").get_json() == {"reference": hold.reference, "state": "pending"}
    assert the_delivery().claims == 0


@pytest.mark.parametrize("step", ["renew", "release"])
def test_what_was_handed_out_has_one_way_left(mailer: Service, account: Any, step: str) -> None:
    reset_for(account)
    hold = held(mailer)
    hold.ask("message")
    answer = hold.ask(step)
    assert (answer.status_code, problem(answer)) == (409, "already-marked")


@pytest.mark.parametrize("step", STEPS)
def test_nobody_can_tell_a_lease_that_is_over_from_anothers_and_from_one_that_never_was(
    mailer: Service, account: Any, step: str
) -> None:
    reset_for(account)
    hold = held(mailer)
    unknown = Held(by=mailer, reference=str(uuid.uuid4()), token=hold.token)
    answers = [
        hold.ask(step, by=service("other", [Scope.WORK_CLAIM])),
        hold.ask(step, lease_token="7"),
        unknown.ask(step),
    ]
    age(31)
    sweep()
    answers.append(hold.ask(step))
    assert {problem(answer) for answer in answers} == {"stale-lease"}
    assert len({(answer.status_code, answer.data) for answer in answers}) == 1
    assert Attempt.objects.count() == 0


def test_what_a_worker_tells_too_late_is_a_stale_lease(mailer: Service, account: Any) -> None:
    reset_for(account)
    hold = held(mailer)
    hold.ask("message")
    age(21)
    sweep()
    answer = hold.ask("outcome")
    assert (answer.status_code, problem(answer)) == (409, "stale-lease")
    assert Attempt.objects.get().late_outcome == "accepted"


@pytest.mark.parametrize("step", ["claim", *(f"{NOBODYS}/{step}" for step in STEPS)])
def test_every_step_needs_the_scope_for_it(db: None, step: str) -> None:
    others = [scope for scope in Scope if scope is not Scope.WORK_CLAIM]
    answer = service("reader", others).post(f"/internal/delivery-work/{step}", {})
    assert (answer.status_code, problem(answer)) == (403, "missing-scope")
    assert problem(Service().post(f"/internal/delivery-work/{step}", {})) == "unauthorized"


@pytest.mark.parametrize("reference", ["1", "not-a-uuid", "%00"])
def test_a_reference_of_another_form_names_nothing(mailer: Service, reference: str) -> None:
    answer = mailer.post(f"/internal/delivery-work/{reference}/message", {"lease_token": "1"})
    assert (answer.status_code, problem(answer)) == (404, "not-found")


def test_nothing_of_a_message_is_stored_or_logged(
    mailer: Service, account: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    reset_for(account)
    hold = held(mailer)
    told = hold.ask("message").get_json()
    hold.ask("outcome", outcome="ambiguous")
    secrets = [account.email, told["text"].split("https://")[1].split()[0], told["subject"]]
    logged = caplog.text + repr([vars(record) for record in caplog.records])
    assert "api:mailer" in logged
    assert [secret for secret in secrets if secret in logged or secret in stored()] == []
