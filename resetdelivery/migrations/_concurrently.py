"""Indexes that are added while workers go on reading and writing."""

from __future__ import annotations

from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState


class AddIndexConcurrently(migrations.AddIndex):
    """``AddIndex``, on PostgreSQL without a lock that keeps anybody waiting; in a migration that is not atomic.

    The one of ``django.contrib.postgres`` needs psycopg, which is not there on SQLite. An index that an
    earlier run left unfinished is built anew. Sessions of a project that bounds its statements and its
    waits for locks must not be bound by that here: on a large table this takes minutes.
    """

    atomic = False

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        editor: Any = schema_editor
        bounds = ("statement_timeout", "lock_timeout")
        for bound in bounds:
            editor.execute(f"SET {bound} = 0")
        try:
            name = editor.quote_name(self.index.name)
            editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            editor.add_index(model, self.index, concurrently=True)
        finally:
            for bound in bounds:
                editor.execute(f"RESET {bound}")
