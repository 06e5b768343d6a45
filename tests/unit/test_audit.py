"""``ops/audit.py`` with the real pip-audit, and an advisory database on this machine."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from examples.demo import ports

ROOT = Path(__file__).resolve().parents[2]
LOCKED = f"first==1.0 --hash=sha256:{64 * 'a'}\nsecond==2.0 --hash=sha256:{64 * 'b'}\n"
ADVISORY = {
    "id": "GHSA-0000-0000-0001",
    "summary": "It is weak.",
    "affected": [{"package": {"name": "second", "ecosystem": "PyPI"}, "versions": ["2.0"], "ranges": []}],
}

Run = Callable[..., subprocess.CompletedProcess[str]]


class Advisories(BaseHTTPRequestHandler):
    """Answers as the Open Source Vulnerabilities API does."""

    vulnerable: frozenset[str] = frozenset()
    status = 200

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        name = json.loads(body)["package"]["name"]
        answer = json.dumps({"vulns": [ADVISORY]} if name in self.vulnerable else {}).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@pytest.fixture
def advisories() -> Iterator[Callable[..., str]]:
    servers: list[ThreadingHTTPServer] = []

    def serve(**answers: Any) -> str:
        handler = type("Answers", (Advisories,), answers)
        server = ThreadingHTTPServer((ports.LOOPBACK, 0), handler)
        servers.append(server)
        Thread(target=server.serve_forever, daemon=True).start()
        return f"http://{ports.LOOPBACK}:{server.server_port}/v1/query"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The script on a file of two locked packages, or on what else is given."""

    def run_audit(url: str, locked: str = LOCKED) -> subprocess.CompletedProcess[str]:
        file = tmp_path / "locked.txt"
        file.write_text(locked)
        return subprocess.run(
            [sys.executable, "ops/audit.py", str(file)],
            env={**os.environ, "OSV_URL": url, "AUDIT_NOTE": str(tmp_path / "notes/audit.txt")},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )

    return run_audit


def noted(folder: Path) -> str:
    return (folder / "notes/audit.txt").read_text()


def test_packages_without_a_known_vulnerability_pass(
    run: Run, advisories: Callable[..., str], tmp_path: Path
) -> None:
    done = run(advisories())
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 packages, none of them known to be vulnerable" in done.stdout
    assert noted(tmp_path) == ""


def test_a_vulnerable_package_fails_and_is_named(
    run: Run, advisories: Callable[..., str], tmp_path: Path
) -> None:
    done = run(advisories(vulnerable=frozenset({"second"})))
    assert done.returncode == 1
    assert "second 2.0 (GHSA-0000-0000-0001)" in done.stderr
    assert "first" not in done.stderr
    assert noted(tmp_path) == done.stderr


def test_where_there_is_no_database_it_says_that_it_did_not_run(run: Run, tmp_path: Path) -> None:
    done = run(f"http://{ports.LOOPBACK}:{ports.pick()}/v1/query")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("AUDIT DID NOT RUN: ")
    assert noted(tmp_path) == done.stderr


@pytest.mark.parametrize("status", [404, 500])
def test_an_answer_that_is_none_is_not_taken_for_a_clean_one(
    run: Run, advisories: Callable[..., str], status: int
) -> None:
    done = run(advisories(status=status))
    assert (done.returncode, done.stdout) == (0, "")
    assert "AUDIT DID NOT RUN: " in done.stderr


def test_a_file_that_cannot_be_read_is_no_clean_one(run: Run, advisories: Callable[..., str]) -> None:
    done = run(advisories(), locked="this is no requirement ==\n")
    assert "AUDIT DID NOT RUN: " in done.stderr


def test_packages_that_were_skipped_are_counted() -> None:
    """As pip-audit does with a registry that knows none: with the exit code 0 and no vulnerability."""
    skipped = {"name": "first", "skip_reason": "Dependency not found and could not be audited"}
    audited = {"name": "second", "version": "2.0", "vulns": []}
    assert note_of([skipped]).startswith("AUDIT DID NOT RUN: ")
    assert note_of([skipped, audited]).startswith("AUDIT INCOMPLETE: ")
    assert note_of([]).startswith("AUDIT DID NOT RUN: ")


def note_of(packages: list[dict[str, Any]]) -> str:
    """The note on a report of these packages."""
    script = runpy.run_path(str(ROOT / "ops/audit.py"))
    return str(script["read_report"]("locked.txt", json.dumps({"dependencies": packages})).note())


def test_the_closing_lines_of_a_test_run_repeat_what_was_not_audited(tmp_path: Path) -> None:
    note = tmp_path / "audit.txt"
    note.write_text("AUDIT DID NOT RUN: locked.txt: ConnectionError.\n")
    empty = tmp_path / "test_nothing.py"
    empty.write_text("def test_nothing():\n    pass\n")
    options = ("-q", "-p", "tests.audit_note", "-p", "no:cacheprovider", "-c", os.devnull)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(empty)],
        env={**os.environ, "AUDIT_NOTE": str(note)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "AUDIT DID NOT RUN: locked.txt" in "".join(done.stdout.splitlines()[-3:])
