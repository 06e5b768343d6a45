"""What the canary test's ``manage.py`` commands may exit with, and how one says that it did not work."""

from __future__ import annotations

from collections.abc import Mapping

#: A difference that is found is 1; a verdict of the last minutes, in which everything failed, 0, 1 or 2.
EXIT_CODES: Mapping[str, frozenset[int]] = {
    "explain": frozenset({0}),
    "delivery_health": frozenset({0, 1, 2}),
    "telemetry_budget": frozenset({0}),
    "reconcile": frozenset({0, 1}),
    "forget_account": frozenset({0}),
    "purge": frozenset({0}),
    "retention_report": frozenset({0}),
    "rollout": frozenset({0, 1}),
}
#: Python's own words and our log's for what nobody caught, and Django's for a command that gives up. Each
#: of them goes with the exit code 1, as a difference does.
FAILED = ("Traceback (most recent call last)", "Nobody caught this", "CommandError")


def assert_worked(command: str, exit_code: int, said: str) -> None:
    """``AssertionError`` with all that ``command`` ``said``, unless it did its work."""
    found = [words for words in FAILED if words in said]
    allowed = EXIT_CODES[command]
    assert exit_code in allowed, f"{command} exited with {exit_code}, not one of {sorted(allowed)}:\n{said}"
    assert not found, f"{command} failed, {found}:\n{said}"
