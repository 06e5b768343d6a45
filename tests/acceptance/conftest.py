from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kombu import pools
from pytest_django import DjangoDbBlocker, Settings

from notifications.channels import Channel
from notifications.testing.provider import FakeProvider
from resetdelivery.transports import get_transport
from tests.acceptance.harness.configuration import reset_delivery
from tests.acceptance.harness.redis_broker import RedisBroker
from tests.acceptance.harness.stage import Stage

MakeAccounts = Callable[[int], list[str]]


@pytest.fixture(scope="session")
def redis_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisBroker]:
    """A Redis of this run's own."""
    running = RedisBroker(tmp_path_factory.mktemp("redis"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeProvider]:
    """The mail server and SMS gateway that every process submits to."""
    with FakeProvider(store=tmp_path_factory.mktemp("provider") / "store.sqlite3") as running:
        yield running


@pytest.fixture
def configure(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    transactional_db: None,
    redis_broker: RedisBroker,
    provider: FakeProvider,
) -> Iterator[Callable[[str], None]]:
    """Set this process up for one way of dispatching; nothing is left over from other tests."""
    provider.faults.clear()
    provider.store.clear()
    redis_broker.start_again()
    redis_broker.flush()
    monkeypatch.setenv("CELERY_BROKER_URL", redis_broker.url)

    def use(dispatch: str) -> None:
        settings.RESETDELIVERY = reset_delivery(
            dispatch=dispatch, smtp_port=provider.smtp_port, http_url=provider.http_url
        )

    use("broker")
    yield use
    for channel in Channel:
        get_transport(channel).close()
    provider.faults.clear()
    pools.reset()


@pytest.fixture
def stage(
    configure: object, redis_broker: RedisBroker, provider: FakeProvider, tmp_path: Path
) -> Iterator[Stage]:
    """The scene of one test: hints go over Redis, and no worker runs yet."""
    scene = Stage(folder=tmp_path, broker=redis_broker, provider=provider)
    yield scene
    redis_broker.thaw()
    scene.clear()


@pytest.fixture(scope="module")
def lasting_stage(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    redis_broker: RedisBroker,
    provider: FakeProvider,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stage]:
    """A scene whose processes serve every test of a module; use it together with ``configure``."""
    scene = Stage(folder=tmp_path_factory.mktemp("stage"), broker=redis_broker, provider=provider)
    yield scene
    scene.clear()


@pytest.fixture
def make_accounts(transactional_db: None, make_account: Callable[..., Any]) -> MakeAccounts:
    """References of that many new accounts."""
    return lambda number: [str(make_account().pk) for _ in range(number)]
