"""Marked values go through real processes while another sender sends: nothing leaves, and nothing stays.

The places that are searched are those of ``test_canary.py``. What would have been sent is marked as
well: its links are made here once more.
"""

from __future__ import annotations

import json
import logging
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from resetdelivery.directory import get_directory
from resetdelivery.models import Attempt, ChannelControl, Delivery, ResetIntent
from tests.acceptance.harness.canary import Mark, Sink, listed, not_looked_at, search
from tests.acceptance.harness.canary_marks import marks
from tests.acceptance.harness.canary_scene import INTENTS, WORK, Scene
from tests.acceptance.harness.canary_sinks import SAID, Wire, database, logs, page
from tests.acceptance.harness.canary_texts import BODY
from tests.acceptance.harness.crash_points import CrashPoint
from tests.acceptance.harness.ticks import all_finished
from tests.acceptance.harness.waiting import eventually
from tests.acceptance.test_canary import BEGUN, FLOWER_PAGES, OF_HOLDERS, TRACEBACK, scene, spans, untraced
from tests.brokers import everything
from tests.integration.test_leaks import logged
from tests.rolled import pass_minutes
from tests.sinks import pages

__all__ = ["logged", "scene", "spans"]

pytestmark = pytest.mark.acceptance

#: Programs of the play, and what each says.
PROGRAMS = {name: said for name, said in SAID.items() if name not in {"forget_account", "retention_report"}}
LOUD = "tests.acceptance.harness.loud_directory.LoudDirectory"


def play(scene: Scene) -> None:
    """Every way that a shadow can go."""
    logging.getLogger("tests.canary").warning(BEGUN)
    for channel in ("email", "sms"):
        ChannelControl.objects.update_or_create(channel=channel, defaults={"mode": "shadow"})
    scene.begin()
    lose_a_worker(scene)
    try_outside(scene)
    worker = scene.start_worker()
    scene.use_the_pages()
    for channels in (("email",), ("sms",), ("email", "sms")):
        scene.ask(*channels)
    scene.ask("email", "sms", strategy="fallback")
    scene.call_the_api()
    eventually(all_finished, "every shadow finished")
    report(scene)
    worker.end()
    fail_loudly(scene)
    poller = scene.stage.poller(**{**scene.environment, "LOG_FORMAT": "console"})
    scene.ask("email", "sms")
    eventually(all_finished, "every shadow finished, by the poller")
    # A shadow has no attempt of which a line could be written.
    poller.end()


def lose_a_worker(scene: Scene) -> None:
    """Kill one that holds a shadow; the sweep takes it back."""
    points = scene.stage.armed(CrashPoint.CLAIMED)
    victim = scene.stage.worker("email", points=points, **scene.environment)
    scene.ask("email")
    points.wait_for(CrashPoint.CLAIMED)
    victim.kill()


def try_outside(scene: Scene) -> None:
    """A worker outside may hold a shadow, and gets no message of it."""
    eventually(lambda: scene.service.answers_at("/internal/delivery-health"), "the internal API")
    scene.ask("email")
    bounds = {"worker_id": "w1", "limit": 10, "lease_seconds": 20, "channel": "email"}
    status, claimed = scene.service.send(f"{WORK}/claim", bounds)
    deliveries = json.loads(claimed)["deliveries"]
    assert status == 200
    assert deliveries
    for one in deliveries:
        held = {"lease_token": one["lease_token"]}
        assert scene.service.send(f"{WORK}/{one['reference']}/message", held)[0] == 409


def report(scene: Scene) -> None:
    """What the other sender made of them, and what it cannot say."""
    asked = ResetIntent.objects.filter(
        idempotency_keys__client="canary", deliveries__channel="email"
    ).distinct()
    assert asked
    for intent in asked:
        place = f"{INTENTS}/{intent.reference}/legacy-outcome"
        assert scene.service.send(place, {"channel": "email", "outcome": "accepted"})[0] == 200
        assert scene.service.send(place, {"channel": "email", "outcome": "failed"})[0] == 409
        assert scene.service.send(place, {"channel": "email", "outcome": BODY})[0] == 422
        assert scene.service.send(place, {"channel": BODY, BODY: BODY})[0] == 422


def fail_loudly(scene: Scene) -> None:
    """An account system that raises, with all that it knows in the text."""
    worker = scene.start_worker(DIRECTORY=LOUD)
    scene.ask("email")
    worker.wait_until_log_says("LookupError")
    worker.end()


def would_be_links() -> Iterator[Mark]:
    """The links that a live channel would have sent, in both parts."""
    directory = get_directory()
    rows = Delivery.objects.select_related("intent")
    accounts = directory.get_many({row.intent.account_ref for row in rows})
    for row in rows:
        account = accounts.get(row.intent.account_ref)
        if account is not None and account.usable:
            link = urllib.parse.urlsplit(directory.make_link(account, row.expires_at))
            _, uid, token = link.path.strip("/").split("/")
            yield Mark(name="account in a link", value=uid)
            yield Mark(name="token", value=token)


def told(scene: Scene) -> Iterator[Sink]:
    """What is served and answered."""
    internal = f"http://127.0.0.1:{scene.ports['internal']}/internal"
    for name, says in (("metrics", "resetdelivery_shadow_finished_total"), ("delivery-health", "verdict")):
        yield Sink(name=name, content=page(f"{internal}/{name}", key=scene.api_key), says=says)
    answers = b"\n".join(scene.service.answers + scene.stranger.answers)
    yield Sink(name="answers of the internal API", content=answers, says="not-sendable")
    of_shop = b"\n".join(scene.shop.answers)
    yield Sink(name="answers of the shop", content=of_shop, says="Check your messages", allowed=OF_HOLDERS)
    flower = f"http://127.0.0.1:{scene.ports['flower']}"
    content = b"\n".join(page(flower + path) for path in (*FLOWER_PAGES, "/api/tasks?limit=10000"))
    yield Sink(name="Flower", content=content, says="resetdelivery.deliver")


def kept(scene: Scene, spans: Path, asker: str, wire: Wire) -> Iterator[Sink]:
    """What is printed, sent and stored."""
    yield from logs(scene.stage.folder, {**PROGRAMS, "poller": "polling"})
    yield Sink(name="log of the process that asks", content=asker.encode(), says=BEGUN)
    yield Sink(name="spans", content=spans.read_bytes(), says="admit")
    yield Sink(name="commands to Redis", content=wire.heard, says="resetdelivery:control")
    with redis.Redis.from_url(scene.stage.broker.url) as client:
        yield Sink(name="keys of the broker", content=everything(client), says="_kombu")
    with redis.Redis.from_url(scene.environment["LIMITS_REDIS_URL"]) as client:
        limits = everything(client)
    assert b"sms" not in limits, "a shadow counted for the limits of text messages"
    yield Sink(name="keys of the limits", content=limits, says="resetdelivery:limits")
    yield Sink(name="admin pages", content=pages().encode(), says="shadowed")


def test_of_what_another_sender_sends_nothing_turns_up_anywhere(
    scene: Scene, spans: Path, logged: Callable[[], str], capsys: pytest.CaptureFixture[str]
) -> None:
    with Wire(scene.stage.broker.url) as wire:
        play(scene)
        eventually(lambda: not untraced(), "every trace exported")
        planted = [
            *marks(accounts=scene.accounts, submissions=[], api_key=scene.api_key),
            *would_be_links(),
        ]
        first = ResetIntent.objects.order_by("pk")[0]
        scene.commands(
            ("explain", str(first.reference)),
            ("delivery_health", "--window", "15m"),
            ("telemetry_budget", "--resets-per-day", "1000"),
            ("reconcile", "--window", "1h"),
            ("rollout", "compare"),
        )
        sinks = [database("before a purge"), *told(scene)]
        scene.stage.clear()
        pass_minutes(70)
        scene.commands(("purge",))
        sinks += [database("after a purge"), *kept(scene, spans, logged(), wire)]
    assert_all_went_as_shadows(scene)
    with capsys.disabled():
        print(f"\n{len(planted)} marks in {len(sinks)} sinks:\n{listed(sinks)}")  # noqa: T201
    assert not_looked_at(sinks) == []
    assert [one.name for one in sinks if one.name.startswith("log of") and TRACEBACK in one.content] == []
    found = search(planted, sinks)
    assert not found, "\n".join(map(str, found))


def assert_all_went_as_shadows(scene: Scene) -> None:
    """Nobody was asked to send anything; there is no attempt, and by now no account either."""
    assert scene.stage.provider.store.list() == []
    assert not Attempt.objects.exists()
    assert set(Delivery.objects.values_list("authority", flat=True)) == {"shadow"}
    states = dict.fromkeys(Delivery.objects.values_list("state", "channel"))
    assert {("shadowed", "email"), ("shadowed", "sms"), ("cancelled", "email")} <= set(states)
    assert set(
        Delivery.objects.filter(state="shadowed", channel="sms").values_list("segments_bucket", flat=True)
    ) == {"2"}
    assert Delivery.objects.filter(legacy_outcome="accepted").exists()
    refs = set(ResetIntent.objects.values_list("account_ref", flat=True))
    assert {ref for ref in refs if not ref.startswith("~")} == {""}
