"""Who may ask for a reset, known or not, and what may have happened before: for comparing answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications.channels import Channel
from resetdelivery.clock import database_now
from resetdelivery.delivery import pass_gate
from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.services import request_reset
from tests.steps import record, seconds, take

MakeAccount = Callable[..., Any]
Request = dict[str, Any]

NOBODY = {"account_ref": "987654321", "submitted": "nobody@shop.example"}
#: Settings under which a second request is one too many.
ONE_AN_HOUR = {f"{kind}_PER_{window}": 1 for kind in ("ACCOUNT", "DESTINATION") for window in ("HOUR", "DAY")}


def shape(sql: str) -> str:
    """A statement without its values."""
    bare = re.sub(r"'[^']*'|\bs\d+_x\d+\b|-?\b\d+\b|\bNULL\b|\b[0-9a-f]{32}\b", "?", sql)
    bare = re.sub(r"\s*\?(?:::\w+)?", "?", bare)
    # By which keys the directory looks its accounts up is its own affair; that it does is not.
    return re.sub(r'(FROM "marketplace_user") .*', r"\1", bare)


def row_counts() -> dict[str, int]:
    models = apps.get_app_config("resetdelivery").get_models()
    return {model._meta.db_table: model._default_manager.count() for model in models}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one request does, as far as a clock or the database could tell."""

    statements: list[str]
    rows: dict[str, int]
    hints: int
    is_new: bool
    answer: tuple[object, ...]


def look(request: Request, hinted: list[int], on_commit: Any) -> Seen:
    """Make ``request``, with what the fixtures of those names hold."""
    before, told = row_counts(), len(hinted)
    references = set(ResetIntent.objects.values_list("reference", flat=True))
    with on_commit(execute=True), CaptureQueriesContext(connection) as captured:
        answer = request_reset(channels=["email", "sms"], lifetime=seconds(300), **request)
    stored_at = ResetIntent.objects.get(reference=answer.reference).created_at
    return Seen(
        statements=[shape(query["sql"]) for query in captured.captured_queries],
        rows={table: number - before[table] for table, number in row_counts().items()},
        hints=len(hinted) - told,
        is_new=answer.reference not in references,
        answer=(
            answer.coalesced,
            answer.replayed,
            answer.legacy_channels,
            (answer.expires_at - stored_at + seconds(1)) // seconds(2),
        ),
    )


def end_everything() -> None:
    """As if workers had been there: nothing that is stored can be joined any more."""
    now = database_now(connection)
    Delivery.objects.update(state="failed", finished_at=now, hinted_at=None)
    ResetIntent.objects.update(state="closed", closed_at=now)


def asked_before(request: Request) -> Request:
    request_reset(channels=["email", "sms"], **request)
    end_everything()
    return request


def under_way(request: Request) -> Request:
    """Asked for before, and taken by workers: they wait for providers, or ended what leads to nobody."""
    request_reset(channels=["email", "sms"], **request)
    for channel in Channel:
        record([one.claimed for one in pass_gate(take(channel), using="default")])
    return request


def of(account: Any, way: str) -> Request:
    return {"account_ref": str(account.pk)} if way == "account_ref" else {"submitted": account.username}


def namesake(make_account: MakeAccount, **fields: Any) -> Any:
    """An account whose destinations have been used by another one."""
    first = make_account()
    asked_before({"account_ref": str(first.pk)})
    return make_account(email=first.email, phone=first.phone, **fields)


#: Whoever it is, and whatever happened before: each makes a request by one of the two ways.
WHO: dict[str, Callable[[MakeAccount, str], Request]] = {
    "nobody": lambda make, way: {way: NOBODY[way]},
    "nobody, limited": lambda make, way: asked_before({way: NOBODY[way]}),
    "nobody, under way and limited": lambda make, way: under_way({way: NOBODY[way]}),
    "limited": lambda make, way: asked_before(of(make(), way)),
    "under way and limited": lambda make, way: under_way(of(make(), way)),
    "its destinations limited": lambda make, way: of(namesake(make), way),
    "its mailbox limited": lambda make, way: of(namesake_by_mail(make), way),
    "inactive": lambda make, way: of(make(is_active=False), way),
    "inactive and limited": lambda make, way: asked_before(of(make(is_active=False), way)),
    "by single sign-on": lambda make, way: of(make(password=None), way),
    "without destinations": lambda make, way: of(make(email="", phone=""), way),
    "without destinations, limited": lambda make, way: asked_before(of(make(email="", phone=""), way)),
    "inactive, its destinations limited": lambda make, way: of(namesake(make, is_active=False), way),
}


def namesake_by_mail(make_account: MakeAccount) -> Any:
    account = namesake(make_account)
    account.phone = "+4915199999999"
    account.save()
    return account
