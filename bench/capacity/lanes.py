"""The same system as :mod:`resetdelivery.domain.capacity`, event by event: an independent check of it.

Pure and seeded. No queueing formula is used here: hints, the broker's queue, what a worker fetches
ahead, riders, waves and the interpreter's lock are played through as they are in ``delivery.deliver``.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from bench.capacity.measured import quantile, steady_rate
from resetdelivery.domain.capacity import Cost, System


@dataclass(slots=True, kw_only=True)
class Played:
    """Delays in the order of their marks, and when each delivery was settled; ``expired`` were not sent."""

    delays: list[float] = field(default_factory=list)
    settled: list[float] = field(default_factory=list)
    batches: int = 0
    waves: int = 0
    expired: int = 0

    def quantile(self, share: float, *, skip: float = 0.1) -> float:
        """A quantile of the delays, without the first ones, which found everything empty."""
        return quantile(self.delays, share, skip=skip)

    def mean(self, *, skip: float = 0.1) -> float:
        """The mean of the same."""
        kept = self.delays[int(len(self.delays) * skip) :]
        return math.fsum(kept) / len(kept)

    def rate(self) -> float:
        """Deliveries per second."""
        return steady_rate(self.settled)


@dataclass(slots=True, kw_only=True)
class _Row:
    due: float
    hinted: bool
    taken: bool = False


Lane = Iterator[tuple[str, float]]


class _Server:
    """Customers one after the other, in ``servers`` places: the interpreter's lock, the database's cores."""

    def __init__(self, servers: int) -> None:
        self._free = [0.0] * servers

    def until(self, now: float, seconds: float) -> float:
        begins = max(now, heapq.heappop(self._free))
        heapq.heappush(self._free, begins + seconds)
        return begins + seconds


class Lanes:
    """One run: rows arrive, lanes deliver them, until all is done."""

    def __init__(self, system: System, seed: int) -> None:
        self.system = system
        self.now = 0.0
        self.played = Played()
        self._random = random.Random(seed)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._rows: deque[_Row] = deque()
        self._broker: deque[_Row] = deque()
        self._fetched: list[deque[_Row]] = [deque() for _ in range(system.workers)]
        self._idle = [system.concurrency] * system.workers
        self._interpreters = [_Server(1) for _ in range(system.workers)]
        self._database = _Server(system.database_cores)

    def backlog(self, number: int) -> Played:
        """Deliver ``number`` rows that all wait when the lanes begin."""
        self._rows.extend(_Row(due=0.0, hinted=False) for _ in range(number))
        for row in itertools.islice(self._rows, self.system.lanes):
            self._broker.append(row)
        self._fetch()
        return self._run()

    def arrivals(self, rate: float, number: int) -> Played:
        """Deliver ``number`` rows that arrive at random, ``rate`` a second on average."""
        at = 0.0
        for _ in range(number):
            at += self._random.expovariate(rate)
            self._at(at, self._arrive)
        return self._run()

    def _run(self) -> Played:
        while self._events:
            self.now, _, step = heapq.heappop(self._events)
            step()
        return self.played

    def _at(self, moment: float, step: Callable[[], None]) -> None:
        heapq.heappush(self._events, (moment, next(self._order), step))

    def _arrive(self) -> None:
        row = _Row(due=self.now, hinted=len(self._broker) < self.system.hint_backlog)
        self._rows.append(row)
        if row.hinted:
            self._broker.append(row)
            self._at(self.now + self.system.costs.pickup, self._fetch)

    def _fetch(self) -> None:
        """Workers take hints: for a thread that is free, or ahead, one per thread."""
        while self._broker:
            worker = max(range(self.system.workers), key=self._room)
            if not self._room(worker):
                return
            self._fetched[worker].append(self._broker.popleft())
            self._begin(worker)

    def _room(self, worker: int) -> int:
        return self.system.concurrency + self._idle[worker] - len(self._fetched[worker])

    def _begin(self, worker: int) -> None:
        while self._fetched[worker] and self._idle[worker]:
            self._idle[worker] -= 1
            self._go_on(worker, self._task(self._fetched[worker].popleft()))

    def _go_on(self, worker: int, lane: Lane) -> None:
        """Take a lane's next step, and come back when it is done."""
        try:
            what, seconds = next(lane)
        except StopIteration:
            self._idle[worker] += 1
            self._begin(worker)
            self._fetch()
            return
        if what == "worker":
            done = self._interpreters[worker].until(self.now, seconds)
        elif what == "database":
            done = self._database.until(self.now, seconds)
        else:
            done = self.now + seconds
        self._at(done, lambda: self._go_on(worker, lane))

    def _task(self, named: _Row) -> Lane:
        costs, limit = self.system.costs, self.system.claim_limit
        yield from _paid(costs.hint)
        first: _Row | None = named
        while True:
            yield from _paid(costs.claim)
            batch = self._claim(first)
            self.played.batches += bool(batch)
            for begin in range(0, len(batch), self.system.wave):
                yield from self._wave(batch[begin : begin + self.system.wave])
            if len(batch) < limit:
                return
            first = None

    def _claim(self, named: _Row | None) -> list[_Row]:
        self.played.expired += sum(not row.taken and self._is_past(row) for row in self._rows)
        self._rows = deque(row for row in self._rows if not row.taken and not self._is_past(row))
        batch = [named] if named and not named.taken and not self._is_past(named) else []
        filled = (
            row
            for row in self._rows
            if row is not named and (not row.hinted or row.due <= self.now - self.system.fill_after)
        )
        batch += itertools.islice(filled, self.system.claim_limit - len(batch))
        for row in batch:
            row.taken = True
        return sorted(batch, key=lambda row: row.due)

    def _is_past(self, row: _Row) -> bool:
        return self.now - row.due > self.system.useful_life

    def _wave(self, wave: list[_Row]) -> Lane:
        costs = self.system.costs
        # Half of what a wave costs comes before its submissions, half after them.
        yield from _paid(costs.wave.times(0.5))
        self.played.delays += [self.now - row.due for row in wave]
        yield from _paid(costs.row.times(len(wave)))
        yield "provider", self._answers(len(wave))
        yield from _paid(costs.wave.times(0.5))
        self.played.settled += [self.now] * len(wave)
        self.played.waves += 1

    def _answers(self, number: int) -> float:
        """The slowest of so many answers, as many at once as the process has threads for."""
        rest, total = number, 0.0
        while rest > 0:
            total += max(self._latency() for _ in range(min(rest, self.system.width)))
            rest -= self.system.width
        return total

    def _latency(self) -> float:
        mean, deviation = self.system.latency, self.system.deviation
        if not mean or not deviation:
            return mean
        variance = math.log1p((deviation / mean) ** 2)
        return self._random.lognormvariate(math.log(mean) - variance / 2, math.sqrt(variance))


def _paid(cost: Cost) -> Lane:
    """A cost's parts one after the other."""
    for name, seconds in (("worker", cost.worker), ("database", cost.database), ("wait", cost.waiting)):
        if seconds:
            yield name, seconds
