"""A pytest plugin that repeats, at the end of a run, what ``ops/audit.py`` could not do or found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The lines of the file that ``AUDIT_NOTE`` names, if there is one."""
    note = Path(os.environ.get("AUDIT_NOTE", ""))
    for line in note.read_text().splitlines() if note.is_file() else ():
        terminalreporter.write_line(line, yellow=True)
