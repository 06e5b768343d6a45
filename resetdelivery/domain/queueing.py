"""Textbook queues, as far as :mod:`resetdelivery.domain.capacity` needs them. Pure; times in seconds.

Sources: A. K. Erlang 1917 (waiting with several servers); L. Kleinrock, "Queueing Systems" volume 1,
1975, sections 3.4 and 3.5 (M/M/c, M/M/c/K); P. J. Denning and J. P. Buzen, "The Operational Analysis of
Queueing Network Models", 1978 (utilisation law, bounds); P. Schweitzer 1979 and M. Reiser and
S. Lavenberg 1980 (mean value analysis of closed networks); A. Seidmann, P. Schweitzer and
S. Shalev-Oren 1987 (several servers at one station of such a network).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

_QUANTILES = 400
_ROUNDS = 200
#: From here on the beta distribution is taken for a normal one.
_MANY = 60
#: So many standard deviations away, a Poisson variable never is.
_SURELY = 12.0
_NEGLIGIBLE = 1e-14
#: Below this, steps of a geometric series are taken for equal.
_EVEN = 1e-12
#: Ranks that are told apart.
_GROUPS = 128


def erlang_c(servers: int, load: float) -> float:
    """The probability that an arrival has to wait (M/M/c); ``load`` in Erlang, below ``servers``."""
    if load >= servers:
        return 1.0
    # Erlang B by its recursion, which stays within floating point for any number of servers.
    blocked = 1.0
    for number in range(1, servers + 1):
        blocked = load * blocked / (number + load * blocked)
    return servers * blocked / (servers - load * (1.0 - blocked))


def mean_wait(servers: int, load: float, service: float, *, variability: float = 1.0) -> float:
    """The mean wait of G/G/c as Allen and Cunneen approximate it; infinite where ``load`` is too much.

    ``variability`` is half the sum of the squared coefficients of variation of arrivals and service:
    1 for M/M/c, where the answer is exact, and 0.5 for M/D/c. A. O. Allen, "Probability, Statistics,
    and Queueing Theory", 2nd edition 1990, section 5.4.
    """
    if load >= servers:
        return math.inf
    return erlang_c(servers, load) * service / (servers - load) * variability


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """Shares of time in a queue with ``waiting_places``: some server is ``free``, or all places are taken.

    Between them all servers are busy and places are left: ``log_busy`` is the logarithm of the share with
    nobody waiting, and each one that waits adds ``step`` to it.
    """

    free: float
    log_busy: float
    step: float
    waiting_places: int
    full: float

    def ranks(self, groups: int = _GROUPS) -> Iterator[tuple[int, float]]:
        """The rank that an arrival gets among those that wait, and how often; at most ``groups`` of them.

        More than that are taken together, each group for its middle.
        """
        size = max(1, math.ceil(self.waiting_places / groups))
        for begin in range(0, self.waiting_places, size):
            number = min(size, self.waiting_places - begin)
            share = _geometric(self.log_busy + self.step * begin, number, self.step)
            if share:
                yield begin + (number + 1) // 2, share


def occupancy(servers: int, places: int, load: float, *, variability: float = 1.0) -> Occupancy:
    """How full an M/G/c/K queue is, with ``places`` in all, those in service included.

    ``variability`` is the squared coefficient of variation of service. Exact for 1 (M/M/c/K). Else what
    waits has the geometric shape of the diffusion approximation (H. Kobayashi 1974), and the full state
    the share that lets in as much as is served. The work grows with the square root of ``load``, not
    with ``servers``.
    """
    waiting = places - servers
    if not load or load + _SURELY * math.sqrt(load) + _SURELY < servers:
        return Occupancy(free=1.0, log_busy=-math.inf, step=0.0, waiting_places=waiting, full=0.0)
    ratio = load / servers
    step = math.log(ratio) if variability == 1.0 else 2.0 * (ratio - 1.0) / (ratio + variability)
    # Relative to the fullest state below "full", so that nothing overflows.
    log_busy = -step * max(0, waiting - 1) if step > 0.0 else 0.0
    free = math.exp(log_busy) * _below(servers, load)
    between = _geometric(log_busy, waiting, step)
    full = max(0.0, math.exp(log_busy) + (ratio - 1.0) * between)
    total = free + between + full
    return Occupancy(
        free=free / total,
        log_busy=log_busy - math.log(total),
        step=step,
        waiting_places=waiting,
        full=full / total,
    )


def _below(servers: int, load: float) -> float:
    """How often fewer than ``servers`` are busy, for each time that just all of them are."""
    term, found = 1.0, 0.0
    for number in range(servers, 0, -1):
        term *= number / load
        found += term
        if number < load and term < found * _NEGLIGIBLE:
            break
    return found


def _geometric(log_first: float, number: int, step: float) -> float:
    """The sum of ``number`` terms, of which each is the one before it times the exponential of ``step``."""
    if number == 0 or log_first == -math.inf:
        return 0.0
    if abs(step) < _EVEN:
        return number * math.exp(log_first)
    # From the largest term on.
    largest = log_first + step * (number - 1) if step > 0.0 else log_first
    return math.exp(largest) * math.expm1(-abs(step) * number) / math.expm1(-abs(step))


def at_least(number: int, mean: float) -> float:
    """The probability that a Poisson variable is at least ``number``."""
    if number <= 0:
        return 1.0
    if mean <= 0.0:
        return 0.0
    logs = (n * math.log(mean) - mean - math.lgamma(n + 1) for n in range(number))
    return max(0.0, 1.0 - math.fsum(map(math.exp, logs)))


@lru_cache(maxsize=4096)
def slowest_of(number: int, mean: float, deviation: float) -> float:
    """The expected largest of ``number`` independent log-normal times."""
    if not deviation or not mean:
        return mean
    variance = math.log1p((deviation / mean) ** 2)
    normal = NormalDist(math.log(mean) - variance / 2, math.sqrt(variance))
    shares = (((step + 0.5) / _QUANTILES) ** (1.0 / number) for step in range(_QUANTILES))
    return math.fsum(math.exp(normal.inv_cdf(share)) for share in shares) / _QUANTILES


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """What each customer of a closed network visits once a round: ``demand`` seconds of one server.

    ``copies`` are equal stations of which a customer always visits the same one, as a thread does its
    process; ``servers`` serve one station's queue together.
    """

    demand: float
    servers: int = 1
    copies: int = 1


def rounds_per_second(customers: int, stations: Sequence[Station], think: float) -> float:
    """How many rounds ``customers`` make together, each pausing for ``think`` seconds within one.

    Approximate mean value analysis: an arrival sees the queue that the others leave on average.
    """
    queues = [0.0] * len(stations)
    rate = 0.0
    for _ in range(_ROUNDS):
        found = [1.0 + _others(one, customers, queue) for one, queue in zip(stations, queues, strict=True)]
        times = [_seconds_at(one, seen) for one, seen in zip(stations, found, strict=True)]
        whole = think + math.fsum(times)
        rate = customers / whole if whole else math.inf
        before = queues
        queues = [rate * one.demand / one.servers * seen for one, seen in zip(stations, found, strict=True)]
        if all(math.isclose(*pair, rel_tol=1e-7) for pair in zip(before, queues, strict=True)):
            break
    return min([rate, *(one.copies * one.servers / one.demand for one in stations if one.demand)])


def _others(station: Station, customers: int, queue: float) -> float:
    """The mean number of others that an arrival finds at its own copy of a station."""
    own = max(1.0, customers / station.copies)
    return queue / station.copies * (own - 1.0) / own


def _seconds_at(station: Station, seen: float) -> float:
    """Seconds at a station; of several servers, all but one are a pause (Seidmann)."""
    return station.demand * (station.servers - 1 + seen) / station.servers


def order_statistic_within(share: float, rank: int, number: int) -> float:
    """The probability that at least ``rank`` of ``number`` uniform values are at most ``share``."""
    if share <= 0.0 or share >= 1.0:
        return float(share >= 1.0)
    if number > _MANY:
        mean = rank / (number + 1)
        variance = rank * (number + 1 - rank) / ((number + 1) ** 2 * (number + 2))
        return NormalDist(mean, math.sqrt(variance)).cdf(share)
    return math.fsum(
        math.comb(number, hits) * share**hits * (1.0 - share) ** (number - hits)
        for hits in range(rank, number + 1)
    )
