from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications.channels import Channel
from resetdelivery.cancellation import request_cancel
from resetdelivery.claims import finish_leased, release
from resetdelivery.clock import database_now
from resetdelivery.domain.decisions import Verdict
from resetdelivery.domain.reasons import CancelReason
from resetdelivery.domain.states import DeliveryState
from resetdelivery.models import ChannelControl, Delivery, ResetIntent
from tests.conftest import age
from tests.steps import ACCEPTED, answer, pause, record, seconds, states, store, take

pytestmark = pytest.mark.django_db

S = DeliveryState


def statements(step: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as captured:
        step()
    return len(captured)


def test_every_step_takes_as_many_statements_for_sixteen_rows_as_for_one() -> None:
    take()  # the channel's control row is made once
    counts = []
    for number in (1, 16):
        store(number, overdue=5)
        with CaptureQueriesContext(connection) as claiming:
            claimed = take()
        with CaptureQueriesContext(connection) as marking:
            marked = record(claimed)
        with CaptureQueriesContext(connection) as settling:
            settled = answer(marked, ACCEPTED)
        assert len(settled) == number
        counts.append((len(claiming), len(marking), len(settling)))
    assert counts[0] == counts[1]


def test_releasing_and_finishing_take_as_many_statements_for_sixteen_rows_as_for_one() -> None:
    verdict = Verdict(state=S.CANCELLED, reason="account_changed")
    counts = []
    for number in (1, 16):
        store(number, overdue=5)
        claimed = take()
        releasing = statements(partial(release, claimed, using="default"))
        refused = [(row, verdict) for row in take()]
        finishing = statements(partial(finish_leased, refused, using="default"))
        counts.append((releasing, finishing))
    assert counts[0] == counts[1]


def test_a_claim_leases_the_row_and_raises_its_token() -> None:
    (row,) = store(overdue=5)
    (claimed,) = take(owner="host:7")
    row.refresh_from_db()
    assert (row.state, row.lease_owner, row.lease_token, row.claims) == (S.LEASED, "host:7", 1, 1)
    assert row.lease_expires_at is not None
    assert abs(row.lease_expires_at - claimed.claimed_at - seconds(30)) < seconds(1)


def test_tokens_rise_with_each_claim() -> None:
    store(overdue=5)
    tokens = []
    for _ in range(3):
        (claimed,) = take()
        tokens.append(claimed.token)
        release([claimed], using="default")
    assert tokens == [1, 2, 3]


def test_what_is_claimed_is_claimed_by_nobody_else() -> None:
    store(3, overdue=5)
    assert len(take()) == 3
    assert take() == []


def test_a_claim_takes_no_more_than_its_limit_soonest_expiry_first() -> None:
    late, soon, middle = (store(life=life, overdue=5)[0] for life in (900, 300, 600))
    assert [c.id for c in take(limit=2)] == [soon.pk, middle.pk]
    assert states([late]) == [S.PENDING]


def test_named_rows_come_before_those_that_expire_sooner() -> None:
    soon, named = (store(life=life, overdue=5)[0] for life in (300, 900))
    assert [c.id for c in take(ids=[named.pk], limit=1)] == [named.pk]
    assert [c.id for c in take(limit=1)] == [soon.pk]


def test_named_rows_leave_the_rest_of_the_limit_to_others() -> None:
    (named,) = store(life=900, overdue=5)
    others = store(3, life=300, overdue=5)
    taken = {c.id for c in take(ids=[named.pk], limit=3)}
    assert named.pk in taken
    assert len(taken & {row.pk for row in others}) == 2


@pytest.mark.parametrize(
    ("overdue", "hinted", "taken"),
    [
        (0.0, True, 0),  # just hinted at: its own task is on the way
        (0.5, True, 0),
        (5.0, True, 1),  # due for a while: its task does not come
        (0.0, False, 1),  # nobody was told
    ],
)
def test_a_row_is_filled_in_when_its_own_task_does_not_come(overdue: float, hinted: bool, taken: int) -> None:
    at = database_now(connection) if hinted else None
    store(overdue=overdue + 0.01, hinted_at=at)
    assert len(take(fill_after=2)) == taken


def test_a_hinted_row_is_taken_at_once_by_the_task_that_names_it() -> None:
    (row,) = store(overdue=0.01, hinted_at=database_now(connection))
    assert [c.id for c in take(ids=[row.pk], fill_after=60)] == [row.pk]


def test_a_row_that_is_not_due_yet_is_not_taken_even_when_named() -> None:
    (row,) = store(overdue=-60)
    assert take(ids=[row.pk]) == []


@pytest.mark.parametrize(("life", "taken"), [(34, 0), (40, 1)])
def test_a_row_that_can_no_longer_help_is_left_to_be_expired(life: float, taken: int) -> None:
    (row,) = store(life=life, overdue=5)
    assert len(take(ids=[row.pk], floor=35)) == taken


@pytest.mark.parametrize("state", [s for s in S if s is not S.PENDING])
def test_only_pending_rows_are_taken(state: S) -> None:
    held = {"lease_owner": "w", "lease_expires_at": database_now(connection)}
    finished = {"finished_at": database_now(connection)}
    extra = held if state in {S.LEASED, S.SUBMITTING} else {} if state is S.WAITING else finished
    (row,) = store(overdue=5, state=state, **extra)
    assert take(ids=[row.pk]) == []
    assert states([row]) == [state]


def test_channels_do_not_take_each_others_rows() -> None:
    (row,) = store(channel=Channel.SMS, overdue=5)
    assert take(Channel.EMAIL, ids=[row.pk]) == []
    assert len(take(Channel.SMS)) == 1


def test_unknown_and_repeated_ids_are_passed_over() -> None:
    (row,) = store(overdue=5)
    assert [c.id for c in take(ids=[row.pk, row.pk, 2**62, row.pk + 1])] == [row.pk]


def test_a_claim_tells_of_a_cancel_and_of_the_attempts_so_far() -> None:
    (row,) = store(overdue=5)
    answer(record(take()), outcome=ACCEPTED)
    assert states([row]) == [S.ACCEPTED]
    (other,) = store(overdue=5)
    (claimed,) = take()
    assert (claimed.id, claimed.attempts, claimed.attempt_rows, claimed.ambiguous_attempts) == (
        other.pk,
        0,
        0,
        0,
    )
    assert (claimed.intent_reference, claimed.cancel_reason) == (other.intent.reference, "")


def test_a_release_gives_the_claim_back_and_keeps_the_time_it_was_due() -> None:
    (row,) = store(overdue=5)
    due_at = row.due_at
    (claimed,) = take()
    assert release([claimed], using="default") == {row.pk}
    row.refresh_from_db()
    assert (row.state, row.claims, row.lease_token, row.hinted_at) == (S.PENDING, 0, 1, None)
    assert abs(row.due_at - due_at) < dt.timedelta(milliseconds=1)


def test_a_release_after_a_cancel_ends_the_delivery_and_closes_its_intent() -> None:
    (row,) = store(overdue=5)
    (claimed,) = take()
    request_cancel(account_ref=row.intent.account_ref, reason=CancelReason.WITHDRAWN, using="default")
    release([claimed], using="default")
    row.refresh_from_db()
    assert (row.state, row.reason) == (S.CANCELLED, "withdrawn")
    assert ResetIntent.objects.get().state == "closed"


def lose_the_lease() -> None:
    """Somebody else has it by now."""
    Delivery.objects.update(lease_token=99, lease_owner="another:2")


@pytest.mark.parametrize("step", ["release", "finish", "mark"])
def test_a_holder_with_a_stale_token_changes_nothing(step: str) -> None:
    store(overdue=5)
    claimed = take()
    lose_the_lease()
    before = list(Delivery.objects.values()), list(ResetIntent.objects.values())
    verdict = Verdict(state=S.FAILED, reason="no_destination")
    steps: dict[str, Callable[[], object]] = {
        "release": lambda: release(claimed, using="default"),
        "finish": lambda: finish_leased([(claimed[0], verdict)], using="default"),
        "mark": lambda: record(claimed),
    }
    done = steps[step]()
    assert not done
    assert (list(Delivery.objects.values()), list(ResetIntent.objects.values())) == before


def test_the_gates_verdict_ends_a_leased_row_and_closes_its_intent() -> None:
    (row,) = store(overdue=5)
    (claimed,) = take()
    finish_leased([(claimed, Verdict(state=S.FAILED, reason="no_destination"))], using="default")
    row.refresh_from_db()
    assert (row.state, row.reason, row.lease_owner, row.attempts) == (S.FAILED, "no_destination", "", 0)
    assert ResetIntent.objects.get().state == "closed"


def test_a_paused_channel_gives_nothing() -> None:
    store(overdue=5)
    pause()
    assert take() == []
    assert len(store(overdue=5)) == 1


def test_the_first_claim_makes_the_row_that_a_pause_is_written_to() -> None:
    take(Channel.SMS)
    assert ChannelControl.objects.get().channel == "sms"


def test_an_empty_batch_touches_nothing() -> None:
    with CaptureQueriesContext(connection) as captured:
        assert release([], using="default") == set()
        assert finish_leased([], using="default") == set()
        assert record([]) == []
        assert answer([]) == []
    assert len(captured) == 0


def test_a_claim_holds_at_least_until_its_lease_is_swept() -> None:
    (row,) = store(overdue=5)
    take(lease=30)
    age(29)
    assert take(ids=[row.pk]) == []
