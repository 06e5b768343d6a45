"""A channel moves between the existing sender and ours: preconditions, overrides, the audit trail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from notifications.channels import Channel
from resetdelivery import audit
from resetdelivery.cutover import facts, steps
from resetdelivery.cutover.steps import InvalidStep, StepRefused, preview
from resetdelivery.domain.rollout import Finding, Position
from resetdelivery.models import AuditEntry, ChannelControl, Delivery
from resetdelivery.services import request_reset
from tests.rollouts import EMAIL, move, put, ready, stands, trail
from tests.steps import pause

pytestmark = pytest.mark.django_db

Change = Callable[..., None]


def failed(found: tuple[Finding, ...]) -> list[str]:
    return [one.name for one in found if not one.ok]


def test_the_whole_way_forward_is_made_step_by_step() -> None:
    put("legacy")
    ready()
    for mode, per_mille in (("shadow", 1000), ("live", 50), ("live", 200), ("live", 1000)):
        move(mode, per_mille)
    assert [target for _, _, target, _ in trail()] == [
        "email: legacy 1000 -> shadow 1000",
        "email: shadow 1000 -> live 50",
        "email: live 50 -> live 200",
        "email: live 200 -> live 1000",
    ]
    assert stands() == Position("live", 1000)


def test_a_step_is_audited_with_who_and_why() -> None:
    put("legacy")
    ready()
    move("shadow", why="  week 1 of\nthe plan ")
    assert trail() == [("ada", "rollout_set", "email: legacy 1000 -> shadow 1000", "week 1 of the plan")]


def test_a_channel_that_was_never_set_is_live_for_everybody_and_goes_back_at_once() -> None:
    changed = move("legacy")
    assert (changed.before, changed.after) == (Position("live", 1000), Position("legacy", 1000))
    assert changed.findings == ()
    assert stands() == Position("legacy", 1000)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("live", 1000), ("live", 50)),
        (("live", 1000), ("shadow", 1000)),
        (("live", 50), ("legacy", 1000)),
        (("shadow", 1000), ("legacy", 1000)),
    ],
)
def test_a_step_back_is_never_refused_and_needs_no_numbers(
    monkeypatch: pytest.MonkeyPatch, before: tuple[str, int], after: tuple[str, int]
) -> None:
    put(*before)
    pause(EMAIL)
    monkeypatch.setattr(facts, "look", lambda **_: pytest.fail("a step back reads no numbers"))
    assert preview(EMAIL, mode=after[0], slice_per_mille=after[1]) == ()
    move(*after)
    assert stands() == Position(*after)


@pytest.mark.parametrize(("mode", "per_mille"), [("live", 200), ("live", 1000)])
def test_the_same_position_again_changes_nothing_and_leaves_no_entry(mode: str, per_mille: int) -> None:
    put(mode, per_mille)
    changed = move(mode, per_mille)
    assert (changed.before, changed.findings, trail()) == (changed.after, (), [])


def test_only_live_channels_have_a_slice() -> None:
    put("live", 50)
    move("shadow", 50)
    assert stands() == Position("shadow", 1000)


def test_a_refused_step_changes_nothing_and_says_what_it_saw() -> None:
    put("shadow")
    with pytest.raises(
        StepRefused, match=r"^Refused for health, shadowed, queue delay, counts, recovery\. "
    ) as refused:
        move("live", 50)
    saw = {one.name: one.saw for one in refused.value.findings}
    assert saw["shadowed"] == "0 shadows that would have been sent"
    assert saw["recovery"] == "RECOVERY is 'on'; 'observe' verified never, 'on' verified never"
    assert (stands(), trail()) == (Position("shadow", 1000), [])


def test_a_look_ahead_sees_the_same_and_changes_nothing() -> None:
    put("shadow")
    ready()
    found = preview(EMAIL, mode="live", slice_per_mille=51)
    assert failed(found) == ["first slice"]
    assert (stands(), trail()) == (Position("shadow", 1000), [])
    with pytest.raises(StepRefused) as refused:
        move("live", 51)
    assert refused.value.findings == found


# Overriding.


def test_an_overridden_step_is_made_and_its_entry_names_what_failed() -> None:
    put("shadow")
    ready()
    changed = move("live", 400, override=True, why="the old provider ends tonight")
    assert failed(changed.findings) == ["first slice"]
    assert stands() == Position("live", 400)
    why = "override: the old provider ends tonight (first slice)"
    assert trail() == [("ada", "rollout_set", "email: shadow 1000 -> live 400", why)]


def test_an_override_of_nothing_is_not_called_one() -> None:
    put("shadow")
    ready()
    move("live", 50, override=True, why="just in case")
    assert [why for *_, why in trail()] == ["just in case"]


@pytest.mark.parametrize("why", ["", "  \n"])
def test_an_override_needs_a_reason(why: str) -> None:
    put("shadow")
    with pytest.raises(InvalidStep, match="An override needs a reason"):
        move("live", 1000, override=True, why=why)
    assert (stands(), trail()) == (Position("shadow", 1000), [])


def test_a_reason_has_room_beside_what_failed_or_is_refused_with_the_room_there_is() -> None:
    put("legacy")
    with pytest.raises(
        InvalidStep, match=r"^The reason has 255 characters; beside what failed (\d+) "
    ) as caught:
        move("live", 1000, override=True, why="x" * 255)
    assert stands() == Position("legacy", 1000)
    room = int(str(caught.value).split("failed ")[1].split()[0])
    move("live", 1000, override=True, why="x" * room)
    assert len(AuditEntry.objects.get().why) == 255


# Callers' mistakes.


@pytest.mark.parametrize(
    ("mode", "per_mille", "says"),
    [
        ("canary", 1000, r"^'canary' is no mode; use 'legacy', 'shadow' or 'live'\.$"),
        ("live", 0, r"^A slice of 0 per mille is out of range; use 1 to 1000\.$"),
        ("live", 1001, r"^A slice of 1001 per mille"),
        ("shadow", -1, r"^A slice of -1 per mille"),
    ],
)
def test_a_position_that_there_is_none_of_is_named(mode: str, per_mille: int, says: str) -> None:
    with pytest.raises(InvalidStep, match=says):
        move(mode, per_mille)
    with pytest.raises(InvalidStep, match=says):
        preview(EMAIL, mode=mode, slice_per_mille=per_mille)
    assert not ChannelControl.objects.exists()


def test_a_channel_that_is_not_configured_cannot_be_moved(change: Change) -> None:
    change(CHANNELS={"email": {"TRANSPORT": "tests.transports.email"}})
    with pytest.raises(InvalidStep, match=r"'sms' is not in RESETDELIVERY\['CHANNELS'\]"):
        steps.change(Channel.SMS, mode="legacy", slice_per_mille=1000, who="ada")


def test_an_entry_that_cannot_be_stored_takes_the_step_back(db: None) -> None:
    put("live", 50)
    with pytest.raises(audit.InvalidAuditEntry), transaction.atomic():
        steps.change(EMAIL, mode="legacy", slice_per_mille=1000, who="")
    assert stands() == Position("live", 50)


# What it is for.


@pytest.mark.parametrize(
    ("mode", "authority"), [("legacy", "legacy"), ("shadow", "shadow"), ("live", "pipeline")]
)
def test_the_next_admission_goes_by_the_new_mode_and_older_ones_by_theirs(
    make_account: Callable[..., Any], mode: str, authority: str
) -> None:
    before = request_reset(account_ref=str(make_account().pk), channels=["email"])
    move(mode)
    request_reset(account_ref=str(make_account().pk), channels=["email"])
    rows = Delivery.objects.order_by("pk").values_list("authority", flat=True)
    assert list(rows) == ["pipeline", authority]
    assert Delivery.objects.get(intent__reference=before.reference).authority == "pipeline"
