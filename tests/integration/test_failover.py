"""Two providers behind one channel: who is asked, who takes over, and who never does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications.channels import Channel
from notifications.deadline import Deadline
from notifications.message import Message
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.testing import ScriptedTransport
from resetdelivery.claims import circuits, mark
from resetdelivery.clock import database_now
from resetdelivery.delivery import deliver
from resetdelivery.domain.circuit import CircuitPolicy
from resetdelivery.domain.failover import Lineup
from resetdelivery.lineup import assign
from resetdelivery.models import Attempt, ChannelControl, Delivery, ProviderCircuit
from resetdelivery.recovery import expire_overdue
from resetdelivery.services import cancel_resets, request_reset
from resetdelivery.transports import get_providers
from tests.conftest import age, the_delivery
from tests.integration.conftest import Settings
from tests.steps import ACCEPTED, CUT, LOCKED_OUT, pause, seconds, take, with_message

pytestmark = pytest.mark.django_db

DOWN = Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.CONNECT_FAILED, retry_after_seconds=0)
MAIN, SECOND = "main", "second"

Ask = Callable[..., None]
UseProviders = Callable[..., list[ScriptedTransport]]


@pytest.fixture
def lineup(change: Settings) -> UseProviders:
    """Give a channel providers that answer from scripts; the order is that of the scripts."""

    def configure(*scripts: list[Outcome], channel: str = "sms", **options: Any) -> list[ScriptedTransport]:
        transport = "notifications.testing.ScriptedTransport"
        listed = [
            {"NAME": name, "TRANSPORT": transport, "OPTIONS": {"outcomes": script}}
            for name, script in zip((MAIN, SECOND), scripts, strict=False)
        ]
        change(CHANNELS={channel: {"PROVIDERS": listed, **options}})
        providers = get_providers(Channel(channel))
        return [one.transport for one in providers if isinstance(one.transport, ScriptedTransport)]

    return configure


@pytest.fixture
def ask(make_account: Callable[..., Any], db: None) -> Ask:
    """Request a reset for each of ``number`` new accounts."""

    def request(number: int = 1, channel: str = "sms") -> None:
        for _ in range(number):
            request_reset(account_ref=str(make_account().pk), channels=[channel])

    return request


def circuit(provider: str = MAIN) -> ProviderCircuit:
    return ProviderCircuit.objects.get(provider=provider)


def told() -> list[tuple[str, str]]:
    """Who was asked, and what came of it, oldest first."""
    return list(Attempt.objects.order_by("pk").values_list("transport", "outcome"))


def test_the_first_provider_gets_everything_while_it_answers(lineup: UseProviders, ask: Ask) -> None:
    main, second = lineup([], [])
    ask(3)
    deliver(Channel.SMS)
    assert (len(main.messages), len(second.messages)) == (3, 0)
    assert told() == [(MAIN, "accepted")] * 3
    assert not ProviderCircuit.objects.exists()


def test_an_outage_of_the_first_brings_in_the_second_at_once(lineup: UseProviders, ask: Ask) -> None:
    main, second = lineup([DOWN] * 3, [])
    ask()
    for _ in range(4):
        deliver(Channel.SMS)
    assert told() == [(MAIN, "transient")] * 3 + [(SECOND, "accepted")]
    assert (len(main.messages), len(second.messages)) == (3, 1)
    assert (circuit().outages, circuit().reason) == (3, "connect_failed")


def test_the_attempt_that_finds_the_outage_is_given_back(lineup: UseProviders, ask: Ask) -> None:
    lineup([DOWN] * 3, [])
    ask()
    for _ in range(4):
        deliver(Channel.SMS)
    assert (the_delivery(Channel.SMS).attempts, Attempt.objects.count()) == (3, 4)


def test_an_open_circuit_is_passed_over_by_new_deliveries(lineup: UseProviders, ask: Ask) -> None:
    main, second = lineup([DOWN] * 3, [])
    ask(3)
    deliver(Channel.SMS)
    ask(2)
    deliver(Channel.SMS)
    assert (len(main.messages), len(second.messages)) == (3, 5)
    assert set(Delivery.objects.values_list("state", flat=True)) == {"accepted"}


def test_one_delivery_alone_tries_the_first_again_and_the_next_ones_follow(
    lineup: UseProviders, ask: Ask
) -> None:
    main, second = lineup([DOWN] * 3, [])
    ask(3)
    deliver(Channel.SMS)
    age(6)
    ask(4)
    deliver(Channel.SMS)
    assert (len(main.messages), len(second.messages)) == (3 + 1, 3 + 3)
    assert (circuit().outages, circuit().open_until, circuit().opened_at) == (0, None, None)
    ask(2)
    deliver(Channel.SMS)
    assert (len(main.messages), len(second.messages)) == (6, 6)


def test_a_probe_that_fails_costs_its_delivery_no_attempt_and_makes_the_pause_longer(
    lineup: UseProviders, ask: Ask
) -> None:
    main, second = lineup([DOWN] * 4, [])
    ask(3)
    deliver(Channel.SMS)
    age(6)
    ask()
    deliver(Channel.SMS)
    deliver(Channel.SMS)
    assert (len(main.messages), len(second.messages)) == (4, 4)
    assert circuit().outages == 4
    assert set(Delivery.objects.values_list("attempts", flat=True)) == {1}
    assert Attempt.objects.count() == 8
    age(6)
    ask()
    deliver(Channel.SMS)
    assert len(main.messages) == 4


def test_with_every_provider_out_nothing_is_claimed_until_a_probe_is_due(
    lineup: UseProviders, ask: Ask
) -> None:
    main, second = lineup([DOWN] * 3, [DOWN] * 3)
    ask(3)
    deliver(Channel.SMS)
    deliver(Channel.SMS)
    assert deliver(Channel.SMS, fill_at_once=True) == 0
    assert set(Delivery.objects.values_list("state", "claims", "attempts")) == {("pending", 0, 0)}
    age(6)
    assert deliver(Channel.SMS) == 3
    assert set(Delivery.objects.values_list("state", flat=True)) == {"accepted"}
    assert (len(main.messages), len(second.messages)) == (3 + 3, 3)


@pytest.mark.parametrize("providers", [1, 2])
def test_a_lone_reset_outlasts_a_long_outage_of_everybody(
    lineup: UseProviders, ask: Ask, providers: int
) -> None:
    lineup(*[[DOWN] * 20 for _ in range(providers)], channel="email", MAX_ATTEMPTS=6)
    ask(channel="email")
    for _ in range(150):
        deliver(Channel.EMAIL, fill_at_once=True)
        age(1)
    row = the_delivery()
    assert (row.state, row.reason) == ("pending", "connect_failed")
    assert row.attempts <= 2 * providers
    assert 3 * providers < Attempt.objects.count() <= 15 * providers


def test_what_waits_for_a_provider_is_due_when_the_first_one_may_be_asked(
    lineup: UseProviders, ask: Ask
) -> None:
    lineup([DOWN] * 3, [DOWN] * 3)
    ask(3)
    deliver(Channel.SMS)
    deliver(Channel.SMS)
    opens = min(one.open_until for one in ProviderCircuit.objects.all() if one.open_until)
    assert the_latest().due_at >= opens


def the_latest() -> Delivery:
    return Delivery.objects.order_by("-due_at")[0]


def test_a_text_message_that_the_first_may_have_never_goes_to_the_second(
    lineup: UseProviders, ask: Ask
) -> None:
    main, second = lineup([CUT, DOWN, DOWN, DOWN], [])
    ask()
    for _ in range(6):
        deliver(Channel.SMS)
    row = the_delivery(Channel.SMS)
    assert (len(main.messages), len(second.messages)) == (3, 0)
    assert (row.state, row.outcome) == ("pending", "ambiguous")
    # Others go over meanwhile; this one comes back to the first.
    ask()
    deliver(Channel.SMS)
    assert len(second.messages) == 1
    for _ in range(40):
        deliver(Channel.SMS, fill_at_once=True)
        age(1)
    assert the_outcomes(row) == [
        (MAIN, "ambiguous"),
        (MAIN, "transient"),
        (MAIN, "transient"),
        (MAIN, "transient"),
        (MAIN, "accepted"),
    ]


def the_outcomes(row: Delivery) -> list[tuple[str, str]]:
    return list(row.attempt_rows.order_by("number").values_list("transport", "outcome"))


def test_a_text_message_waits_for_the_one_that_may_have_it_while_others_go_over(
    lineup: UseProviders, ask: Ask
) -> None:
    main, second = lineup([CUT, DOWN, DOWN], [])
    ask()
    deliver(Channel.SMS)
    ask(2)
    # Out of the way while two others find the outage, and back when it is known.
    Delivery.objects.filter(outcome="ambiguous").update(due_at=the_latest().due_at + seconds(1))
    deliver(Channel.SMS)
    Delivery.objects.filter(outcome="ambiguous").update(due_at=the_latest().due_at - seconds(60))
    deliver(Channel.SMS)
    row = Delivery.objects.get(outcome="ambiguous")
    assert (len(main.messages), len(second.messages)) == (3, 2)
    assert (row.state, row.due_at, row.claims) == ("pending", circuit().open_until, 1)


def postponed(lineup: UseProviders, ask: Ask, **options: Any) -> Delivery:
    """An SMS that its provider may have, and that provider rests for longer than it lives."""
    lineup([CUT], [], **options)
    ask()
    deliver(Channel.SMS)
    row = the_delivery(Channel.SMS)
    ProviderCircuit.objects.update(outages=3, open_until=row.expires_at + seconds(60))
    age(3)
    deliver(Channel.SMS)
    return the_delivery(Channel.SMS)


def test_nothing_is_postponed_beyond_its_expiry(lineup: UseProviders, ask: Ask) -> None:
    row = postponed(lineup, ask, OUTAGE_PAUSE=seconds(3600), OUTAGE_PAUSE_CAP=seconds(3600))
    assert (row.state, row.due_at) == ("pending", row.expires_at)


def test_what_is_postponed_is_looked_at_again_after_an_ordinary_pause(lineup: UseProviders, ask: Ask) -> None:
    row = postponed(lineup, ask, OUTAGE_PAUSE=seconds(5))
    assert row.state == "pending"
    assert row.due_at <= database_now(connection) + seconds(5)


def test_while_all_rest_a_channels_own_probe_waits_too(lineup: UseProviders, ask: Ask) -> None:
    lineup([], [])
    ask()
    later, earlier = the_latest().due_at + seconds(60), the_latest().due_at
    for name in (MAIN, SECOND):
        ProviderCircuit.objects.create(channel="sms", provider=name, outages=3, open_until=later)
    pause(Channel.SMS, pause_reason="misconfigured", probe_at=earlier)
    assert deliver(Channel.SMS, fill_at_once=True) == 0
    assert ChannelControl.objects.get(channel="sms").paused


def test_who_loses_a_probe_keeps_the_one_it_won(
    lineup: UseProviders, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    lineup([], [])
    ask(2)
    due = the_latest().due_at - seconds(1)
    for name in (MAIN, SECOND):
        ProviderCircuit.objects.create(channel="sms", provider=name, outages=3, open_until=due)
    begin = circuits.begin_probe

    def beaten_to_the_second(*args: Any) -> bool:
        if args[2] == SECOND:
            ProviderCircuit.objects.filter(provider=SECOND).update(open_until=due + seconds(60))
        return begin(*args)

    monkeypatch.setattr(circuits, "begin_probe", beaten_to_the_second)
    wave = [with_message(one) for one in take(Channel.SMS)]
    known = Lineup(order=(MAIN, SECOND), policy=CircuitPolicy())
    found = assign(Channel.SMS, wave, known, probe_seconds=30, using="default")
    assert [(share.provider, share.probe, len(share.ready)) for share in found.shares] == [(MAIN, True, 1)]
    assert len(found.postponed) == 1


def test_a_text_message_that_both_resends_may_have_reached_ends_without_the_second(
    lineup: UseProviders, ask: Ask
) -> None:
    main, second = lineup([CUT] * 2, [])
    ask()
    for _ in range(4):
        deliver(Channel.SMS)
    row = the_delivery(Channel.SMS)
    assert (row.state, row.reason) == ("failed", "ambiguous_resends_used_up")
    assert (len(main.messages), len(second.messages)) == (2, 0)


def test_a_text_message_whose_provider_was_removed_from_the_list_ends(lineup: UseProviders, ask: Ask) -> None:
    lineup([CUT], [])
    ask()
    deliver(Channel.SMS)
    Attempt.objects.update(transport="removed")
    deliver(Channel.SMS)
    row = the_delivery(Channel.SMS)
    assert (row.state, row.reason, row.outcome) == ("failed", "provider_removed", "ambiguous")
    assert Attempt.objects.count() == 1


def test_an_email_that_the_first_may_have_may_go_to_the_second(lineup: UseProviders, ask: Ask) -> None:
    main, second = lineup([CUT] * 3, [], channel="email")
    ask(channel="email")
    for _ in range(4):
        deliver(Channel.EMAIL)
    assert (len(main.messages), len(second.messages)) == (3, 1)
    assert second.messages[0] == main.messages[0]
    assert the_delivery().state == "accepted"


def test_a_configuration_error_of_one_provider_leaves_the_channel_open(
    lineup: UseProviders, ask: Ask
) -> None:
    main, second = lineup([LOCKED_OUT], [])
    ask()
    deliver(Channel.SMS)
    deliver(Channel.SMS)
    row = the_delivery(Channel.SMS)
    assert (row.state, row.attempts) == ("accepted", 1)
    assert (len(main.messages), len(second.messages)) == (1, 1)
    assert not ChannelControl.objects.get(channel="sms").paused
    found = circuit()
    assert found.open_until is not None
    assert found.opened_at is not None
    assert found.open_until - found.opened_at == seconds(300)


def test_a_configuration_error_of_the_last_provider_pauses_the_channel(
    lineup: UseProviders, ask: Ask
) -> None:
    lineup([LOCKED_OUT], [LOCKED_OUT])
    ask()
    for _ in range(3):
        deliver(Channel.SMS)
    assert ChannelControl.objects.get(channel="sms").paused
    assert told() == [(MAIN, "misconfigured"), (SECOND, "misconfigured")]


def test_both_pauses_over_the_channel_comes_back_by_one_probe(lineup: UseProviders, ask: Ask) -> None:
    lineup([LOCKED_OUT], [LOCKED_OUT])
    ask(3)
    for _ in range(3):
        deliver(Channel.SMS)
    age(301)
    Delivery.objects.update(expires_at=the_latest().expires_at + seconds(900))
    ChannelControl.objects.update(probe_at=the_latest().due_at)
    deliver(Channel.SMS, fill_at_once=True)
    assert set(Delivery.objects.values_list("state", flat=True)) == {"accepted"}
    assert not ChannelControl.objects.get(channel="sms").paused


def test_a_provider_that_wants_fewer_messages_is_left_alone_for_its_own_delay(
    lineup: UseProviders, ask: Ask
) -> None:
    slow = Outcome(kind=OutcomeKind.THROTTLED, reason=Reason.RATE_LIMITED, retry_after_seconds=60)
    main, second = lineup([slow], [])
    ask()
    deliver(Channel.SMS)
    deliver(Channel.SMS)
    assert told() == [(MAIN, "throttled"), (SECOND, "accepted")]
    age(55)
    ask()
    deliver(Channel.SMS)
    assert (len(main.messages), len(second.messages)) == (1, 2)
    age(6)
    ask()
    deliver(Channel.SMS)
    assert len(main.messages) == 2


def test_a_probe_that_cannot_be_marked_is_given_back(
    lineup: UseProviders, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    main, _ = lineup([DOWN] * 3, [])
    ask(3)
    deliver(Channel.SMS)
    deliver(Channel.SMS)
    age(6)
    ask()
    ref = Delivery.objects.order_by("-pk")[0].intent.account_ref
    _before_mark(monkeypatch, lambda: cancel_resets(account_ref=ref))
    deliver(Channel.SMS)
    ask()
    deliver(Channel.SMS)
    assert len(main.messages) == 4
    assert circuit().open_until is None


def _before_mark(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    acted = threading.Event()

    def acting(*args: Any, **kwargs: Any) -> Any:
        if not acted.is_set():
            acted.set()
            act()
        return mark(*args, **kwargs)

    monkeypatch.setattr("resetdelivery.delivery.mark", acting)


@pytest.mark.parametrize("failed_before", [False, True])
def test_a_healthy_wave_takes_no_circuits_lock_and_writes_none(
    lineup: UseProviders, ask: Ask, failed_before: bool
) -> None:
    lineup([], [])
    if failed_before:
        ProviderCircuit.objects.create(channel="sms", provider=MAIN)
    ask(2)
    with CaptureQueriesContext(connection) as captured:
        deliver(Channel.SMS)
    about = [q["sql"] for q in captured if "providercircuit" in q["sql"]]
    assert len(about) == 3  # at the claim, before the mark, at the settle
    assert all(sql.startswith("SELECT") and "UPDATE" not in sql for sql in about)


def test_a_provider_in_trouble_takes_as_many_statements_for_sixteen_rows_as_for_one(
    lineup: UseProviders, ask: Ask
) -> None:
    lineup([DOWN] * 40, [ACCEPTED] * 40, OUTAGE_THRESHOLD=100)
    ask()
    deliver(Channel.SMS)
    counts = []
    for number in (1, 16):
        Delivery.objects.all().delete()
        ask(number)
        with CaptureQueriesContext(connection) as captured:
            deliver(Channel.SMS, until=lambda: True)
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_opening_and_closing_are_told_to_on_call(
    lineup: UseProviders, ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    lineup([DOWN] * 3, [])
    ask(3)
    deliver(Channel.SMS)
    age(6)
    ask()
    deliver(Channel.SMS)
    lines = [record.msg for record in caplog.records if record.name == "resetdelivery.circuits"]
    events = [(line["event"], line["provider"], line["level"]) for line in lines if isinstance(line, dict)]
    assert events == [("provider_out", MAIN, "error"), ("provider_back", MAIN, "warning")]


class Switch:
    """A provider that is down until somebody switches it on."""

    name: ClassVar[str] = "switch"

    def __init__(self) -> None:
        self.up = False
        self.accepted = 0

    def submit(self, message: Message, deadline: Deadline) -> Outcome:
        self.accepted += self.up
        return ACCEPTED if self.up else Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.CONNECT_FAILED)

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("number", [1, 20])
@pytest.mark.parametrize("channel", list(Channel))
def test_an_outage_of_a_minute_costs_no_reset_with_the_settings_as_they_come(
    ask: Ask, channel: Channel, number: int
) -> None:
    provider = Switch()
    ask(number, channel=channel.value)
    for _ in range(60):
        _one_second(channel, provider)
    assert set(Delivery.objects.values_list("state", flat=True)) == {"pending"}
    assert Delivery.objects.order_by("-attempts")[0].attempts <= 2
    provider.up = True
    for _ in range(35):
        _one_second(channel, provider)
    assert set(Delivery.objects.values_list("state", flat=True)) == {"accepted"}
    assert provider.accepted == number


def _one_second(channel: Channel, provider: Switch) -> None:
    deliver(channel, fill_at_once=True, transport=provider)
    expire_overdue()
    age(1)


def test_what_is_on_record_is_sent_though_the_other_providers_share_could_not_be_marked(
    lineup: UseProviders, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    main, second = lineup([], [])
    ask(2)
    over = database_now(connection) - seconds(1)
    ProviderCircuit.objects.create(channel="sms", provider=MAIN, outages=3, open_until=over, opened_at=over)
    real, calls = mark, []

    def fail_once(*args: Any, **kwargs: Any) -> Any:
        calls.append(kwargs["transport"])
        if len(calls) == 2:
            raise RuntimeError("the connection is lost")
        return real(*args, **kwargs)

    monkeypatch.setattr("resetdelivery.delivery.mark", fail_once)
    deliver(Channel.SMS, fill_at_once=True)
    assert sorted(calls[:2]) == [MAIN, SECOND]
    assert not Attempt.objects.filter(outcome="").exists()
    assert len(main.messages) + len(second.messages) == Attempt.objects.count() >= 1
