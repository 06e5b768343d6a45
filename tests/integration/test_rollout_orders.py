"""Random orders of everything that a cut-over can meet: who may send is looked at after each step."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db.models import Max

from notifications.channels import Channel
from notifications.deadline import Deadline
from notifications.message import Message
from notifications.outcome import Outcome
from notifications.testing import ScriptedTransport
from resetdelivery import fallback
from resetdelivery.claims import mark, release
from resetdelivery.cutover.steps import change, pause, resume
from resetdelivery.delivery import deliver, pass_gate
from resetdelivery.domain.states import OPEN_STATES
from resetdelivery.models import Attempt, AuditEntry, ChannelControl, Delivery, LimitUse, ResetIntent
from resetdelivery.recovery import expire_overdue, sweep
from resetdelivery.retention import purge
from resetdelivery.telemetry.rollup import roll_up
from tests.moved_clock import Clock, moved_clock
from tests.rollout_run import FAMILY, Run, ask, ask_the_same, repeat_a_request, withdraw
from tests.senders import SECRET, no_authority_changes, number_of
from tests.steps import ACCEPTED, BUSY, CUT, REFUSED, answer, seconds, take

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]

STEPS_PER_RUN = 60
SEEDS = range(24)
OUTCOMES = [ACCEPTED, ACCEPTED, CUT, BUSY, REFUSED]
#: docs/security.md: a key is added at the end, then moved to the front.
KEYS = [("t1",), ("t1", "t2"), ("t2", "t1")]
SECRETS = {"t1": SECRET, "t2": "the next pseudonym key"}


class Provider(ScriptedTransport):
    """Answers as it is drawn; while a message is on its way an operator may do something."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run

    def submit(self, message: Message, deadline: Deadline) -> Outcome:
        super().submit(message, deadline)
        if self._run.draw.random() < 0.2:
            self._run.draw.choice([move, stop])(self._run)
        return self._run.draw.choice(OUTCOMES)


# Operators.


def move(run: Run) -> None:
    channel = run.channel()
    stand = run.ledger.stands[channel]
    stand.mode = run.draw.choice(["legacy", "shadow", "live", "live", "live", "live"])
    edges = [number_of(*run.family), number_of(run.others[0])]
    sizes = [50, 500, 1000, 1000, 1000, *edges, *(edge + 1 for edge in edges)]
    stand.size = max(run.draw.choice(sizes), 1) if stand.mode == "live" else 1000
    change(channel, mode=stand.mode, slice_per_mille=stand.size, who="anna", why="as drawn", override=True)


def stop(run: Run) -> None:
    channels = run.draw.choice([[Channel.EMAIL], [Channel.SMS], list(Channel)])
    pause(channels, who="anna", why="as drawn")
    newest = Attempt.objects.aggregate(newest=Max("pk"))["newest"] or 0
    for channel in channels:
        stand = run.ledger.stands[channel]
        stand.paused_after = newest if stand.paused_after is None else stand.paused_after


def go_on(run: Run) -> None:
    resume(list(Channel), who="anna")
    for stand in run.ledger.stands.values():
        stand.paused_after = None


def change_keys(run: Run) -> None:
    run.keys = min(run.keys + 1, len(KEYS) - 1)
    keys = {name: SECRETS[name] for name in KEYS[run.keys]}
    run.settings.RESETDELIVERY = {**run.settings.RESETDELIVERY, "PSEUDONYM_KEYS": keys}


# Workers, which may die between any two of these.


def claim_some(run: Run) -> None:
    run.leased += take(run.channel(), limit=run.draw.choice([1, 50]))


def mark_some(run: Run) -> None:
    held, run.leased = run.leased, []
    for one in held:
        ready = pass_gate([one], using="default")
        if run.draw.random() < 0.4:
            run.draw.choice([move, stop, doze, doze])(run)
        run.marked += mark(
            ready,
            send_budget_seconds=15,
            lease_margin_seconds=5,
            transport="scripted",
            worker="worker:1",
            using="default",
        )


def doze(run: Run) -> None:
    """Less long than a lease, and as long as the shortest reset lives."""
    run.clock.pass_by(seconds(26))


def settle_some(run: Run) -> None:
    marked, run.marked = run.marked, []
    for one in marked:
        answer([one], run.draw.choice(OUTCOMES))


def die(run: Run) -> None:
    run.leased, run.marked = [], []


def give_back(run: Run) -> None:
    release(run.leased, using="default")
    run.leased = []


def deliver_all(run: Run) -> None:
    deliver(run.channel(), fill_at_once=True, transport=run.provider)


# The clock.


def let_time_pass(run: Run) -> None:
    run.clock.pass_by(seconds(run.draw.choice([0.5, 5, 25, 61])))


def let_much_time_pass(run: Run) -> None:
    if run.draw.random() < 0.3:
        run.clock.pass_by(seconds(1300))


def clean_up(run: Run) -> None:
    roll_up()
    run.ledger.met["purged"] += sum(purge().rows.values())


STEPS: list[Callable[[Run], object]] = [
    *(ask, ask, ask, ask_the_same, ask_the_same, repeat_a_request, withdraw),
    *(move, move, stop, go_on, go_on, go_on, change_keys),
    *(claim_some, claim_some, claim_some, mark_some, mark_some, mark_some, settle_some, settle_some),
    *(deliver_all, deliver_all, deliver_all, die, give_back),
    *(let_time_pass, let_much_time_pass, clean_up),
    *(lambda run: sweep(), lambda run: expire_overdue(), lambda run: fallback.arm_due()),
]


def live_through(run: Run) -> None:
    run.provider = Provider(run)
    for _ in range(STEPS_PER_RUN):
        run.draw.choice(STEPS)(run)
        run.ledger.look(run.provider.messages)
    die(run)
    for _ in range(3):
        sweep()
        run.clock.pass_by(seconds(650))
    sweep()
    expire_overdue()
    run.ledger.look(run.provider.messages)
    run.ledger.close()
    assert not Delivery.objects.filter(state__in=OPEN_STATES).exists()
    assert not ResetIntent.objects.filter(state="open").exists()


@pytest.fixture
def family(make_account: Callable[..., Any]) -> list[Any]:
    return [make_account(id=900_000 + n, email=FAMILY) for n in (1, 2, 3)]


@pytest.fixture
def _kept_authorities(db: None) -> Iterator[None]:
    with no_authority_changes():
        yield


@pytest.mark.usefixtures("_kept_authorities")
def test_no_order_of_steps_gives_a_reset_two_senders_or_none(
    family: list[Any], make_account: Callable[..., Any], settings: Any, moved_clock: Clock
) -> None:
    refs = [str(one.pk) for one in family]
    others = [str(make_account(id=900_010).pk)]
    met: Counter[str] = Counter()
    for seed in SEEDS:
        start_anew(settings, limit=3 if seed % 3 == 0 else 1000)
        run = Run(draw=random.Random(seed), clock=moved_clock, settings=settings, family=refs, others=others)
        try:
            live_through(run)
        except BaseException as error:
            error.add_note(f"Seed {seed}.")
            raise
        met += run.ledger.met
    # The orders reached what they are about.
    assert {name for name in REACHED if not met[name]} == set()


REACHED = [
    *("told", "family told", "joined", "replayed", "limited", "marked", "purged"),
    *("pipeline accepted", "pipeline submitting", "pipeline expired", "pipeline failed", "pipeline waiting"),
    *("shadow shadowed", "shadow waiting", "shadow leased", "shadow expired", "legacy withheld"),
    *("legacy leased", "legacy cancelled", "shadow cancelled", "pipeline cancelled"),
]


def start_anew(settings: Any, *, limit: int) -> None:
    for model in (ResetIntent, ChannelControl, LimitUse, AuditEntry):
        model._default_manager.all().delete()
    keeps = ("KEEP_DECOYS", "KEEP_IDEMPOTENCY_KEYS", "KEEP_INTENTS", "KEEP_ATTEMPTS")
    settings.RESETDELIVERY = {
        **settings.RESETDELIVERY,
        "PSEUDONYM_KEYS": {"t1": SECRET},
        "ACCOUNT_PER_HOUR": limit,
        **dict.fromkeys(keeps, seconds(1200)),
    }
