"""Indexes on tables that grow are added beside running workers."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from resetdelivery.migrations._concurrently import AddIndexConcurrently

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        connection.vendor != "postgresql", reason="SQLite has one writer: it adds an index at once"
    ),
]
MIGRATION = ("resetdelivery", "0006_telemetry_indexes")


def test_no_index_of_telemetry_locks_a_table() -> None:
    out = StringIO()
    call_command("sqlmigrate", *MIGRATION, stdout=out)
    created = re.findall(r"CREATE INDEX( CONCURRENTLY)?", out.getvalue())
    assert created == [" CONCURRENTLY"] * 8
    assert "BEGIN" not in out.getvalue()


def test_an_index_that_an_earlier_run_left_behind_is_built_anew() -> None:
    loader = MigrationLoader(connection)
    migration = loader.get_migration(*MIGRATION)
    state = loader.project_state(MIGRATION)
    operation = migration.operations[0]
    assert isinstance(operation, AddIndexConcurrently)
    with connection.schema_editor(atomic=False) as editor:
        operation.database_forwards("resetdelivery", editor, state, state)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = %s::regclass", [operation.index.name]
        )
        assert cursor.fetchall() == [(True,)]
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() != ("0",)
