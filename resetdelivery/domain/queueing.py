"""Textbook queues, as far as :mod:`resetdelivery.domain.capacity` needs them. Pure; times in seconds.

Sources: A. K. Erlang 1917 (waiting with several servers); L. Kleinrock, "Queueing Systems" volume 1,
1975, sections 3.4 and 3.5 (M/M/c, M/M/c/K); P. J. Denning and J. P. Buzen, "The Operational Analysis of
Queueing Network Models", 1978 (utilisation law, bounds); P. Schweitzer 1979 and M. Reiser and
S. Lavenberg 1980 (mean value analysis of closed networks); A. Seidmann, P. Schweitzer and
S. Shalev-Oren 1987 (several servers at one station of such a network).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

_QUANTILES = 400
_ROUNDS = 200
#: From here on the beta distribution is taken for a normal one.
_MANY = 60


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


def occupancy(servers: int, places: int, load: float, *, variability: float = 1.0) -> list[float]:
    """The shares of time with 0, 1, ... ``places`` in an M/G/c/K queue, those in service included.

    ``variability`` is the squared coefficient of variation of service. Exact for 1 (M/M/c/K). Else what
    waits has the geometric shape of the diffusion approximation (H. Kobayashi 1974), and the full state
    the share that lets in as much as is served.
    """
    logs = [0.0]
    ratio = load / servers
    slope = 2.0 * (ratio - 1.0) / (ratio + variability) if ratio else -math.inf
    step = math.log(ratio) if ratio and variability == 1.0 else slope
    for number in range(1, places):
        logs.append(logs[-1] + (math.log(load / number) if load and number <= servers else step))
    top = max(logs)
    weights = [math.exp(one - top) for one in logs]
    let_in = load * math.fsum(weights)
    served = math.fsum(weight * min(number, servers) for number, weight in enumerate(weights))
    weights.append(max(0.0, (let_in - served) / servers))
    total = math.fsum(weights)
    return [one / total for one in weights]


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
        queues = [rate * one.demand / one.servers * seen for one, seen in zip(stations, found, strict=True)]
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
