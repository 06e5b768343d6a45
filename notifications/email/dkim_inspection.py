"""The production path of DKIM, looked at from end to end: keys, records, alignment, a signed sample."""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import dkim

from notifications.email.dkim import SigningKey
from notifications.email.dkim_options import DkimSetup
from notifications.email.dkim_records import record_name, record_problem, record_text

#: The record at a name, ``None`` where there is none. Raises :class:`LookUpFailed`.
LookUp = Callable[[str], str | None]


class LookUpFailed(Exception):
    """No answer, as opposed to the answer that there is no record; the text says why."""


class Verdict(enum.StrEnum):
    """What came of one look."""

    OK = "ok"
    FAILED = "FAILED"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One row: what was looked at, what came of it, and what to know or to do."""

    subject: str
    verdict: Verdict
    detail: str = ""


def inspect(setup: DkimSetup, *, from_domain: str, sample: bytes, look_up: LookUp) -> Sequence[Finding]:
    """Every finding about ``setup``; ``sample`` is a message as the transport puts it on the wire."""
    domain = setup.signer.domain
    # Alignment was a condition of making the setup.
    findings = [Finding(subject=f"From {from_domain}, d={domain}", verdict=Verdict.OK, detail="aligned")]
    for number, key in enumerate(setup.signer.keys):
        verdict, detail = _verify(sample, number, record_text(key))
        findings += [
            _published(key, domain, look_up),
            Finding(subject=f"{_named(key)}: signed sample", verdict=verdict, detail=detail),
        ]
    return [*findings, *(_published(key, domain, look_up, " (waits)") for key in setup.waiting)]


def _published(key: SigningKey, domain: str, look_up: LookUp, note: str = "") -> Finding:
    name = record_name(key.selector, domain)
    subject = f"{_named(key)}: record{note}"
    try:
        record = look_up(name)
    except LookUpFailed as error:
        return Finding(subject=subject, verdict=Verdict.FAILED, detail=str(error))
    problem = "there is none" if record is None else record_problem(record, key)
    if not problem:
        return Finding(subject=subject, verdict=Verdict.OK, detail=f"{name} vouches for the key")
    detail = f"{problem}; publish at {name}: {record_text(key)}"
    return Finding(subject=subject, verdict=Verdict.FAILED, detail=detail)


def _verify(sample: bytes, number: int, record: str) -> tuple[Verdict, str]:
    """Ask dkimpy, which did not sign, about signature ``number`` of ``sample``."""
    quiet = logging.getLogger("notifications.email.dkim_inspection.dkimpy")
    quiet.disabled = True
    verifier = dkim.DKIM(sample, logger=quiet)
    try:
        verified = verifier.verify(idx=number, dnsfunc=lambda *_, **__: record.encode())
    except dkim.NaClNotFoundError:
        return Verdict.SKIPPED, "dkimpy verifies ed25519 by PyNaCl: python -m pip install pynacl"
    except dkim.DKIMException as error:
        return Verdict.FAILED, f"it does not verify ({type(error).__name__})"
    if not verified:
        return Verdict.FAILED, "it does not verify"
    return Verdict.OK, "verified by dkimpy"


def _named(key: SigningKey) -> str:
    return f"{key.algorithm.value} {key.selector}"
