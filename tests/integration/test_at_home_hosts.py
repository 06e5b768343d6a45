from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.hosts.host import run_host


@pytest.mark.parametrize(("host", "tests"), [("uuid_users", 6), ("two_databases", 3)])
def test_a_host_projects_own_tests_pass(tmp_path: Path, host: str, tests: int) -> None:
    """With its own user model, settings and test runner; see ``tests/hosts``."""
    arguments = ("-m", "django", "test", f"tests.hosts.{host}", "--noinput")
    done = run_host(f"{host}.settings", *arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^Ran (\d+) tests", done.stderr, re.MULTILINE) == [str(tests)]


@pytest.mark.parametrize("host", ["uuid_users", "two_databases"])
def test_a_host_project_passes_the_checks(tmp_path: Path, host: str) -> None:
    arguments = ("-m", "django", "check", "--fail-level", "WARNING")
    done = run_host(f"{host}.settings", *arguments, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
