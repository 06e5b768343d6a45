"""``rollout compare``: both sides, what differs, and an exit code."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.cutover.comparison import compare
from resetdelivery.delivery import deliver
from resetdelivery.domain.comparison import NOT_EXPECTED, UNTOLD, Comparison
from resetdelivery.models import ResetIntent
from resetdelivery.services import report_legacy_outcome, request_reset
from tests.integration.conftest import Settings
from tests.moved_clock import moved_clock
from tests.rollouts import put
from tests.steps import seconds

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]

MakeAccount = Callable[..., Any]


def printed(*options: str) -> tuple[int, str]:
    out = io.StringIO()
    try:
        call_command("rollout", "compare", *options, stdout=out)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue()
    return 0, out.getvalue()


@pytest.fixture
def shadowed(make_account: MakeAccount, moved_clock: object, email: ScriptedTransport) -> list[ResetIntent]:
    """Four shadows, two of them with an address that nothing can be sent to."""
    put("shadow")
    for address in ("a@shop.example", "b@shop.example", "jürgen@shop.example", ""):
        request_reset(account_ref=str(make_account(email=address).pk), channels=["email"])
    deliver(Channel.EMAIL)
    return list(ResetIntent.objects.order_by("pk"))


def report(intents: list[ResetIntent], *outcomes: str) -> None:
    for intent, outcome in zip(intents, outcomes, strict=False):
        report_legacy_outcome(intent.reference, "email", outcome)


def test_the_report_has_both_sides_and_what_differs(shadowed: list[ResetIntent]) -> None:
    report(shadowed, "accepted", "failed", "accepted")
    code, text = printed()
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert code == 1
    assert "admitted pipeline 0, shadow 4, legacy 0" in lines
    assert "shadows claimed 4, would send 2, would fail 2, expired 0, would cancel 0" in lines
    assert "not sent, why invalid_destination 1, no_destination 1" in lines
    assert "existing sender accepted 2, failed 1, not sent 0, not reported 1" in lines
    assert "not reported no_destination 1" in lines
    assert "ours / theirs accepted failed not sent not reported not expected" in lines
    assert "would send 1 1 0 0 0" in lines
    assert "would fail 1 0 0 1 0" in lines
    assert "3 compared: we would have sent 2, they sent 2 (+0)" in lines
    assert "differ 1 we would have sent, they failed" in lines
    assert "differ 1 we would have failed (invalid_destination), they sent" in lines
    assert "OFF 666.7 per mille disagree, 0 are tolerated" in lines


def test_all_is_well_where_both_agree(shadowed: list[ResetIntent]) -> None:
    report(shadowed, "accepted", "accepted", "failed", "not_sent")
    code, text = printed()
    assert (code, "differ" in text) == (0, False)
    assert "4 compared: we would have sent 2, they sent 2 (+0)" in text


@pytest.mark.parametrize(("tolerated", "code"), [("332", 1), ("334", 0), ("1000", 0)])
def test_as_much_may_differ_as_is_tolerated(shadowed: list[ResetIntent], tolerated: str, code: int) -> None:
    report(shadowed, "accepted", "failed", "failed")
    assert printed("--tolerate", tolerated)[0] == code


def test_where_nothing_was_reported_it_says_so(shadowed: list[ResetIntent]) -> None:
    code, text = printed()
    assert code == 0
    assert text.count("nothing to compare") == 2


def of(channel: str) -> Comparison:
    (found,) = [one for one in compare(seconds(3600)).channels if one.channel == channel]
    return found


def test_no_report_is_missed_of_what_a_limit_kept_from_being_told(
    account: Any, moved_clock: object, email: ScriptedTransport, change: Settings
) -> None:
    change(ACCOUNT_PER_HOUR=1)
    put("shadow")
    for told in ((Channel.EMAIL,), ()):
        answer = request_reset(account_ref=str(account.pk), channels=["email"])
        assert answer.legacy_channels == told
        deliver(Channel.EMAIL)
    found = of("email")
    assert found.table() == {"shadowed": {UNTOLD: 1}, "cancelled": {NOT_EXPECTED: 1}}
    assert (found.not_reported, found.untold) == (1, {"shadowed": 1})


def test_no_report_is_missed_of_a_channel_whose_destination_is_over_its_limit(
    make_account: MakeAccount,
    moved_clock: object,
    email: ScriptedTransport,
    sms: ScriptedTransport,
    change: Settings,
) -> None:
    change(DESTINATION_PER_HOUR=1)
    for channel in Channel:
        put("shadow", channel=channel)
    for _ in range(2):
        shared = make_account(phone="+4915112345678")
        request_reset(account_ref=str(shared.pk), channels=["email", "sms"])
    for channel in Channel:
        deliver(channel)
    assert of("sms").table() == {"shadowed": {UNTOLD: 1}, "failed": {NOT_EXPECTED: 1}}
    assert of("email").table() == {"shadowed": {UNTOLD: 2}}


@pytest.fixture
def family(make_account: MakeAccount, moved_clock: object, email: ScriptedTransport) -> list[Any]:
    put("shadow")
    return [make_account(email="same@shop.example") for _ in range(2)]


def test_of_accounts_that_share_an_address_one_report_is_expected(family: list[Any]) -> None:
    told = request_reset(submitted="same@shop.example", channels=["email"])
    report_legacy_outcome(told.reference, "email", "accepted")
    deliver(Channel.EMAIL)
    found = of("email")
    assert found.table() == {"shadowed": {"accepted": 1, NOT_EXPECTED: 1}}
    assert (found.not_reported, found.disagreeing) == (0, 0)


def test_where_keys_are_kept_no_longer_every_report_is_expected(family: list[Any], change: Settings) -> None:
    change(KEEP_IDEMPOTENCY_KEYS=seconds(0))
    request_reset(submitted="same@shop.example", channels=["email"])
    deliver(Channel.EMAIL)
    assert of("email").not_reported == 2


def test_the_report_of_a_shared_address_meets_an_account_that_was_told_of(
    family: list[Any], change: Settings
) -> None:
    change(ACCOUNT_PER_HOUR=1)
    request_reset(account_ref=str(family[0].pk), channels=["email"])
    deliver(Channel.EMAIL)
    told = request_reset(submitted="same@shop.example", channels=["email"])
    report_legacy_outcome(told.reference, "email", "accepted")
    deliver(Channel.EMAIL)
    found = of("email")
    assert (found.compared, found.disagreements) == (1, {})


def test_the_later_channel_of_a_chain_is_left_to_the_existing_sender(
    make_account: MakeAccount, moved_clock: object, email: ScriptedTransport, sms: ScriptedTransport
) -> None:
    for channel in Channel:
        put("shadow", channel=channel)
    who = make_account(phone="+4915112345678")
    told = request_reset(account_ref=str(who.pk), channels=["email", "sms"], strategy="fallback")
    for channel in told.legacy_channels:
        report_legacy_outcome(told.reference, channel, "accepted")
    for one in Channel:
        deliver(one)
    code, text = printed()
    assert code == 0
    assert "1 not compared: it decides about the next channel itself" in text
    assert "differ" not in text


def test_programs_get_the_same_as_json(shadowed: list[ResetIntent]) -> None:
    report(shadowed, "accepted", "failed")
    code, text = printed("--json", "--window", "15m")
    told = json.loads(text)
    (email,) = [one for one in told["channels"] if one["channel"] == "email"]
    assert (code, told["ok"], email["ok"]) == (1, False, False)
    assert email["endings"] == {"failed": 2, "shadowed": 2}
    assert email["disagreements"] == {"we would have sent, they failed": 1}
    assert {"ours": "shadowed", "reason": "shadow", "theirs": "failed", "number": 1} in email["pairs"]


def test_nothing_that_is_said_names_anybody(shadowed: list[ResetIntent]) -> None:
    report(shadowed, "accepted", "failed")
    said = printed()[1] + printed("--json")[1]
    for intent in shadowed:
        assert str(intent.reference) not in said
    assert "@" not in said


@pytest.mark.parametrize("window", ["0m", "8d"])
def test_a_window_that_cannot_be_is_an_error(db: None, window: str) -> None:
    with pytest.raises(CommandError, match="The window is"):
        printed("--window", window)


@pytest.mark.parametrize("options", [("--window", "soon"), ("--tolerate", "-1"), ("--tolerate", "1001")])
def test_an_option_that_cannot_be_read_is_an_error(options: tuple[str, str]) -> None:
    with pytest.raises(CommandError, match="write a"):
        printed(*options)
