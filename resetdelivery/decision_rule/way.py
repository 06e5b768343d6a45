"""One channel's way at one boundary, as the rule sees it: terms, cases, and what is apart from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from notifications.channels import Channel
from resetdelivery.conf import Dispatch
from resetdelivery.decision_rule.measured import Percentiles
from resetdelivery.domain.decision_rule import Course

#: The source of a life that no setting says.
ASKED_FOR = "the shortest that was asked for"


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One duration in seconds, as set for the normal and for the worst case, and as measured.

    The larger counts: of p95 and what is set normally, of p99 and what is set at worst. ``source`` is
    what it is set by.
    """

    what: str
    source: str
    set_normal: float
    set_worst: float
    measured: Percentiles | None = None

    @property
    def normal(self) -> float:
        """What counts where nothing fails."""
        return max(self.set_normal, self.measured.p95 if self.measured else 0.0)

    @property
    def worst(self) -> float:
        """What counts in the rule."""
        return max(self.set_worst, self.measured.p99 if self.measured else 0.0)

    @property
    def is_measured(self) -> bool:
        """Whether what was measured counts in the rule."""
        return self.worst > self.set_worst

    @property
    def origin(self) -> str:
        """Where the rule's value comes from."""
        return (
            f"measured p99 of {self.measured.number}" if self.measured and self.is_measured else self.source
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """The shortest life that is admitted, and what says so: a setting, or what was asked for."""

    seconds: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """The worst case where the channel waits for all the others: ``behind`` them so many seconds."""

    behind: tuple[Channel, ...]
    seconds: float
    worst: Course


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What may go before a row in a full batch: so many waves, each as long as a time-out."""

    waves: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One channel at one boundary: its terms by the names of :class:`Course`'s fields, and both cases.

    ``normal`` is the case in which nobody dies and failures come at once, ``worst`` the one that the
    rule is about. ``recovers`` says whether anybody puts back what a dead worker held; where nobody
    does, ``worst`` is without a dead worker. ``lost_hint_seconds`` is ``None`` where nobody tells again.
    ``fallback`` is ``None`` where no other channel is configured; ``earlier`` is in no case.
    """

    channel: Channel
    boundary: Dispatch
    life: Life
    terms: Mapping[str, Term]
    normal: Course
    worst: Course
    max_attempts: int
    recovers: bool
    lost_hint_seconds: float | None
    fallback: Fallback | None
    earlier: Batch

    @property
    def holds(self) -> bool:
        """Whether the rule does: all attempts fit, after one dead worker."""
        return self.recovers and self.worst.tries == self.max_attempts and self.worst.all_fit

    def after_lost_hint(self) -> tuple[int, int]:
        """How many attempts fit where the first hint is lost: alone, and with a dead worker on top."""
        late = replace(self.worst, hint_seconds=self.worst.hint_seconds + (self.lost_hint_seconds or 0.0))
        return replace(late, recovery_seconds=0.0).fitting, late.fitting

    @property
    def holds_as_fallback(self) -> bool:
        """Whether the rule does for a row that waits for the other channels first."""
        return self.holds and (self.fallback is None or self.fallback.worst.all_fit)
