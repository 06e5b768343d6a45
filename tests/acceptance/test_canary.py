"""Marked values go through real processes on every path, and every place that keeps something is searched.

``tests/integration/test_leaks.py`` and ``tests/threats/test_canaries.py`` make each single step fail;
here it is whole processes, with all that they print, send and store.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from resetdelivery.api_keys import create_client_key
from resetdelivery.domain.api_key import Scope
from resetdelivery.models import Attempt, AuditEntry, ResetIntent
from tests.acceptance.harness.canary import Sink, listed, not_looked_at, search
from tests.acceptance.harness.canary_faults import SPAN_FILE
from tests.acceptance.harness.canary_marks import links, marks
from tests.acceptance.harness.canary_scene import FAULTS, RECEIPTS, Scene
from tests.acceptance.harness.canary_sinks import Wire, database, logs, page
from tests.acceptance.harness.canary_texts import BOX, BRAND, PROVIDER_SECRET, SETTINGS, SUPPORT
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import all_finished
from tests.acceptance.harness.waiting import eventually
from tests.brokers import everything
from tests.integration.test_leaks import logged
from tests.sinks import pages

__all__ = ["logged"]

pytestmark = pytest.mark.acceptance

BEGUN = "The play begins."
#: An exception with its text, which no process's log may hold, whatever the text is.
TRACEBACK = b"Traceback (most recent call last)"
#: Flower's pages; the rest of it is read from its API.
FLOWER_PAGES = ("/", "/workers", "/tasks", "/broker", "/metrics")


@pytest.fixture
def spans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that spans of this process, too, are written to."""
    file = tmp_path / "spans.jsonl"
    monkeypatch.setenv(SPAN_FILE, str(file))
    return file


@pytest.fixture
def scene(stage: Stage, spans: Path, settings: Any) -> Scene:
    settings.RESETDELIVERY = {**settings.RESETDELIVERY, **SETTINGS}
    environment = {
        "DJANGO_SETTINGS_MODULE": "tests.acceptance.canary_settings",
        "LOG_FORMAT": "json",
        # As in production. A worker that is asked for its settings tells all of Django's.
        "WORKER_REMOTE_CONTROL": "off",
        "RECEIPTS_BASE_URL": RECEIPTS,
        "TWILIO_AUTH_TOKEN": PROVIDER_SECRET,
        "LIMITS_REDIS_URL": f"{stage.broker.url.removesuffix('/0')}/1",
        SPAN_FILE: str(spans),
    }
    return Scene(stage, environment, create_client_key(client="canary", scopes=tuple(Scope), who="t").text)


def play(scene: Scene) -> None:
    """Every path, one after the other."""
    logging.getLogger("tests.canary").warning(BEGUN)
    scene.begin()
    scene.ask_wrongly()
    scene.lose_a_worker()
    scene.deliver_outside()
    worker = scene.start_worker()
    scene.use_the_pages()
    scene.meet_every_fault()
    scene.call_the_api()
    scene.send_senseless_hints(worker)
    worker = scene.start_worker()
    eventually(all_finished, "every delivery finished")
    scene.use_links()
    scene.send_receipts()
    eventually(all_finished, "every notice finished")
    worker.end()
    scene.fail_loudly()
    scene.poll()


def clean_up(scene: Scene) -> None:
    """What an operator does: look at a reset, forget an account, purge, reckon."""
    first, last = ResetIntent.objects.order_by("pk")[0], ResetIntent.objects.latest("pk")
    scene.commands(
        ("explain", str(first.reference)),
        ("delivery_health", "--window", "15m"),
        # With every success traced, the traces of a large shop are over their ceiling.
        ("telemetry_budget", "--resets-per-day", "1000"),
        ("reconcile", "--window", "1h"),
        ("rollout", "compare"),
    )
    scene.commands(("forget_account", str(last.account_ref), "--no-input"))
    scene.commands(("purge", "--all"), ("retention_report",))


def flower(scene: Scene) -> Sink:
    """Flower's pages, and all that its API says."""
    base = f"http://127.0.0.1:{scene.ports['flower']}"
    paths = [*FLOWER_PAGES, "/api/tasks?limit=10000", "/api/workers?refresh=1", "/api/queues/length"]
    tasks = json.loads(page(f"{base}/api/tasks?limit=10000").partition(b"\n\n")[2] or b"{}")
    paths += [f"/task/{task}" for task in list(tasks)[:50]]
    content = b"\n".join(page(base + path) for path in paths)
    # Whoever sent them put the mark in; a task's arguments are shown.
    return Sink(
        name="Flower's pages and API",
        content=content,
        says="resetdelivery.deliver",
        allowed=frozenset({"hint"}),
    )


def told(scene: Scene, api_key: str) -> Iterator[Sink]:
    """What is served and answered."""
    internal = f"http://127.0.0.1:{scene.ports['internal']}/internal"
    metrics = page(f"{internal}/metrics", key=api_key)
    yield Sink(name="metrics page", content=metrics, says="resetdelivery_attempts_total")
    health = page(f"{internal}/delivery-health?window=15m", key=api_key)
    yield Sink(name="health page", content=health, says="verdict")
    answers = b"\n".join(scene.service.answers + scene.stranger.answers)
    yield Sink(name="answers of the internal API", content=answers, says="problems/")
    # A page for whoever holds the link says whose it is, for managers of passwords.
    of_shop = b"\n".join(scene.shop.answers)
    yield Sink(name="answers of the shop", content=of_shop, says="Check your messages", allowed=OF_HOLDERS)
    yield flower(scene)


OF_HOLDERS = frozenset({"name", "password"})


def kept(scene: Scene, spans: Path, asker: str, wire: Wire) -> Iterator[Sink]:
    """What is printed, sent and stored."""
    yield from logs(scene.stage.folder)
    yield Sink(name="log of the process that asks", content=asker.encode(), says=BEGUN)
    yield Sink(name="errors of asking", content=scene.caught.text().encode(), says="IdempotencyConflict")
    yield Sink(name="spans", content=spans.read_bytes(), says="submit")
    put_there = frozenset({"hint"})
    yield Sink(name="commands to Redis", content=wire.heard, says="resetdelivery:control", allowed=put_there)
    with redis.Redis.from_url(scene.stage.broker.url) as client:
        yield Sink(name="keys of the broker", content=everything(client), says="_kombu", allowed=put_there)
    with redis.Redis.from_url(scene.environment["LIMITS_REDIS_URL"]) as client:
        yield Sink(name="keys of the limits", content=everything(client), says="resetdelivery:limits")
    yield Sink(
        name="admin pages", content=pages().encode(), says=str(ResetIntent.objects.latest("pk").reference)
    )


def test_marked_values_turn_up_nowhere(
    scene: Scene, spans: Path, logged: Callable[[], str], capsys: pytest.CaptureFixture[str]
) -> None:
    api_key = scene.api_key
    with Wire(scene.stage.broker.url) as wire:
        play(scene)
        eventually(lambda: not untraced(), "every trace exported")
        before = [database("before anything is forgotten"), *told(scene, api_key)]
        clean_up(scene)
        scene.stage.clear()
        sinks = [*before, database("after a purge"), *kept(scene, spans, logged(), wire)]
    assert_the_marks_went_through(scene)
    planted = list(
        marks(accounts=scene.accounts, submissions=scene.stage.provider.store.list(), api_key=api_key)
    )
    with capsys.disabled():
        print(f"\n{len(planted)} marks in {len(sinks)} sinks:\n{listed(sinks)}")  # noqa: T201
    assert not_looked_at(sinks) == []
    assert [one.name for one in sinks if one.name.startswith("log of") and TRACEBACK in one.content] == []
    found = search(planted, sinks)
    assert not found, "\n".join(map(str, found))


def untraced() -> bool:
    return ResetIntent.objects.filter(state="closed", traced_at=None).exclude(traceparent="").exists()


def assert_the_marks_went_through(scene: Scene) -> None:
    """The provider got them and said its own; every fault was met; each kind of end was reached."""
    submissions = scene.stage.provider.store.list()
    bodies = b"\n".join(one.body for one in submissions)
    assert any(BOX in one.recipient for one in submissions)
    assert BRAND.encode() in bodies
    assert SUPPORT.encode() in bodies
    assert len(links(submissions)) >= 8
    seen = set(Attempt.objects.values_list("outcome", flat=True))
    assert seen == {"accepted", "transient", "permanent", "ambiguous", "misconfigured"}
    assert not any(scene.stage.provider.faults.take(f.channel, f.phase or "dot") for f in FAULTS.values())
    assert set(ResetIntent.objects.values_list("kind", flat=True)) == {"reset", "security_notice"}
    assert AuditEntry.objects.filter(action__contains="forg").exists()
