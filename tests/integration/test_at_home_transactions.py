from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from resetdelivery import broker
from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.services import request_reset
from tests.hosts.atomic_views import Spy
from tests.hosts.host import run_host

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def published(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """The hints that went out, as (queue, ids), in a project with ATOMIC_REQUESTS."""

    def publish(task: str, args: Sequence[Any], *, queue: str) -> None:
        Spy.published.append((queue, args[1]))

    Spy.published.clear()
    Spy.before_commit = -1
    settings.RESETDELIVERY = {**settings.RESETDELIVERY, "DISPATCH": "broker"}
    settings.ROOT_URLCONF = "tests.hosts.atomic_views"
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    monkeypatch.setattr(broker, "publish", publish)
    monkeypatch.setattr(broker, "queue_length", lambda queue: 0)
    yield Spy.published
    Spy.published.clear()


@pytest.fixture
def visitor() -> Client:
    """A browser that takes an error for an answer."""
    return Client(raise_request_exception=False)


def ids() -> list[int]:
    return list(Delivery.objects.values_list("pk", flat=True))


def test_an_atomic_request_hints_once_it_is_committed(
    visitor: Client, account: Any, published: list[object]
) -> None:
    assert visitor.get("/ask/", {"account": str(account.pk)}).status_code == 200
    assert Spy.before_commit == 0
    assert published == [("email", ids())]


def test_an_atomic_request_that_fails_leaves_no_intent_and_no_hint(
    visitor: Client, account: Any, published: list[object]
) -> None:
    assert visitor.get("/ask-then-fail/", {"account": str(account.pk)}).status_code == 500
    assert Spy.before_commit == 0
    assert (ResetIntent.objects.count(), published) == (0, [])


def test_of_nested_transactions_only_what_is_kept_is_hinted_at_the_end(
    visitor: Client, account: Any, published: list[object]
) -> None:
    assert visitor.get("/ask-inside-then-go-on/", {"account": str(account.pk)}).status_code == 200
    assert Spy.before_commit == 0
    assert len(ids()) == 1
    assert published == [("email", ids())]


def test_a_request_outside_any_transaction_hints_before_it_returns(
    account: Any, published: list[object]
) -> None:
    request_reset(account_ref=str(account.pk), channels=["email", "sms"])
    email, sms = ids()
    assert published == [("email", [email]), ("sms", [sms])]


def test_two_resets_of_one_transaction_are_both_hinted_at_its_end(
    account: Any, make_account: Any, published: list[object]
) -> None:
    with transaction.atomic():
        for one in (account, make_account()):
            request_reset(account_ref=str(one.pk), channels=["sms"])
        assert published == []
    first, second = ids()
    assert published == [("sms", [first]), ("sms", [second])]


def test_no_view_that_other_machines_call_is_in_a_transaction_of_any_database(tmp_path: Path) -> None:
    program = (
        "import django; django.setup(); from tests.hosts.atomic_urls import told; print(*told(), sep='\\n')"
    )
    done = run_host("atomic_everywhere", "-c", program, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    views = done.stdout.splitlines()
    assert [view for view in views if view.endswith(" inside")] == ["ask inside"]
    assert "receipt_callback outside" in views
    # Those of the internal API, and the one of every address that has no other.
    assert len(views) > 10
