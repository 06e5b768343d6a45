"""``rediss://`` with this project's settings: the CA and the name count, or nothing is said at all."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from celery import Celery

from resetdelivery.models import Delivery
from resetdelivery.services import request_reset
from tests.acceptance.conftest import MakeAccounts
from tests.acceptance.harness.processes import ROOT
from tests.acceptance.harness.redis_broker import RedisBroker
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import tick_until
from tests.acceptance.harness.tls_door import Signer, TlsDoor

pytestmark = pytest.mark.acceptance

HOST = "127.0.0.1"
OpenDoor = Callable[[Path], TlsDoor]


@pytest.fixture
def ours(tmp_path: Path) -> Signer:
    """The CA that the settings name."""
    return Signer.new(tmp_path / "ours.pem")


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """A certificate of the right name that somebody else signed."""
    folder = tmp_path / "stranger"
    folder.mkdir()
    return Signer.new(folder / "theirs.pem").issue(folder, HOST)


@pytest.fixture
def open_door(redis_broker: RedisBroker) -> Iterator[OpenDoor]:
    doors: list[TlsDoor] = []

    def open_one(certificate: Path) -> TlsDoor:
        doors.append(TlsDoor(certificate, redis_broker.port))
        return doors[-1]

    redis_broker.start_again()
    yield open_one
    for door in doors:
        door.__exit__()


def through(door: TlsDoor, redis_broker: RedisBroker) -> str:
    """The broker's address behind ``door``, with its password."""
    parts = urlsplit(redis_broker.url)
    return parts._replace(scheme="rediss", netloc=f":{parts.password}@{HOST}:{door.port}").geturl()


def probe(url: str, ca_file: Path, *, server: str = "broker") -> str:
    """Whether a process with this project's settings gets an answer; ``server`` may be ``limits`` as well."""
    inherited = {key: value for key, value in os.environ.items() if key != "CELERY_BROKER_URL"}
    setting = {"broker": "REDIS_URL", "limits": "LIMITS_REDIS_URL"}[server]
    done = subprocess.run(
        [sys.executable, "-m", f"tests.acceptance.harness.{server}_probe"],
        env={
            **inherited,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            setting: url,
            "REDIS_CA_FILE": str(ca_file),
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    password = urlsplit(url).password
    assert password
    assert password not in done.stdout + done.stderr
    return done.stdout


def test_a_broker_that_our_ca_signed_is_spoken_to(
    ours: Signer, open_door: OpenDoor, redis_broker: RedisBroker, tmp_path: Path
) -> None:
    door = open_door(ours.issue(tmp_path, HOST))
    assert probe(through(door, redis_broker), ours.file) == "answered"
    assert door.received > 0


def test_a_broker_that_somebody_else_signed_is_told_nothing(
    ours: Signer, stranger: Path, open_door: OpenDoor, redis_broker: RedisBroker
) -> None:
    door = open_door(stranger)
    assert probe(through(door, redis_broker), ours.file) == "unavailable"
    assert door.received == 0


def test_a_broker_of_another_name_is_told_nothing(
    ours: Signer, open_door: OpenDoor, redis_broker: RedisBroker, tmp_path: Path
) -> None:
    door = open_door(ours.issue(tmp_path, "another.internal"))
    assert probe(through(door, redis_broker), ours.file) == "unavailable"
    assert door.received == 0


def test_of_itself_kombu_would_speak_to_anybody(
    stranger: Path, open_door: OpenDoor, redis_broker: RedisBroker
) -> None:
    """Why the settings and check E065 are there; once this fails, kombu has mended it."""
    door = open_door(stranger)
    url = through(door, redis_broker)
    with (
        # Not this process's current app from now on, by which later tests would publish.
        Celery("bare", broker=url, set_as_current=False) as app,
        app.connection_for_write(connect_timeout=5) as connection,
    ):
        assert connection.ssl == {"ssl_cert_reqs": ssl.CERT_NONE}
        connection.ensure_connection(max_retries=1)
    assert door.received > 0


def test_a_worker_delivers_over_tls(
    stage: Stage,
    ours: Signer,
    open_door: OpenDoor,
    redis_broker: RedisBroker,
    make_accounts: MakeAccounts,
    tmp_path: Path,
) -> None:
    door = open_door(ours.issue(tmp_path, HOST))
    url = through(door, redis_broker)
    stage.worker(REDIS_URL=url, CELERY_BROKER_URL=url, REDIS_CA_FILE=str(ours.file))
    before = door.received
    (ref,) = make_accounts(1)
    request_reset(account_ref=ref, channels=["email"])
    tick_until(lambda: Delivery.objects.get().state == "accepted", "the delivery accepted")
    assert door.received > before


def test_the_limits_are_asked_where_our_ca_signed(
    ours: Signer, open_door: OpenDoor, redis_broker: RedisBroker, tmp_path: Path
) -> None:
    door = open_door(ours.issue(tmp_path, HOST))
    assert probe(through(door, redis_broker), ours.file, server="limits") == "answered"
    assert door.received > 0


@pytest.mark.parametrize("name", ["a stranger's", "another name's"])
def test_the_limits_are_told_to_nobody_else(
    ours: Signer,
    stranger: Path,
    open_door: OpenDoor,
    redis_broker: RedisBroker,
    tmp_path: Path,
    name: str,
) -> None:
    door = open_door(stranger if name == "a stranger's" else ours.issue(tmp_path, "another.internal"))
    assert probe(through(door, redis_broker), ours.file, server="limits") == "unavailable"
    assert door.received == 0
