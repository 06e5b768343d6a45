from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis

from examples.demo.embedded import start_redis
from tests.hosts.host import run_host


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a host's process printed, and what then stood in its Redis: lists by name."""

    options: dict[str, list[object]]
    rows: list[list[Any]]
    queues: dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A host with a Celery app of its own asked for one reset on both channels."""
    folder: Path = tmp_path_factory.mktemp("own_celery")
    with start_redis(folder, environ={}) as server, redis.Redis.from_url(server.url) as client:
        arguments = ("-m", "tests.hosts.own_celery.ask")
        done = run_host("own_celery.settings", *arguments, folder=folder, HOST_BROKER=server.url)
        assert done.returncode == 0, done.stderr
        yield Asked(**json.loads(done.stdout.splitlines()[-1]), queues=lists(client))


def lists(client: Any) -> dict[str, list[dict[str, Any]]]:
    """Every list in Redis, each entry as JSON."""
    names = sorted(name.decode() for name in client.keys("*") if client.type(name) == b"list")
    return {name: [json.loads(entry) for entry in client.lrange(name, 0, -1)] for name in names}


def test_hints_go_to_the_channels_queues_and_not_to_the_hosts_own(asked: Asked) -> None:
    assert {name: len(messages) for name, messages in asked.queues.items()} == {"email": 1, "sms": 1}


def test_an_eager_host_still_leaves_the_sending_to_workers(asked: Asked) -> None:
    assert [state for _, _, state in asked.rows] == ["pending", "pending"]


def test_a_hint_is_json_and_holds_a_channel_and_row_ids_only(asked: Asked) -> None:
    for channel, pk, _ in asked.rows:
        (message,) = asked.queues[channel]
        assert message["content-type"] == "application/json"
        args, kwargs, _ = json.loads(base64.b64decode(message["body"]))
        assert (message["headers"]["task"], args, kwargs) == ("resetdelivery.deliver", [channel, [pk]], {})


def test_nothing_personal_is_in_the_broker(asked: Asked) -> None:
    bodies = [base64.b64decode(m["body"]).decode() for ms in asked.queues.values() for m in ms]
    assert len(bodies) == 2
    assert "planted" not in json.dumps(asked.queues) + "".join(bodies)


def test_our_tasks_keep_their_own_options(asked: Asked) -> None:
    """Acknowledged early, not requeued, without results, as JSON, not tracked, never retried."""
    clean_up = ("check_conversion", "expire_overdue", "export_traces", "purge", "roll_up")
    names = ("deliver", "sweep", "wake_due", *clean_up)
    ours = [False, False, True, "json", False, 0]
    assert asked.options == {f"resetdelivery.{name}": ours for name in names}
