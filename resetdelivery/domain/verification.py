"""Whether a sweep claimed what was stranded on purpose, and only that: told by looks at the rows. Pure."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from resetdelivery.domain.rollout import Finding
from resetdelivery.domain.states import FINISHED_STATES, DeliveryState


class Kind(enum.StrEnum):
    """What was done to a row; a sweep must come for the first two, and leave the others alone."""

    #: Claimed under a short lease, and then left.
    LEASE_ABANDONED = "lease abandoned"
    #: Due for longer than the sweep's grace, and the message that its ``hinted_at`` speaks of never went.
    HINT_LOST = "hint lost"
    #: Claimed under a lease that outlasts the verification.
    LEASE_LIVE = "live lease"
    #: Due only after the verification.
    NOT_DUE = "not due yet"


STRANDED_KINDS = frozenset({Kind.LEASE_ABANDONED, Kind.HINT_LOST})


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A row as it is stored, and when it was looked at."""

    at: dt.datetime
    state: DeliveryState
    token: int
    owner: str
    due_at: dt.datetime
    lease_expires_at: dt.datetime | None
    hinted_at: dt.datetime | None
    finished_at: dt.datetime | None
    reason: str

    @property
    def standing(self) -> tuple[object, ...]:
        """All of it but when that was."""
        return (
            *(self.state, self.token, self.owner, self.due_at),
            *(self.lease_expires_at, self.hinted_at, self.finished_at),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What became of one row; ``put_back_at`` and ``taken_at`` are by when at the latest, the others exact.

    ``put_back_at`` is ``None`` also where the sweep ended the row instead.
    """

    name: str
    kind: Kind
    stranded: Look
    last: Look
    put_back_at: dt.datetime | None = None
    hinted_at: dt.datetime | None = None
    taken_at: dt.datetime | None = None
    taken_by: str = ""

    @property
    def ended_at(self) -> dt.datetime | None:
        """When it came to its end."""
        return self.last.finished_at

    @property
    def untouched(self) -> bool:
        """Whether it stands as it was stored."""
        return self.last.standing == self.stranded.standing

    @property
    def filled(self) -> bool:
        """A worker that fills up with rows that are due anyhow came before the sweep did."""
        return self.kind is Kind.HINT_LOST and self.taken_at is not None and self.hinted_at is None

    def seen(self, look: Look) -> Course:
        """The course with one more look at the row."""
        taken = look.token > self.stranded.token
        # The sweep alone leads from an abandoned lease to PENDING, and a claim only from there.
        back = self.kind is Kind.LEASE_ABANDONED and (taken or look.state is DeliveryState.PENDING)
        return replace(
            self,
            last=look,
            put_back_at=self.put_back_at or (_by(look, look.hinted_at) if back else None),
            hinted_at=self.hinted_at or self._new_hint(look),
            taken_at=self.taken_at or (_by(look) if taken else None),
            taken_by=self.taken_by or (look.owner if taken else ""),
        )

    def _new_hint(self, look: Look) -> dt.datetime | None:
        return None if look.hinted_at == self.stranded.hinted_at else look.hinted_at


def _by(look: Look, *later: dt.datetime | None) -> dt.datetime:
    """By when what is seen was so: before the look, the row's end, and what came ``later``."""
    return min(at for at in (look.at, look.finished_at, *later) if at is not None)


def all_ended(courses: Iterable[Course]) -> bool:
    """Whether nothing more is to be expected of the rows that were stranded."""
    return all(one.last.state in FINISHED_STATES for one in courses if one.kind in STRANDED_KINDS)


def swept_findings(courses: Sequence[Course], *, swept: bool) -> tuple[Finding, ...]:
    """Of a sweep that acts; ``swept``: one came to its end after the last row was stranded."""
    leases, hints = _of(courses, Kind.LEASE_ABANDONED), _of(courses, Kind.HINT_LOST)
    return (
        _came(swept),
        Finding(
            name="abandoned leases put back",
            ok=all(one.put_back_at for one in leases),
            saw=_share(sum(one.put_back_at is not None for one in leases), leases),
            wanted="all of them",
        ),
        *([_hinted(hints)] if hints else []),
        *_controls(courses),
        _ended([*leases, *hints]),
    )


def observed_findings(
    courses: Sequence[Course], *, swept: bool, counted: int, others: int
) -> tuple[Finding, ...]:
    """Of a sweep that only counts: it ``counted`` so many rows, of which ``others`` were not ours."""
    leases, hints = _of(courses, Kind.LEASE_ABANDONED), _of(courses, Kind.HINT_LOST)
    kept = [one for one in leases if one.untouched]
    return (
        _came(swept),
        Finding(
            name="abandoned leases counted",
            ok=counted - others == len(leases),
            saw=f"{counted}, {others} of them not from here",
            wanted=f"{len(leases)} beside the others",
        ),
        Finding(
            name="abandoned leases left alone",
            ok=len(kept) == len(leases),
            saw=_share(len(kept), leases),
            wanted="all of them: RECOVERY is observe",
        ),
        *([_unhinted(hints)] if hints else []),
        *_controls(courses),
    )


def _of(courses: Iterable[Course], kind: Kind) -> list[Course]:
    return [one for one in courses if one.kind is kind]


def _share(number: int, of: Sequence[Course]) -> str:
    return f"{number} of {len(of)}"


def _came(swept: bool) -> Finding:
    return Finding(
        name="a sweep came",
        ok=swept,
        saw="yes" if swept else "none came to its end in time",
        wanted="one of beat and a control worker, or of the poller; or --sweep-here",
    )


def _hinted(hints: Sequence[Course]) -> Finding:
    hinted, filled = [one for one in hints if one.hinted_at], [one for one in hints if one.filled]
    saw = _share(len(hinted), hints)
    if filled:
        saw += f"; a worker that was at it anyhow took {len(filled)} before the sweep came"
    return Finding(
        name="lost hints hinted at again",
        ok=bool(hinted) and len(hinted) + len(filled) == len(hints),
        saw=saw,
        wanted="at least one, and all that no worker took before: the broker answers, its queue is short",
    )


def _unhinted(hints: Sequence[Course]) -> Finding:
    hinted = [one for one in hints if one.hinted_at]
    return Finding(
        name="no lost hint hinted at again",
        ok=not hinted,
        saw=_share(len(hinted), hints),
        wanted="none: RECOVERY is observe",
    )


def _controls(courses: Sequence[Course]) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            name=f"{kind} left alone",
            ok=all(one.untouched for one in _of(courses, kind)),
            saw="untouched" if all(one.untouched for one in _of(courses, kind)) else "it was touched",
            wanted="untouched",
        )
        for kind in (Kind.LEASE_LIVE, Kind.NOT_DUE)
    )


def _ended(stranded: Sequence[Course]) -> Finding:
    taken = [one for one in stranded if one.taken_at and one.ended_at]
    return Finding(
        name="taken by a worker, and ended",
        ok=len(taken) == len(stranded),
        saw=_share(len(taken), stranded),
        wanted="all of them; a worker of the channel, the poller, or --sweep-here takes them",
    )
