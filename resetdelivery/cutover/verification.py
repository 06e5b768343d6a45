"""Strand a few shadow deliveries on purpose, and see that the sweep claims those and only those."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from django.db import router, transaction
from django.views.decorators.debug import sensitive_variables

from notifications.channels import Channel
from resetdelivery import audit, recovery
from resetdelivery.conf import Dispatch, Recovery, get_settings
from resetdelivery.cutover.stranded import Strand
from resetdelivery.domain.rollout import SWEPT_HERE, Finding, RolloutAction, verified_target
from resetdelivery.domain.telemetry import Job
from resetdelivery.domain.verification import (
    Course,
    Kind,
    all_ended,
    observed_findings,
    swept_findings,
)
from resetdelivery.exceptions import ResetDeliveryError
from resetdelivery.models import Delivery, JobRun

#: Of these at least one has lost its lease and one its hint.
FEWEST, MOST = 2, 20
LONGEST = dt.timedelta(minutes=10)
#: For how long the rows outlive the time given: nothing of them may come due or run out meanwhile.
MARGIN = dt.timedelta(minutes=1)
#: Between two looks, and between two sweeps of this process's own.
LOOK_SECONDS, SWEEP_SECONDS = 0.2, 1.0
#: What a worker holds at the end, it judges within this time.
END_SECONDS = 10.0


class CannotVerify(ResetDeliveryError):
    """The settings or the arguments allow no verification; nothing was stranded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What became of each row, and what that says; where all is well it is in the audit trail."""

    channel: Channel
    recovery: Recovery
    courses: tuple[Course, ...]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether the sweep did just what it should."""
        return all(finding.ok for finding in self.findings)


@sensitive_variables()
def verify(
    channel: Channel,
    *,
    who: str,
    number: int = 5,
    timeout: dt.timedelta = dt.timedelta(minutes=2),
    sweep_here: bool = False,
    account_ref: str | None = None,
    using: str | None = None,
) -> Verification:
    """Strand ``number`` deliveries and two more that must be left alone; wait for the sweep, and end all.

    Those of a broker's channel lost their leases or their hints, half and half; where there are no
    hints, all lost their leases. One belongs to ``account_ref``, a test account, if it is given; the
    others to accounts that nobody has. Under ``RECOVERY = observe`` the sweep must count the lost
    leases and touch nothing. ``sweep_here`` makes the sweeps in this process, and takes the rows here
    too; else somebody must come within ``timeout``. ``who`` is for the audit trail.

    Raises :class:`CannotVerify`, :class:`~resetdelivery.cutover.stranded.CannotStrand` or
    :class:`~resetdelivery.exceptions.AccountBusy`.
    """
    mode = _checked(channel, number, timeout)
    alias = using or router.db_for_write(Delivery)
    strand = Strand(channel=channel, seconds=(timeout + MARGIN).total_seconds(), using=alias)
    watch = _Watch(strand, give_up_at=time.monotonic() + timeout.total_seconds(), sweep_here=sweep_here)
    try:
        _strand(strand, number, account_ref, sweep_here=sweep_here)
        findings = watch.observed() if mode is Recovery.OBSERVE else watch.swept()
    except BaseException:
        # What went wrong first is what is told.
        with suppress(Exception):
            strand.end()
        raise
    strand.end()
    findings = (*findings, _left_open(strand))
    verification = Verification(
        channel=channel, recovery=mode, courses=tuple(watch.courses), findings=findings
    )
    if verification.ok:
        _record(verification, who, f"{number} stranded{f', {SWEPT_HERE}' * sweep_here}", alias)
    return verification


def _checked(channel: Channel, number: int, timeout: dt.timedelta) -> Recovery:
    settings = get_settings()
    if channel not in settings.channels:
        raise CannotVerify(f"RESETDELIVERY['CHANNELS'] has no {channel}. Name a channel that it has.")
    if settings.recovery is Recovery.OFF:
        raise CannotVerify(
            "RESETDELIVERY['RECOVERY'] is off: no sweep would come. Set it to observe everywhere first, "
            "and to on once that is verified."
        )
    if not FEWEST <= number <= MOST:
        raise CannotVerify(f"{number} deliveries cannot be stranded; write {FEWEST} to {MOST}.")
    if not dt.timedelta(0) < timeout <= LONGEST:
        longest = LONGEST.total_seconds()
        raise CannotVerify(f"{timeout.total_seconds():g} s is no time to wait; write 1 to {longest:g}.")
    return settings.recovery


@sensitive_variables()
def _strand(strand: Strand, number: int, account_ref: str | None, *, sweep_here: bool) -> None:
    hints = number // 2 if get_settings().dispatch is Dispatch.BROKER else 0
    strand.lease(number - hints, Kind.LEASE_ABANDONED, account_ref=account_ref)
    strand.lease(1, Kind.LEASE_LIVE)
    if sweep_here:
        # The sweep comes right after this: before it, no worker has time to come for those without a hint.
        strand.wait_for_leases()
    if hints:
        strand.lose_hints(hints)
    strand.put_off()


class _Watch:
    """Looks at the stranded rows again and again until nothing more is to be expected of them."""

    def __init__(self, strand: Strand, *, give_up_at: float, sweep_here: bool) -> None:
        self.strand = strand
        self.courses: Sequence[Course] = ()
        self._give_up_at = give_up_at
        self._sweep_here = sweep_here

    def swept(self) -> tuple[Finding, ...]:
        """Of a sweep that acts."""
        swept = self._until(lambda: all_ended(self.courses))
        return swept_findings(self.courses, swept=swept)

    def observed(self) -> tuple[Finding, ...]:
        """Of a sweep that only counts."""
        self.strand.wait_for_leases()
        counted, others = self._count()
        swept = self._until(lambda: True)
        return observed_findings(self.courses, swept=swept, counted=counted, others=others)

    def _until(self, done: Callable[[], bool]) -> bool:
        """Look until a sweep came and ``done()``, or time is over; whether a sweep came."""
        strand = self.strand
        self.courses = _courses(strand)
        while True:
            swept = self._swept_here() or _swept_since(strand.leases_end(), strand.using)
            self._look()
            if (swept and done()) or time.monotonic() >= self._give_up_at:
                return swept
            time.sleep(SWEEP_SECONDS if self._sweep_here else LOOK_SECONDS)

    def _swept_here(self) -> bool:
        if not self._sweep_here:
            return False
        recovery.sweep(using=self.strand.using)
        self._look()
        if get_settings().recovery is Recovery.ON:
            self.strand.deliver()
        return True

    def _look(self) -> None:
        looks = self.strand.look()
        made = self.strand.made
        self.courses = [course.seen(looks[row.id]) for course, row in zip(self.courses, made, strict=True)]

    def _count(self) -> tuple[int, int]:
        """What a sweep counts, and how much of that is not from here.

        Leases of others may run out in between: then it counts again.
        """
        while True:
            others = self.strand.others_abandoned()
            counted = recovery.sweep(using=self.strand.using).put_back
            if others == self.strand.others_abandoned() or time.monotonic() >= self._give_up_at:
                return counted, len(others)


def _courses(strand: Strand) -> list[Course]:
    return [
        Course(name=str(row.reference), kind=row.kind, stranded=row.stored, last=row.stored)
        for row in strand.made
    ]


def _swept_since(moment: dt.datetime, using: str) -> bool:
    """Whether a sweep began after ``moment`` and came to its end, as beat's and the poller's note."""
    run = JobRun.objects.using(using).filter(name=Job.SWEEP).first()
    return run is not None and run.succeeded_at - dt.timedelta(seconds=run.took_seconds) > moment


def _left_open(strand: Strand) -> Finding:
    give_up_at = time.monotonic() + END_SECONDS
    while (left := strand.open()) and time.monotonic() < give_up_at:
        time.sleep(LOOK_SECONDS)
    return Finding(
        name="nothing left open",
        ok=left == 0,
        saw=f"{left} of {len(strand.made)}",
        wanted="none; what a worker holds ends with it, or once its lease ran out",
    )


def _record(verification: Verification, who: str, why: str, using: str) -> None:
    with transaction.atomic(using=using):
        audit.record(
            who=who,
            action=RolloutAction.VERIFIED,
            target=verified_target(verification.channel, verification.recovery),
            why=why,
            using=using,
        )
