"""The canary test takes no command for one that worked whose process crashed, and no log for searched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.harness.canary import not_looked_at
from tests.acceptance.harness.canary_commands import EXIT_CODES, FAILED, assert_worked
from tests.acceptance.harness.canary_sinks import SAID, logs
from tests.acceptance.harness.processes import start


def run(name: str, folder: Path) -> tuple[int, str]:
    """A command's exit code, and all that it says of a database without tables."""
    environment = {
        "DJANGO_SETTINGS_MODULE": "tests.acceptance.worker_settings",
        "DATABASE_URL": f"sqlite:///{folder / 'empty.sqlite3'}",
        "LOG_FORMAT": "json",
    }
    running = start("manage.py", name, environment=environment, log=folder / f"{name}.log")
    return running.exit_code(), running.log.read_text()


@pytest.mark.parametrize("name", ["purge", "reconcile", "retention_report", "telemetry_budget"])
def test_a_command_that_crashed_has_not_worked(name: str, tmp_path: Path) -> None:
    exit_code, said = run(name, tmp_path)
    assert exit_code == 1
    with pytest.raises(AssertionError, match=name):
        assert_worked(name, exit_code, said)


@pytest.mark.parametrize("words", FAILED)
@pytest.mark.parametrize("name", sorted(EXIT_CODES))
def test_what_an_error_says_is_no_work_whatever_the_exit_code(name: str, words: str) -> None:
    assert_worked(name, 0, SAID[name])
    with pytest.raises(AssertionError, match="failed"):
        assert_worked(name, 0, f"{SAID[name]}\n{words}")


@pytest.mark.parametrize(
    ("name", "most"), [("explain", 0), ("purge", 0), ("reconcile", 1), ("delivery_health", 2)]
)
def test_a_command_exits_as_it_says_it_does(name: str, most: int) -> None:
    assert_worked(name, most, SAID[name])
    with pytest.raises(AssertionError, match=f"exited with {most + 1}"):
        assert_worked(name, most + 1, SAID[name])


def write_logs(folder: Path) -> None:
    for kind, said in SAID.items():
        (folder / f"{kind}7.log").write_text(said)


def test_the_log_of_every_process_is_read(tmp_path: Path) -> None:
    write_logs(tmp_path)
    assert len(logs(tmp_path)) == len(SAID)
    assert not_looked_at(logs(tmp_path)) == []


def test_a_log_in_which_a_process_says_nothing_is_named(tmp_path: Path) -> None:
    write_logs(tmp_path)
    (tmp_path / "purge7.log").write_text("")
    assert not_looked_at(logs(tmp_path)) == ["log of purge7"]


def test_a_log_that_is_missing_or_unknown_fails_the_search(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="worker"):
        logs(tmp_path)
    write_logs(tmp_path)
    (tmp_path / "another.log").write_text("anything")
    with pytest.raises(AssertionError, match="another"):
        logs(tmp_path)
