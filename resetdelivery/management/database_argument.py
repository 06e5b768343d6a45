"""``--database`` of the commands that read, and what is said where it does not answer."""

from __future__ import annotations

from argparse import ArgumentTypeError

from django.core.management.base import CommandError
from django.db import Error, connections
from django.db.migrations.executor import MigrationExecutor


def alias_of(text: str) -> str:
    """An alias of ``DATABASES``; for argparse."""
    if text not in connections:
        raise ArgumentTypeError(f"{text!r} is no database of DATABASES; {', '.join(connections)} are")
    return text


def not_answered(error: Error, using: str) -> CommandError:
    """What to do about ``error``, of reading our tables in ``using``."""
    if _lacks_migrations(using):
        return CommandError(
            f"The tables of resetdelivery in {using!r} are not those of this release. "
            f"Run 'manage.py migrate --database {using}'."
        )
    return CommandError(
        f"The database did not answer in time ({type(error).__name__}). Try a shorter window."
    )


def _lacks_migrations(using: str) -> bool:
    try:
        executor = MigrationExecutor(connections[using])
        ours = [node for node in executor.loader.graph.leaf_nodes() if node[0] == "resetdelivery"]
        return bool(executor.migration_plan(ours))
    except Error:
        return False
