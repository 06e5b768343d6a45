"""Marked values are planted, every step is made to fail, and every sink is searched for them."""

from __future__ import annotations

import io
import logging
import logging.config
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from celery import current_app
from django.contrib.auth import get_user_model
from django.db import DatabaseError, IntegrityError

from notifications.channels import Channel
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.testing import ScriptedTransport
from resetdelivery import tasks
from resetdelivery.directory import DjangoUserDirectory, get_directory
from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.services import request_reset
from tests.brokers import everything
from tests.conftest import UseTransport, age
from tests.sinks import Caught, formatters, pages, stored

pytestmark = pytest.mark.django_db(transaction=True)

REF = "2718281828459"
ADDRESS = "marked.buyer.1618@shop.example"
PHONE = "+4915199918181"
KEY = "marked-idempotency-key-3141"
PROVIDER_TEXT = "marked provider text 5772"


class Planted(Exception):
    """An error whose text holds everything that must not get out."""


@pytest.fixture
def buyer(transactional_db: None) -> Any:
    return get_user_model().objects.create_user(
        "marked.name.1414", pk=int(REF), email=ADDRESS, phone=PHONE, password="a marked password 1732"
    )


@pytest.fixture
def secrets(buyer: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What must be found nowhere: all links that were made are among it, and those that could be."""
    links: list[str] = []
    plain = DjangoUserDirectory.make_link

    def make_link(self: DjangoUserDirectory, *args: Any) -> str:
        links.append(plain(self, *args))
        return links[-1]

    monkeypatch.setattr(DjangoUserDirectory, "make_link", make_link)

    def all_of_them() -> list[str]:
        directory = get_directory()
        person = directory.get_many([REF])[REF]
        links.extend(directory.make_link(person, d.expires_at) for d in Delivery.objects.all())
        tokens = {link.rstrip("/").rpartition("/")[2] for link in links}
        local_part, digits = ADDRESS.partition("@")[0], PHONE.removeprefix("+49")
        return [REF, local_part, digits, KEY, PROVIDER_TEXT, buyer.password, buyer.username, *tokens]

    return all_of_them


# The sinks.


@pytest.fixture
def logged() -> Iterator[Callable[[], str]]:
    """Everything that was logged, in this project's two forms and as it was given."""
    streams, root = [], logging.getLogger()
    handlers = []
    for formatter in formatters():
        streams.append(io.StringIO())
        handler = logging.StreamHandler(streams[-1])
        handler.setFormatter(formatter)
        handlers.append(handler)
        root.addHandler(handler)
    yield lambda: "\n".join(stream.getvalue() for stream in streams)
    for handler in handlers:
        root.removeHandler(handler)


# The run.


def request(caught: Caught) -> None:
    try:
        request_reset(submitted=ADDRESS, channels=["email", "sms"], idempotency_key=KEY)
    except Exception as error:
        caught.add(error)


def work(caught: Caught) -> None:
    """Each task once, as a worker runs it."""
    runs: list[tuple[Any, list[Any]]] = [
        (tasks.deliver, ["email", []]),
        (tasks.deliver, ["sms", []]),
        (tasks.wake_due, []),
        (tasks.sweep, []),
        (tasks.expire_overdue, []),
    ]
    for task, arguments in runs:
        result = task.apply(args=arguments, throw=False)
        if result.failed():
            caught.add(result.result)
            caught.texts.append(str(result.traceback))


def fail(kind: type[Exception]) -> Callable[..., Any]:
    def raise_it(*_: Any, **__: Any) -> Any:
        person = get_user_model().objects.get(pk=int(REF))
        words = (REF, ADDRESS, PHONE, KEY, PROVIDER_TEXT, person.password, person.username)
        raise kind(" ".join(words))

    return raise_it


STEPS = [
    "resetdelivery.directory.DjangoUserDirectory.resolve",
    "resetdelivery.directory.DjangoUserDirectory.get_many",
    "resetdelivery.directory.DjangoUserDirectory.make_link",
    "resetdelivery.gate.render_email",
    "resetdelivery.gate.render_sms",
    "resetdelivery.gate.judge",
    "resetdelivery.delivery.claim",
    "resetdelivery.delivery.judge_batch",
    "resetdelivery.delivery.finish_leased",
    "resetdelivery.delivery.mark",
    "resetdelivery.delivery.settle",
    "resetdelivery.delivery.attempt_log.write",
    "notifications.testing.ScriptedTransport.submit",
    "resetdelivery.recovery.put_back_abandoned",
    "resetdelivery.recovery.lock_intents",
    "resetdelivery.broker.producers",
    "resetdelivery.dispatch.hint",
    "resetdelivery.dispatch.note_unhinted",
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.rpartition(".")[2])
@pytest.mark.parametrize("kind", [Planted, IntegrityError])
def test_an_error_at_any_step_lets_nothing_out(
    step: str,
    kind: type[Exception],
    secrets: Callable[[], list[str]],
    logged: Callable[[], str],
    live: redis.Redis[bytes],
    email: ScriptedTransport,
    sms: ScriptedTransport,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caught = Caught()
    with monkeypatch.context() as patch:
        patch.setattr(step, fail(kind))
        request(caught)
    if not ResetIntent.objects.exists():
        request(caught)
    with monkeypatch.context() as patch:
        patch.setattr(step, fail(kind))
        age(2)
        work(caught)
        age(40)
        work(caught)
    work(caught)
    assert_clean(secrets(), logged(), live, caught)


def assert_clean(marked: list[str], logs: str, client: redis.Redis[bytes], caught: Caught) -> None:
    sinks = {
        "logs": logs,
        "tables": stored(),
        "redis": everything(client).decode("utf-8", "replace"),
        "admin": pages(),
        "errors": caught.text(),
    }
    found = [(sink, word) for sink, text in sinks.items() for word in marked if word in text]
    assert found == []


def test_a_run_without_errors_lets_nothing_out(
    secrets: Callable[[], list[str]],
    logged: Callable[[], str],
    live: redis.Redis[bytes],
    use_transport: UseTransport,
) -> None:
    busy = Outcome(kind=OutcomeKind.TRANSIENT, reason=Reason.PROVIDER_BUSY, retry_after_seconds=0)
    for channel in Channel:
        use_transport(channel, ScriptedTransport(outcomes=[busy]))
    caught = Caught()
    for _ in range(2):
        request(caught)
        age(2)
        work(caught)
    assert set(Delivery.objects.values_list("state", flat=True)) == {"accepted"}
    assert caught.texts == []
    assert_clean(secrets(), logged(), live, caught)


# Each sink would catch a planted value.


def test_the_search_covers_every_kind_of_value(secrets: Callable[[], list[str]], buyer: Any) -> None:
    request(Caught())
    marked = secrets()
    assert len(marked) == 8
    assert all(len(word) >= 8 for word in marked)


@pytest.mark.parametrize("form", ["message", "exception"])
def test_the_logs_would_show_a_planted_value(logged: Callable[[], str], form: str) -> None:
    logger = logging.getLogger("any.host")
    lines: dict[str, Callable[[], object]] = {
        "message": lambda: logger.warning("to %s", ADDRESS),
        "exception": lambda: logger.warning("failed", exc_info=Planted(ADDRESS)),
    }
    lines[form]()
    # Only the plain form: this project's own two leave it out.
    assert logged().count(ADDRESS) == 1


def test_the_tables_would_show_a_planted_value(buyer: Any) -> None:
    request(Caught())
    Delivery.objects.filter(channel="email").update(reason="marked.buyer.1618")
    assert ADDRESS.partition("@")[0] in stored()


def test_the_tables_are_searched_but_for_the_account_reference(buyer: Any) -> None:
    request(Caught())
    assert REF not in stored()
    assert ResetIntent.objects.get().account_ref == REF


def test_redis_would_show_a_planted_value(live: redis.Redis[bytes]) -> None:
    current_app.send_task("any.task", args=[ADDRESS], queue="control")
    live.set("plain", PHONE)
    assert PHONE.encode() in everything(live)
    assert live.keys("*control")


def test_the_admin_would_show_a_planted_value(buyer: Any) -> None:
    request(Caught())
    delivery = Delivery.objects.get(channel="email")
    Delivery.objects.filter(pk=delivery.pk).update(reason="marked.buyer.1618")
    shown = pages()
    assert str(delivery.intent.reference) in shown
    assert "marked.buyer.1618" in shown


def test_the_errors_would_show_a_planted_value() -> None:
    caught, error = Caught(), DatabaseError()
    error.__context__, error.__suppress_context__ = Planted(ADDRESS), True
    caught.add(error)
    assert ADDRESS in caught.text()
