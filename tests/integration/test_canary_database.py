"""The canary test's search of the database covers every table of ours, and would show what is planted."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.services import request_reset
from tests.acceptance.harness.canary import Mark, search
from tests.acceptance.harness.canary_sinks import ALLOWED_COLUMNS, database, our_tables

pytestmark = pytest.mark.django_db

MARK = Mark(name="address", value="canarybox7f3a9c@example.com")


def test_a_mark_in_any_column_of_text_is_found(account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    Delivery.objects.update(reason=MARK.value)
    assert [found.sink for found in search([MARK], [database("now")])] == ["database, now"]


def test_the_allowed_columns_are_not_searched_and_exist(account: Any) -> None:
    request_reset(account_ref=str(account.pk), channels=["email"])
    ResetIntent.objects.update(account_ref=MARK.value)
    assert search([MARK], [database("now")]) == []
    with connection.cursor() as cursor:
        for table, column in ALLOWED_COLUMNS:
            described = connection.introspection.get_table_description(cursor, table)
            assert column in [one.name for one in described]


def test_every_table_of_ours_in_the_database_is_searched() -> None:
    ours = [name for name in connection.introspection.table_names() if name.startswith("resetdelivery_")]
    assert len(ours) >= 15
    assert set(ours) <= set(our_tables())
