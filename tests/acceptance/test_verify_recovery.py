"""Rows that are stranded on purpose, a real broker, a real beat and real workers that come for them."""

from __future__ import annotations

import datetime as dt

import pytest

from notifications.channels import Channel
from resetdelivery.cutover.verification import verify
from resetdelivery.domain.verification import STRANDED_KINDS
from resetdelivery.models import Attempt
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import all_finished
from tests.acceptance.harness.waiting import CEILING_SECONDS

pytestmark = pytest.mark.acceptance


def test_beat_and_workers_recover_what_was_stranded_and_only_that(stage: Stage) -> None:
    stage.worker("email,sms")
    stage.worker("control")
    stage.beat()

    found = verify(Channel.EMAIL, who="anna", number=6, timeout=dt.timedelta(seconds=CEILING_SECONDS))

    assert [finding for finding in found.findings if not finding.ok] == []
    for one in found.courses:
        if one.kind in STRANDED_KINDS:
            assert one.taken_by != "verify-recovery"
            assert one.hinted_at is not None or one.filled
    assert all_finished()
    assert stage.provider.store.count() == Attempt.objects.count() == 0


def test_without_beat_the_verification_fails_and_leaves_nothing_open(stage: Stage) -> None:
    stage.worker("email,sms,control")

    found = verify(Channel.EMAIL, who="anna", number=4, timeout=dt.timedelta(seconds=3))

    assert "a sweep came" in [finding.name for finding in found.findings if not finding.ok]
    assert all_finished()
