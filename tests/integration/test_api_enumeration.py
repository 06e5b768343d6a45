"""Who asks over HTTP learns nothing of the account either."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from resetdelivery.models import LimitUse
from tests.internal_api import Service, reset_fields, service
from tests.requesters import ONE_AN_HOUR, WHO, MakeAccount, of, row_counts, shape

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(db: None, change: Callable[..., None]) -> Service:
    """A service whose key has been used: what its first call writes down is no account's doing."""
    change(**ONE_AN_HOUR)
    known = service()
    known.ask(reset_fields("4711"), key="before")
    return known


def seen(shop: Service, ref: str, key: str) -> dict[str, object]:
    """What one call does and shows, but for what is random or tells the time."""
    before = row_counts()
    fields = reset_fields(ref, channels=["email", "sms"])
    with CaptureQueriesContext(connection) as captured:
        answer = shop.ask(fields, key=key)
    told: dict[str, Any] = answer.get_json()
    reference = told.pop("reference")
    assert told.pop("expires_at") == fields["expires_at"]
    return {
        "status": answer.status_code,
        "headers": {name: text.replace(reference, "reference") for name, text in answer.headers.items()},
        "body": told,
        "reference": len(reference),
        "statements": [shape(query["sql"]) for query in captured.captured_queries],
        "rows": {table: number - before[table] for table, number in row_counts().items()},
    }


@pytest.mark.parametrize("who", list(WHO))
def test_everybody_gets_the_same_answer_by_the_same_work(
    shop: Service, make_account: MakeAccount, who: str
) -> None:
    known = seen(shop, of(make_account(), "account_ref")["account_ref"], "1")
    assert (known["status"], known["rows"][LimitUse._meta.db_table]) == (202, 3)  # type: ignore[index]
    assert seen(shop, WHO[who](make_account, "account_ref")["account_ref"], "2") == known


def test_a_request_that_joins_is_answered_alike(shop: Service, make_account: MakeAccount) -> None:
    answers = []
    for number, ref in enumerate((str(make_account().pk), "987654321")):
        first = shop.ask(reset_fields(ref, channels=["email", "sms"]), key=f"first-{number}")
        joined = shop.ask(reset_fields(ref), key=f"second-{number}")
        assert joined.get_json() == first.get_json()
        answers.append((joined.status_code, sorted(joined.headers.keys()), sorted(joined.get_json())))
    assert answers[0] == answers[1]
    assert answers[0][0] == 202
