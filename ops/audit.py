"""Looks up the locked packages in an advisory database, and says loudly when that was not possible.

    python ops/audit.py ops/requirements/django52.txt …

Exit code 1 for a package with a known vulnerability, and 0 otherwise: also where there is no network, or
where the answers do not cover every package. Then a line that begins with "AUDIT DID NOT RUN" or
"AUDIT INCOMPLETE" is on standard error, and in the file that AUDIT_NOTE names. OSV_URL is where advisories
are asked for (the Open Source Vulnerabilities database by default, https://google.github.io/osv.dev/api/).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

OSV_URL = "https://api.osv.dev/v1/query"
ANSWER_SECONDS = 10
ALL_ANSWERS_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What is known of one file of locked packages; ``failure`` is why nothing is."""

    file: str
    audited: int = 0
    skipped: int = 0
    vulnerable: tuple[str, ...] = ()
    failure: str = ""

    def note(self) -> str:
        """One line for people."""
        if self.failure:
            return f"AUDIT DID NOT RUN: {self.file}: {self.failure}."
        if self.vulnerable:
            return f"AUDIT FOUND VULNERABLE PACKAGES: {self.file}: {'; '.join(self.vulnerable)}."
        if not self.audited:
            return f"AUDIT DID NOT RUN: {self.file}: none of {self.skipped} packages is known there."
        if self.skipped:
            known = f"{self.audited} of {self.audited + self.skipped} packages"
            return f"AUDIT INCOMPLETE: {self.file}: only {known} are known there, none of them vulnerable."
        return f"audit: {self.file}: {self.audited} packages, none of them known to be vulnerable"

    @property
    def complete(self) -> bool:
        """Whether every package was looked up, and none is vulnerable."""
        return bool(self.audited) and not (self.skipped or self.vulnerable or self.failure)


def read_report(file: str, report: str) -> Audit:
    """The report that pip-audit prints as JSON."""
    try:
        packages = json.loads(report)["dependencies"]
        skipped = [one for one in packages if "skip_reason" in one]
        found = [_described(one) for one in packages if one.get("vulns")]
    except (ValueError, KeyError, TypeError, AttributeError):
        return Audit(file=file, failure="pip-audit gave no report")
    return Audit(
        file=file, audited=len(packages) - len(skipped), skipped=len(skipped), vulnerable=tuple(found)
    )


def _described(package: dict[str, object]) -> str:
    advisories = package["vulns"]
    names = [str(one["id"]) for one in advisories] if isinstance(advisories, list) else []
    return f"{package['name']} {package['version']} ({', '.join(names)})"


def audit(file: str, osv_url: str) -> Audit:
    """Ask about every package of ``file``; what is locked and hashed is not resolved or installed."""
    options = ("--disable-pip", "--require-hashes", "--progress-spinner", "off", "--format", "json")
    service = ("--vulnerability-service", "osv", "--osv-url", osv_url, "--timeout", str(ANSWER_SECONDS))
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pip_audit", "--requirement", file, *options, *service],
            capture_output=True,
            text=True,
            timeout=ALL_ANSWERS_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Audit(file=file, failure=f"no answer in {ALL_ANSWERS_SECONDS} s")
    return (
        Audit(file=file, failure=_reason(done.stderr)) if not done.stdout else read_report(file, done.stdout)
    )


def _reason(errors: str) -> str:
    """The class of the last error: its text would name machines."""
    lines = [line for line in errors.splitlines() if line and not line.startswith(" ")]
    last = lines[-1] if lines else "pip-audit said nothing"
    return last.partition(":")[0].rpartition(".")[2] if ":" in last else last


def main(files: Sequence[str]) -> int:
    """Audit ``files``, print a note for each, and return the exit code."""
    audits = [audit(file, os.environ.get("OSV_URL") or OSV_URL) for file in files]
    loud = [one.note() for one in audits if not one.complete]
    for one in audits:
        (sys.stdout if one.complete else sys.stderr).write(one.note() + "\n")
    if note := os.environ.get("AUDIT_NOTE"):
        Path(note).parent.mkdir(parents=True, exist_ok=True)
        Path(note).write_text("".join(line + "\n" for line in loud))
    return int(any(one.vulnerable for one in audits))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
