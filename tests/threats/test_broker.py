"""Somebody else writes to the broker: what is no JSON is never opened, what is no row is nobody's reset."""

from __future__ import annotations

import base64
import json
import pickle
import uuid
from pathlib import Path
from typing import Any

import pytest

from resetdelivery.dispatch import DELIVER_TASK
from resetdelivery.models import Delivery
from resetdelivery.services import request_reset
from tests.acceptance.conftest import MakeAccounts
from tests.acceptance.harness.invariants import assert_invariants
from tests.acceptance.harness.stage import Stage
from tests.acceptance.harness.ticks import tick_until_finished
from tests.acceptance.harness.waiting import eventually

pytestmark = pytest.mark.acceptance

PICKLE, YAML = "application/x-python-serialize", "application/x-yaml"


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._file,)


def message(real: bytes, *, body: bytes, content_type: str, encoding: str = "binary") -> bytes:
    """A real hint with another body, which says of itself what it is."""
    envelope = json.loads(real)
    envelope.update(
        {"body": base64.b64encode(body).decode(), "content-type": content_type, "content-encoding": encoding}
    )
    envelope["headers"]["id"] = envelope["properties"]["correlation_id"] = str(uuid.uuid4())
    return json.dumps(envelope).encode()


def forged_task(real: bytes, name: str) -> bytes:
    """A real hint that asks for another task."""
    envelope = json.loads(real)
    envelope["headers"]["task"] = name
    return json.dumps(envelope).encode()


def a_real_hint(stage: Stage, account: str) -> bytes:
    request_reset(account_ref=account, channels=["email"])
    (real,) = stage.broker.messages("email")
    return real


def test_a_bomb_goes_off_where_it_is_unpickled(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Bomb(tmp_path / "went-off")))
    assert (tmp_path / "went-off").exists()


def test_a_pickled_message_is_refused_unopened_and_the_worker_goes_on(
    stage: Stage, make_accounts: MakeAccounts, tmp_path: Path
) -> None:
    first, second = make_accounts(2)
    real = a_real_hint(stage, first)
    bomb = pickle.dumps((("email", [1]), {"bomb": Bomb(tmp_path / "went-off")}, {}))
    yaml = f"!!python/object/apply:pathlib.Path.touch [{tmp_path / 'went-off'}]".encode()
    stage.broker.put(
        "email",
        message(real, body=bomb, content_type=PICKLE),
        message(real, body=yaml, content_type=YAML, encoding="utf-8"),
    )
    worker = stage.worker()
    eventually(lambda: not stage.broker.messages("email"), "every message read")
    request_reset(account_ref=second, channels=["email"])
    tick_until_finished()
    assert worker.is_alive
    assert worker.has_logged("ContentDisallowed")
    assert not (tmp_path / "went-off").exists()
    assert stage.provider.store.count("email") == 2
    assert_invariants(stage.provider.store.list())


@pytest.mark.parametrize("name", ["os.system", "resetdelivery.delivery.deliver", f"{DELIVER_TASK}_all", ""])
def test_a_message_for_a_task_that_is_none_of_ours_runs_nothing(
    stage: Stage, make_accounts: MakeAccounts, name: str
) -> None:
    first, second = make_accounts(2)
    real = a_real_hint(stage, first)
    stage.broker.flush()
    stage.broker.put("email", forged_task(real, name))
    worker = stage.worker()
    eventually(lambda: not stage.broker.messages("email"), "the message read")
    eventually(lambda: worker.has_logged("unregistered task"), "the message refused")
    request_reset(account_ref=second, channels=["email"])
    tick_until_finished()
    assert worker.is_alive
    assert set(Delivery.objects.values_list("state", flat=True)) == {"accepted"}
    assert_invariants(stage.provider.store.list())
