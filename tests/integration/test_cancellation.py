from __future__ import annotations

from typing import Any

import pytest

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import DeliveryState
from resetdelivery.exceptions import InvalidAccountRef
from resetdelivery.gate import judge_batch
from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.services import cancel_resets, request_reset
from tests.steps import record, states, store, take

pytestmark = pytest.mark.django_db

S = DeliveryState


def test_what_nobody_holds_ends_at_once(account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["sms", "email"], strategy="fallback")
    assert cancel_resets(account_ref=str(account.pk)) == 1
    found = Delivery.objects.values_list("state", "reason")
    assert list(found) == [("cancelled", "withdrawn")] * 2
    intent = ResetIntent.objects.get()
    assert (intent.state, intent.cancel_reason) == ("closed", "withdrawn")


def test_what_was_withdrawn_is_not_sent(account: Any, email: ScriptedTransport) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    cancel_resets(account_ref=str(account.pk))
    assert deliver(Channel.EMAIL) == 0
    assert email.messages == []


@pytest.mark.parametrize("marked", [False, True])
def test_what_a_worker_holds_is_left_to_that_worker(marked: bool) -> None:
    (row,) = store(overdue=5)
    claimed = take()
    if marked:
        record(claimed)
    assert cancel_resets(account_ref=row.intent.account_ref) == 1
    assert states([row]) == [S.SUBMITTING if marked else S.LEASED]
    assert ResetIntent.objects.get().state == "open"


def test_what_a_worker_judges_after_a_cancel_is_not_sent(
    account: Any, email: ScriptedTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])

    def cancel_and_judge(*args: Any, **kwargs: Any) -> Any:
        cancel_resets(account_ref=str(account.pk))
        return judge_batch(*args, **kwargs)

    monkeypatch.setattr("resetdelivery.delivery.judge_batch", cancel_and_judge)
    deliver(Channel.EMAIL)
    assert email.messages == []
    assert Delivery.objects.get().state == S.CANCELLED
    assert ResetIntent.objects.get().state == "closed"


def test_cancelling_twice_asks_nobody_twice(account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    take()
    assert [cancel_resets(account_ref=str(account.pk)) for _ in range(2)] == [1, 0]


def test_an_account_without_a_reset_has_nothing_to_cancel(account: Any) -> None:
    assert cancel_resets(account_ref=str(account.pk)) == 0
    assert cancel_resets(account_ref="nobody") == 0


def test_what_was_sent_stays_as_it_is(account: Any, email: ScriptedTransport) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    deliver(Channel.EMAIL)
    assert cancel_resets(account_ref=str(account.pk)) == 0
    assert Delivery.objects.get().state == S.ACCEPTED


def test_other_accounts_keep_their_resets(account: Any) -> None:
    (other,) = store(overdue=5)
    request_reset(account_ref=str(account.pk), channels=["email"])
    cancel_resets(account_ref=str(account.pk))
    assert states([other]) == [S.PENDING]


@pytest.mark.parametrize("ref", ["", "x" * 256, "a\x00", 7, None])
def test_a_reference_of_no_usable_form_is_refused(ref: Any) -> None:
    with pytest.raises(InvalidAccountRef):
        cancel_resets(account_ref=ref)
