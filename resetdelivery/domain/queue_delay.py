"""How long a delivery waits from its admission until its attempt is on record. Pure; seconds.

Hints are an M/G/c/K queue: ``lanes`` servers, and waiting places in the broker's queue
(``HINT_BACKLOG``) and with the workers, which fetch one hint per thread ahead. An arrival that finds
all places taken publishes no hint. It is not lost: it rides along with the next batch that begins. So
batches grow with the load, and hints do not.

An approximation, checked against ``bench.capacity.lanes``, which uses none of it. Its one free choice is how
even the gaps between two beginnings are: the lanes' phases are neither in step nor independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from resetdelivery.domain.capacity import Cost, Flow, System, highest_rate
from resetdelivery.domain.queueing import (
    Station,
    at_least,
    occupancy,
    order_statistic_within,
    rounds_per_second,
)

_ROUNDS = 60
_STEPS = 24
_NEGLIGIBLE = 0.01
#: Of a batch's time, squared: batches take about equally long, for the provider's latency is most of it.
_VARIABILITY = 0.1
#: Where batches are one wave, gaps are half as uneven as independent phases make them.
_UNEVEN = 0.5
#: A lane comes to the interpreter for one step after the other: what it waits until its mark lies between
#: that of a single queue and that of equal shares for all. Fitted to the simulation.
_UNTIL_MARK = 0.67
_PARTS = 12
#: No delay that is looked for is longer, in seconds.
_ENDLESS = 1e7


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDelay:
    """``mean`` and ``p95`` in seconds, infinite where ``saturated``; ``expired_share`` of all arrivals.

    ``highest_rate`` is what the system can take for good.
    """

    flow: Flow
    mean: float
    p95: float
    saturated: bool
    expired_share: float
    highest_rate: float


def queue_delay(system: System, arrivals: float) -> QueueDelay:
    """The delay at a steady rate of ``arrivals`` (Poisson).

    Above the highest rate the backlog grows until resets expire in it: the delay then has no limit but
    their useful life, and what cannot be served expires.
    """
    highest = highest_rate(system)
    if arrivals >= highest:
        rows = system.claim_limit
        return QueueDelay(
            flow=Flow(arrivals=highest, batches=highest / rows, waves=math.ceil(rows / system.wave)),
            mean=math.inf,
            p95=math.inf,
            saturated=True,
            expired_share=1.0 - highest / arrivals,
            highest_rate=highest,
        )
    waits = _Waits(system, arrivals)
    return QueueDelay(
        flow=waits.flow,
        mean=waits.mean(),
        p95=waits.quantile(0.95),
        saturated=False,
        expired_share=0.0,
        highest_rate=highest,
    )


def is_kept(system: System, arrivals: float, p95_seconds: float) -> bool:
    """Whether 95 of 100 wait no longer than ``p95_seconds``: the same answer with less work."""
    if arrivals >= highest_rate(system):
        return False
    waits = _Waits(system, arrivals)
    left = p95_seconds - waits.first()
    return left >= 0.0 and waits.within(left) >= 0.95


class _Waits:
    """The distribution of the delay at one rate."""

    def __init__(self, system: System, arrivals: float) -> None:
        self.system = system
        self.arrivals = arrivals
        self.stretch = self.longest_stretch = 1.0
        self.lanes = system.lanes
        self.places = 2 * system.lanes + system.hint_backlog
        self.most_waves = math.ceil(system.claim_limit / system.wave)
        self._settle()
        behind = [1.0, *(self._behind(n * system.wave - 1) for n in range(1, self.most_waves)), 0.0]
        self.contended = self._contended()
        self.in_wave = [behind[n] - behind[n + 1] for n in range(self.most_waves)]

    def _settle(self) -> None:
        """How large batches are and how long they take depend on each other: where they agree."""
        rows, waves = 1.0, 1.0
        for _ in range(_ROUNDS):
            self.rows, self.uneven = rows, _UNEVEN / waves
            self.wave_seconds, self.batch_seconds = self._times(rows, waves)
            load = self.arrivals * self.batch_seconds
            occupied = occupancy(self.lanes, self.places, load, variability=_VARIABILITY)
            hinted = max(1.0 / self.system.claim_limit, 1.0 - occupied.full)
            rows = (rows + 1.0 / hinted) / 2
            waves = (waves + self._mean_waves(rows)) / 2
        self.free, self.full, self.ranks = occupied.free, occupied.full, list(occupied.ranks())
        self.flow = Flow(arrivals=self.arrivals, batches=self.arrivals / rows, waves=waves)

    def _times(self, rows: float, waves: float) -> tuple[float, float]:
        """Seconds of one wave and of the whole batch, with what others do on the same cores."""
        system, cost = self.system, self.system.costs.batch(rows, waves)
        pauses = waves * system.wave_latency(rows / waves) + cost.waiting
        alone = cost.worker + cost.database
        work = alone
        if alone:
            longest = max(alone, self._all_busy(cost, pauses) - pauses)
            work = min(self._shared(cost, rows), longest)
            self.stretch, self.longest_stretch = work / alone, longest / alone
        before = system.costs.hint.seconds + system.costs.claim.seconds
        return (pauses + max(0.0, work - before)) / waves, pauses + work

    def _shared(self, cost: Cost, rows: float) -> float:
        """Seconds of a batch's work where as many batches begin as it takes, however many lanes there are."""
        system, batches = self.system, self.arrivals / rows
        others = (system.concurrency - 1) / system.concurrency
        worker = 1.0 - others * min(1.0, batches * cost.worker / system.workers)
        own = self._of_database(cost)
        busy = min(1.0, batches * own / system.database_cores)
        database = max(1.0 - busy**system.database_cores, 1.0 / system.lanes)
        return cost.worker / worker + own / database

    def _all_busy(self, cost: Cost, pauses: float) -> float:
        """Seconds of a batch where every lane has one: no more begin than the resources let through."""
        system = self.system
        stations = [
            Station(demand=cost.worker, copies=system.workers),
            Station(demand=self._of_database(cost), servers=system.database_cores),
        ]
        return system.lanes / rounds_per_second(system.lanes, stations, pauses)

    def _of_database(self, cost: Cost) -> float:
        """What a batch takes of the database's time that admissions leave."""
        system = self.system
        return cost.database / (1.0 - self.arrivals * system.costs.admission.database / system.database_cores)

    def _mean_waves(self, rows: float) -> float:
        """Waves follow from how many ride along: as many as arrive between two beginnings."""
        others = [n * self.system.wave - 1 for n in range(1, self.most_waves)]
        regular = math.fsum(at_least(number, rows - 1.0) for number in others)
        uneven = math.fsum(self._gap_longer(number / self.arrivals) for number in others)
        if rows < 1.01 or self.lanes == 1:
            return 1.0 + regular
        return 1.0 + (1.0 - self.uneven) * regular + self.uneven * uneven

    def _gap_longer(self, gap: float) -> float:
        """That a gap between two beginnings is longer, were the lanes' phases independent."""
        return float((1.0 - min(1.0, gap / self.batch_seconds)) ** (self.lanes - 1))

    def _behind(self, others: int) -> float:
        """That at least as many rode along before it: its place in the gap is anywhere."""
        rows = self.rows - 1.0
        regular = math.fsum(at_least(others + 1, rows * (n + 0.5) / 8) for n in range(8)) / 8
        share = others / self.arrivals / self.batch_seconds
        uneven = 1.0 - order_statistic_within(share, 1, self.lanes)
        return (1.0 - self.uneven) * regular + self.uneven * uneven

    def _free_within(self, seconds: float, rank: int) -> float:
        """That ``rank`` lanes become free within ``seconds``, all being busy now."""
        rounds, rest = divmod(rank - 1, self.lanes)
        return order_statistic_within(seconds / self.batch_seconds - rounds, rest + 1, self.lanes)

    def _begun_within(self, seconds: float) -> float:
        """That the next batch begins within ``seconds``, for one that rides along."""
        regular = min(1.0, max(0.0, seconds * self.lanes / self.batch_seconds))
        return (1.0 - self.uneven) * regular + self.uneven * self._free_within(seconds, 1)

    def within(self, seconds: float) -> float:
        """The share of deliveries that wait no longer, beyond what even the first one waits."""
        return math.fsum(self._taken_within(seconds - one) for one in self.contended) / len(self.contended)

    def _taken_within(self, seconds: float) -> float:
        """That a lane takes it so soon."""
        if seconds < 0.0:
            return 0.0
        found = self.free
        after_fill = self._begun_within(seconds - self.system.fill_after)
        for rank, share in self.ranks:
            soon = self._free_within(seconds, rank)
            # One that was hinted at rides along, too, once it has been due for FILL_AFTER.
            found += share * (1.0 - (1.0 - soon) * (1.0 - after_fill))
        rides = (
            share * self._begun_within(seconds - n * self.wave_seconds)
            for n, share in enumerate(self.in_wave)
        )
        return found + self.full * math.fsum(rides)

    def _contended(self) -> list[float]:
        """How long its lane then waits for interpreter and database until the mark, a value for each part.

        Memoryless, but no longer than where every lane of the process has a batch.
        """
        costs, stretch = self.system.costs, self.stretch
        before = costs.hint + costs.claim + costs.wave.times(0.5)
        work = _UNTIL_MARK * (before.worker + before.database)
        mean, longest = work * (stretch - 1.0), work * (self.longest_stretch - 1.0)
        if mean < _NEGLIGIBLE * self.first():
            return [0.0]
        return [min(longest, -mean * math.log1p(-(n + 0.5) / _PARTS)) for n in range(_PARTS)]

    def first(self) -> float:
        """What a delivery waits for although a lane is free."""
        costs = self.system.costs
        return costs.pickup + costs.hint.seconds + costs.claim.seconds + costs.wave.seconds / 2

    def quantile(self, share: float) -> float:
        """The delay that ``share`` of all deliveries do not exceed."""
        if self.within(0.0) >= share:
            return self.first()
        low, high = 0.0, self.batch_seconds
        while high < _ENDLESS and self.within(high) < share:
            low, high = high, high * 2.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.within(middle) < share else (low, middle)
        return self.first() + high

    def mean(self) -> float:
        """The mean delay: the area above the distribution."""
        top = self.quantile(1.0 - 1e-4) - self.first()
        steps = 100
        area = math.fsum(1.0 - self.within((n + 0.5) / steps * top) for n in range(steps)) * top / steps
        return self.first() + area
