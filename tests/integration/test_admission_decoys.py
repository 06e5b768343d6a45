"""People who are not there get the same answer by the same work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from resetdelivery import directory
from resetdelivery.directory import Account, DjangoUserDirectory, get_directory
from resetdelivery.models import IdempotencyKey, LimitUse, ResetIntent
from resetdelivery.services import request_reset
from tests.integration.conftest import See
from tests.requesters import ONE_AN_HOUR, WHO, MakeAccount, of, shape, under_way
from tests.sinks import stored
from tests.steps import seconds

pytestmark = pytest.mark.django_db

Settings = Callable[..., None]


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


# What takes no statement takes its time all the same.


@pytest.mark.parametrize("fields", [None, {"phone": ""}, {"email": ""}, {"is_active": False}])
def test_the_directory_reads_as_much_where_there_is_nobody(
    make_account: MakeAccount, db: None, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any] | None
) -> None:
    read: list[str] = []

    def note(text: str) -> str:
        read.append(text)
        return text

    monkeypatch.setattr(directory, "stored_number", note)
    known = str(make_account().pk)
    other = "987654321" if fields is None else str(make_account(**fields).pk)
    for ref in (known, other):
        read.clear()
        get_directory().get_many([ref])
        assert len(read) == 1


class AsksForMore(DjangoUserDirectory):
    """A project's own, which looks further into each user that there is."""

    def account(self, user: AbstractBaseUser) -> Account:
        assert user.pk
        return super().account(user)


def test_a_projects_own_directory_is_not_asked_about_a_user_that_is_not_there(account: Any) -> None:
    found = AsksForMore(phone_field="phone").get_many([str(account.pk), "987654321", "~decoy"])
    assert list(found) == [str(account.pk)]


# Limits make no difference either.


@pytest.fixture
def _one_an_hour(change: Settings) -> None:
    change(**ONE_AN_HOUR, DISPATCH="broker")


@pytest.mark.usefixtures("_one_an_hour")
@pytest.mark.parametrize("way", ["account_ref", "submitted"])
@pytest.mark.parametrize("who", list(WHO))
def test_everybody_takes_the_same_statements_and_leaves_the_same_rows_and_hints(
    make_account: MakeAccount, see: See, way: str, who: str
) -> None:
    known = see(of(make_account(), way))
    assert known.rows[LimitUse._meta.db_table] == 3
    assert known.hints == 2
    assert see(WHO[who](make_account, way)) == known
    newest = ResetIntent.objects.latest("pk")
    suppressed = newest.cancel_reason or newest.deliveries.exclude(suppressed="").exists()
    assert bool(suppressed) is ("limited" in who)


@pytest.mark.parametrize("way", ["account_ref", "submitted"])
def test_what_came_before_takes_no_more_statements(make_account: MakeAccount, see: See, way: str) -> None:
    """One that stops an older reset takes as many as one that finds none."""
    fresh = see(of(make_account(), way))
    assert see(under_way(of(make_account(), way))).statements == fresh.statements
    assert ResetIntent.objects.filter(cancel_reason="superseded").count() == 1


@pytest.mark.usefixtures("_one_an_hour")
def test_a_request_that_joins_counts_and_leaves_uses_as_any_other(
    make_account: MakeAccount, see: See
) -> None:
    known, nobody = of(make_account(), "submitted"), {"submitted": "nobody@shop.example"}
    new = see(known)
    see(nobody)
    joined = see(known)
    assert joined == see(nobody)
    uses = LimitUse._meta.db_table
    assert joined.rows[uses] == new.rows[uses]
    about_limits = [[s for s in seen.statements if uses in s] for seen in (new, joined)]
    assert about_limits[0] == about_limits[1] != []


@pytest.mark.usefixtures("_one_an_hour")
@pytest.mark.parametrize("who", list(WHO))
def test_the_forgot_page_answers_everybody_alike(make_account: MakeAccount, client: Client, who: str) -> None:
    answers = []
    for request in (of(make_account(), "submitted"), WHO[who](make_account, "submitted")):
        answer = client.post("/accounts/forgot/", {"email": request["submitted"]})
        page = client.get(answer["Location"])
        headers = {name: value for name, value in answer.headers.items() if name != "Expires"}  # says when
        answers.append((answer.status_code, headers, answer.content, page.status_code, page.content))
    assert answers[0][0] == 302
    assert answers[0] == answers[1]
