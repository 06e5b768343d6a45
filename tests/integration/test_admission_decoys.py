"""People who are not there get the same answer by the same work."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from resetdelivery.models import IdempotencyKey, ResetIntent
from resetdelivery.services import request_reset
from tests.sinks import stored
from tests.steps import seconds

pytestmark = pytest.mark.django_db

MakeAccount = Callable[..., Any]
Request = dict[str, Any]
Settings = Callable[..., None]


def shape(sql: str) -> str:
    """A statement without its values."""
    bare = re.sub(r"'[^']*'|\bs\d+_x\d+\b|-?\b\d+\b|\bNULL\b|\b[0-9a-f]{32}\b", "?", sql)
    bare = re.sub(r"\s*\?(?:::\w+)?", "?", bare)
    # By which keys the directory looks its accounts up is its own affair; that it does is not.
    return re.sub(r'(FROM "marketplace_user") .*', r"\1", bare)


def statements(**request: Any) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        request_reset(channels=["email", "sms"], **request)
    return [shape(query["sql"]) for query in captured.captured_queries]


@pytest.mark.parametrize(
    ("who", "fields"),
    [
        ("nobody", None),
        ("inactive", {"is_active": False}),
        ("without an address", {"email": "", "phone": ""}),
        ("without a phone", {"phone": ""}),
        ("without a password", {"password": None}),
    ],
)
def test_a_request_by_reference_takes_the_same_statements_whoever_it_is(
    make_account: MakeAccount, db: None, who: str, fields: dict[str, Any] | None
) -> None:
    known = statements(account_ref=str(make_account().pk))
    ref = "987654321" if fields is None else str(make_account(**fields).pk)
    assert statements(account_ref=ref) == known


@pytest.mark.parametrize("ref", ["987654321", "~decoy", "not a key", "7" * 200, "-1", "1.5", str(2**70)])
def test_a_reference_of_any_form_takes_the_same_statements(
    make_account: MakeAccount, db: None, ref: str
) -> None:
    known = statements(account_ref=str(make_account().pk))
    assert statements(account_ref=ref) == known


@pytest.mark.parametrize(
    "typed", ["nobody@shop.example", "no address at all", "nobody", "NOBODY@SHOP.EXAMPLE", "x" * 255]
)
def test_a_typed_text_takes_the_same_statements_whether_anyone_is_meant(
    make_account: MakeAccount, db: None, typed: str
) -> None:
    known = statements(submitted=make_account().email)
    assert statements(submitted=typed) == known


@pytest.mark.parametrize("fields", [{"is_active": False}, {"password": None}, {"phone": ""}])
def test_a_typed_address_takes_the_same_statements_whatever_its_account_may_do(
    make_account: MakeAccount, db: None, fields: dict[str, Any]
) -> None:
    known = statements(submitted=make_account().email)
    assert statements(submitted=make_account(**fields).email) == known


def test_a_second_request_takes_the_same_statements_as_well(make_account: MakeAccount, db: None) -> None:
    email = make_account().email
    statements(submitted=email)
    statements(submitted="nobody@shop.example")
    assert statements(submitted=email) == statements(submitted="nobody@shop.example")


def test_a_typed_text_that_nobody_has_gives_an_answer_like_any_other(account: Any) -> None:
    known = request_reset(submitted=account.email, channels=["email"], lifetime=seconds(300))
    unknown = request_reset(submitted="nobody@shop.example", channels=["email"], lifetime=seconds(300))
    assert (unknown.replayed, unknown.coalesced) == (known.replayed, known.coalesced) == (False, False)
    assert abs(unknown.expires_at - known.expires_at) <= seconds(1)


def test_one_typed_text_leads_to_one_decoy_however_it_is_written(db: None) -> None:
    first = request_reset(submitted="nobody@shop.example", channels=["email"])
    again = request_reset(submitted=" Nobody@Shop.example ", channels=["email"])
    assert (again.reference, again.coalesced) == (first.reference, True)


@pytest.mark.parametrize("known", [True, False])
def test_what_was_typed_is_in_no_column_of_any_table(
    make_account: MakeAccount, db: None, known: bool
) -> None:
    typed = "Marked.Person.2718@shop.example"
    if known:
        make_account(email=typed)
    request_reset(submitted=typed, channels=["email", "sms"])
    found = stored(but=frozenset())
    assert "account_ref" in found
    assert "2718" not in found


def test_the_search_of_the_tables_would_find_it(db: None) -> None:
    request_reset(account_ref="Marked.Person.2718", channels=["email"])
    assert "2718" in stored(but=frozenset())


def test_accounts_that_share_an_address_get_an_intent_each(make_account: MakeAccount, db: None) -> None:
    family = [make_account(email="family@shop.example") for _ in range(3)]
    admission = request_reset(submitted="family@shop.example", channels=["email"], idempotency_key="k")
    refs = ResetIntent.objects.order_by("account_ref").values_list("account_ref", flat=True)
    assert sorted(refs) == sorted(str(member.pk) for member in family)
    assert IdempotencyKey.objects.get().intent.reference == admission.reference
