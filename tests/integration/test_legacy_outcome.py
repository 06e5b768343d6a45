"""What an existing sender tells of its own: kept once, counted once, refused where it is not its to tell."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import transaction

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.delivery import deliver
from resetdelivery.domain.telemetry import Ending, LegacyOutcome
from resetdelivery.models import ChannelControl, Delivery, EventMinute
from resetdelivery.models.event_counts import EventCounts
from resetdelivery.rollout import InvalidReport, OutcomeConflict
from resetdelivery.rollout.legacy_outcome import OPEN
from resetdelivery.services import notify_password_changed, report_legacy_outcome, request_reset
from tests.conftest import the_delivery
from tests.moved_clock import moved_clock

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]


@pytest.fixture
def reference(account: Any, email: ScriptedTransport) -> uuid.UUID:
    """A reset whose email another sender sends, and whose text message is ours."""
    ChannelControl.objects.update_or_create(channel="email", defaults={"mode": "shadow"})
    admission = request_reset(account_ref=str(account.pk), channels=["email", "sms"])
    assert admission.legacy_channels == (Channel.EMAIL,)
    return admission.reference


def counted() -> dict[str, int]:
    rows = EventMinute.objects.filter(event="legacy_reported", kept=True)
    return dict(rows.values_list("label", "count"))


@pytest.mark.parametrize("outcome", list(LegacyOutcome))
def test_a_report_is_kept_beside_our_own_ending(reference: uuid.UUID, outcome: LegacyOutcome) -> None:
    deliver(Channel.EMAIL)
    assert report_legacy_outcome(reference, "email", outcome.value) is True
    row = the_delivery()
    assert (row.state, row.legacy_outcome) == ("shadowed", outcome)
    assert counted() == {f"shadowed:{outcome}": 1}


def test_a_report_may_come_before_ours_has_ended_and_changes_nothing_of_it(reference: uuid.UUID) -> None:
    assert report_legacy_outcome(reference, "email", "accepted") is True
    assert counted() == {"open:accepted": 1}
    deliver(Channel.EMAIL)
    row = the_delivery()
    assert (row.state, row.outcome, row.legacy_outcome) == ("shadowed", "", "accepted")
    assert counted() == {"open:accepted": 1}


def test_in_the_mode_legacy_it_is_told_of_what_is_only_recorded(
    account: Any, email: ScriptedTransport
) -> None:
    ChannelControl.objects.update_or_create(channel="email", defaults={"mode": "legacy"})
    reference = request_reset(account_ref=str(account.pk), channels=["email"]).reference
    deliver(Channel.EMAIL)
    report_legacy_outcome(reference, "email", "accepted")
    assert counted() == {"withheld:accepted": 1}


def test_the_same_report_again_is_no_news(reference: uuid.UUID) -> None:
    report_legacy_outcome(reference, "email", "failed")
    deliver(Channel.EMAIL)
    assert report_legacy_outcome(reference, "email", "failed") is False
    assert counted() == {"open:failed": 1}


def test_another_report_is_refused_and_the_first_one_stays(reference: uuid.UUID) -> None:
    report_legacy_outcome(reference, "email", "failed")
    with pytest.raises(OutcomeConflict) as refused:
        report_legacy_outcome(reference, "email", "accepted")
    assert refused.value.before is LegacyOutcome.FAILED
    assert "'failed' was reported" in str(refused.value)
    assert the_delivery().legacy_outcome == "failed"
    assert counted() == {"open:failed": 1}


@pytest.mark.parametrize(
    ("change", "part", "says"),
    [
        ({"channel": "sms"}, "channel", "'sms' of this reset is sent by us"),
        ({"channel": "pigeon-3141"}, "channel", "must be one of email, sms"),
        ({"outcome": "lost-3141"}, "outcome", "must be one of accepted, failed, not_sent"),
        ({"reference": uuid.UUID(int=3141)}, "reference", "names no reset"),
        ({"reference": "3141"}, "reference", "must be a UUID"),
    ],
)
def test_what_is_not_its_own_to_tell_is_refused_by_name(
    reference: uuid.UUID, change: dict[str, Any], part: str, says: str
) -> None:
    told: dict[str, Any] = {"reference": reference, "channel": "email", "outcome": "accepted", **change}
    with pytest.raises(InvalidReport) as refused:
        report_legacy_outcome(told["reference"], told["channel"], told["outcome"])
    assert refused.value.part == part
    assert str(refused.value).startswith(part)
    assert says in str(refused.value)
    assert "3141" not in str(refused.value)
    assert str(reference) not in str(refused.value)
    assert set(Delivery.objects.values_list("legacy_outcome", flat=True)) == {""}
    assert counted() == {}


def test_a_channel_that_was_not_asked_for_is_refused(account: Any) -> None:
    ChannelControl.objects.update_or_create(channel="email", defaults={"mode": "shadow"})
    reference = request_reset(account_ref=str(account.pk), channels=["email"]).reference
    with pytest.raises(InvalidReport, match="channel 'sms' is none of this reset's"):
        report_legacy_outcome(reference, "sms", "accepted")


def test_a_notice_is_ours_whatever_the_mode(account: Any) -> None:
    ChannelControl.objects.update_or_create(channel="email", defaults={"mode": "shadow"})
    notice = notify_password_changed(account_ref=str(account.pk))
    assert notice is not None
    with pytest.raises(InvalidReport, match="is sent by us"):
        report_legacy_outcome(notice.reference, "email", "accepted")


def test_a_report_that_is_rolled_back_was_never_made(reference: uuid.UUID) -> None:
    with transaction.atomic():
        report_legacy_outcome(reference, "email", "accepted")
        transaction.set_rollback(True)
    assert (the_delivery().legacy_outcome, counted()) == ("", {})
    assert report_legacy_outcome(reference, "email", "accepted") is True


def test_every_label_of_a_report_fits_and_is_one_of_few() -> None:
    labels = {f"{ending}:{told}" for ending in [*Ending, OPEN] for told in LegacyOutcome}
    assert len(labels) == 21
    longest = EventCounts._meta.get_field("label").max_length
    assert longest is not None
    assert max(map(len, labels)) <= longest
