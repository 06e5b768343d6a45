"""Whatever goes wrong with a hint, the request that is committed is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery import dispatch, tasks
from resetdelivery.models import Delivery
from resetdelivery.services import request_reset

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def boundary(settings: Any) -> Callable[[str], None]:
    def use(name: str) -> None:
        settings.RESETDELIVERY = {**settings.RESETDELIVERY, "DISPATCH": name}

    return use


def ask(account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])


@pytest.mark.parametrize(
    "error", [RuntimeError("to anna@shop.example"), DatabaseError("x"), MemoryError(), OSError("x")]
)
def test_no_error_of_a_hint_reaches_the_caller(
    account: Any, boundary: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: Any) -> bool:
        raise error

    boundary("broker")
    monkeypatch.setattr(dispatch, "hint", fail)
    ask(account)
    assert Delivery.objects.get().state == "pending"


def test_inline_delivers_after_the_commit_in_the_callers_process(
    account: Any, boundary: Callable[[str], None], email: ScriptedTransport
) -> None:
    boundary("inline")
    ask(account)
    assert Delivery.objects.get().state == "accepted"


def test_an_error_while_delivering_inline_does_not_reach_the_caller(
    account: Any, boundary: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> int:
        raise RuntimeError

    boundary("inline")
    monkeypatch.setattr("resetdelivery.delivery.deliver", fail)
    ask(account)
    assert Delivery.objects.get().state == "pending"


def test_under_the_database_boundary_nothing_happens_at_the_commit(
    account: Any, boundary: Callable[[str], None], email: ScriptedTransport
) -> None:
    boundary("database")
    ask(account)
    assert (Delivery.objects.get().state, email.messages) == ("pending", [])


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("fax", [1]),
        (None, None),
        (7, [1]),
        (["email"], [1]),
        ({"channel": "email"},),
        ("EMAIL", [1]),
    ],
)
def test_a_malformed_hint_is_dropped(
    account: Any, email: ScriptedTransport, arguments: tuple[Any, ...]
) -> None:
    ask(account)
    tasks.deliver(*arguments)
    assert Delivery.objects.get().state == "pending"


@pytest.mark.parametrize(
    "ids", [None, "all", 7, {"id": 1}, [None], ["1"], [True], [-1], [0], [2**63], [2**200], [[1]], [1.5]]
)
def test_what_is_no_row_id_is_left_out_of_a_hint(account: Any, email: ScriptedTransport, ids: Any) -> None:
    ask(account)
    tasks.deliver("email", ids)
    assert Delivery.objects.get().state == "accepted"


@pytest.mark.parametrize("more", [("more",), ("more", "of", "it")])
def test_a_hint_of_a_later_release_with_more_in_it_is_understood(
    account: Any, email: ScriptedTransport, more: tuple[str, ...]
) -> None:
    ask(account)
    tasks.deliver("email", [Delivery.objects.get().pk], *more, later="field")
    assert Delivery.objects.get().state == "accepted"


def test_hints_that_come_twice_or_name_nothing_change_nothing(account: Any, email: ScriptedTransport) -> None:
    ask(account)
    row = Delivery.objects.get().pk
    for ids in ([row], [row, row], [row + 1], [], [row]):
        tasks.deliver("email", ids)
    assert len(email.messages) == 1


def test_a_hint_for_another_channels_row_does_not_send_it(account: Any, email: ScriptedTransport) -> None:
    ask(account)
    tasks.deliver(Channel.SMS.value, [Delivery.objects.get().pk])
    assert Delivery.objects.get().state == "pending"
