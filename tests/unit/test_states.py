from __future__ import annotations

import itertools
from typing import cast

import pytest
from django.db.models import CheckConstraint, Field, Model, Q

from notifications.channels import Channel
from notifications.outcome import OutcomeKind, Reason
from notifications.receipts.receipt import ReceiptVerdict
from resetdelivery.domain.reasons import ArmReason, CancelReason, DeliveryReason, PauseReason
from resetdelivery.domain.states import (
    FINISHED_STATES,
    HELD_STATES,
    IDLE_STATES,
    OPEN_STATES,
    TRANSITIONS,
    Authority,
    DeliveryState,
    IntentState,
    Strategy,
    is_final,
    may_move,
)
from resetdelivery.models import Attempt, ChannelControl, Delivery, ResetIntent
from resetdelivery.models.channel_control import ChannelMode

S = DeliveryState

#: Section 5 of the design once more, by hand: what the table is compared with.
STEPS = {
    S.WAITING: {S.PENDING, S.CANCELLED},
    S.PENDING: {S.LEASED, S.EXPIRED, S.CANCELLED, S.DELIVERED},
    S.LEASED: {
        *(S.SUBMITTING, S.PENDING, S.CANCELLED, S.EXPIRED),
        *(S.FAILED, S.WITHHELD, S.SHADOWED, S.DELIVERED),
    },
    S.SUBMITTING: {S.ACCEPTED, S.PENDING, S.FAILED, S.EXPIRED, S.CANCELLED, S.DELIVERED},
    S.ACCEPTED: {S.DELIVERED, S.FAILED},
}


@pytest.mark.parametrize(("before", "after"), list(itertools.product(S, S)))
def test_a_step_is_allowed_exactly_when_the_design_names_it(before: S, after: S) -> None:
    assert may_move(before, after) is (after in STEPS.get(before, set()))


@pytest.mark.parametrize("state", [S.DELIVERED, S.FAILED, S.EXPIRED, S.CANCELLED, S.WITHHELD, S.SHADOWED])
def test_nothing_leaves_a_final_state(state: S) -> None:
    assert is_final(state)
    assert not any(may_move(state, after) for after in S)


@pytest.mark.parametrize("state", [S.WAITING, S.PENDING, S.LEASED, S.SUBMITTING, S.ACCEPTED])
def test_a_state_that_is_not_final_has_a_way_out(state: S) -> None:
    assert not is_final(state)


def test_every_state_has_a_line_in_the_table() -> None:
    assert set(TRANSITIONS) == set(S)


def test_open_and_finished_states_share_nothing_and_leave_nothing_out() -> None:
    assert set(S) == OPEN_STATES | FINISHED_STATES
    assert not OPEN_STATES & FINISHED_STATES
    assert HELD_STATES | IDLE_STATES == OPEN_STATES
    assert not HELD_STATES & IDLE_STATES


def test_nothing_goes_back_to_an_open_state_once_it_is_finished() -> None:
    assert not [(a, b) for a in FINISHED_STATES for b in OPEN_STATES if may_move(a, b)]


def test_only_a_leased_row_is_ever_submitted() -> None:
    assert [s for s in S if may_move(s, S.SUBMITTING)] == [S.LEASED]


def listed_values(model: type[Model], constraint: str) -> set[str]:
    """The plain values of the ``__in`` list of a check constraint."""
    (found,) = (c for c in model._meta.constraints if c.name == constraint)
    assert isinstance(found, CheckConstraint)
    assert isinstance(found.condition, Q)
    _, values = cast("tuple[str, list[str]]", found.condition.children[0])
    return set(values)


@pytest.mark.parametrize(
    ("model", "constraint", "members"),
    [
        (Delivery, "resetdelivery_delivery_state", DeliveryState),
        (Delivery, "resetdelivery_delivery_authority", Authority),
        (ResetIntent, "resetdelivery_intent_state", IntentState),
        (ResetIntent, "resetdelivery_intent_strategy", Strategy),
        (ChannelControl, "resetdelivery_control_channel", Channel),
        (ChannelControl, "resetdelivery_control_mode", ChannelMode),
    ],
)
def test_a_constraint_lists_exactly_the_members_of_its_enum(
    model: type[Model], constraint: str, members: type[DeliveryState]
) -> None:
    assert listed_values(model, constraint) == {member.value for member in members}


@pytest.mark.parametrize(
    ("model", "field", "members"),
    [
        (Delivery, "state", DeliveryState),
        (Delivery, "authority", Authority),
        (Delivery, "channel", Channel),
        (Delivery, "outcome", OutcomeKind),
        (Delivery, "reason", DeliveryReason),
        (Delivery, "reason", Reason),
        (Attempt, "outcome", OutcomeKind),
        (Attempt, "late_outcome", OutcomeKind),
        (Attempt, "reason", Reason),
        (Attempt, "receipt", ReceiptVerdict),
        (Attempt, "receipt_reason", Reason),
        (Delivery, "arm_reason", ArmReason),
        (ResetIntent, "cancel_reason", CancelReason),
        (ResetIntent, "state", IntentState),
        (ResetIntent, "strategy", Strategy),
        (ChannelControl, "pause_reason", PauseReason),
    ],
)
def test_every_member_fits_its_column(model: type[Model], field: str, members: type[DeliveryState]) -> None:
    column = model._meta.get_field(field)
    assert isinstance(column, Field)
    longest = column.max_length
    assert longest is not None
    assert max(len(member.value) for member in members) <= longest
