"""Whether one of two samples tends to be larger: the Mann-Whitney U test. Pure.

Mann and Whitney, Annals of Mathematical Statistics 18 (1947), 50-60. The normal approximation with
the correction for ties and for continuity, as in Lehmann, Nonparametrics (1975), 1.2 and 1.4: good
for samples of ten and more. The effect size is Wendt's rank-biserial correlation (European
Journal of Social Psychology 2 (1972), 463-465).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import NormalDist


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTest:
    """``u`` counts the pairs in which the first sample's value is the larger one, ties by half.

    ``p`` is two-sided. ``effect`` runs from -1 (the first sample is smaller in every pair) over 0
    (neither tends to be) to 1; ``(1 + effect) / 2`` is how often the first one is larger.
    """

    u: float
    p: float
    effect: float


def rank_test(first: Sequence[float], second: Sequence[float]) -> RankTest:
    """Compare two samples; ``ValueError`` if one is empty."""
    m, n = len(first), len(second)
    if not m or not n:
        raise ValueError("A rank test needs two samples with at least one value each.")
    ranked = list(_ranks([(v, True) for v in first] + [(v, False) for v in second]))
    u = sum(rank for rank, of_first in ranked if of_first) - m * (m + 1) / 2
    return RankTest(u=u, p=_two_sided(u, m, n, _tied(ranked)), effect=2 * u / (m * n) - 1)


def _ranks(values: Sequence[tuple[float, bool]]) -> Iterator[tuple[float, bool]]:
    """Each value's rank from 1, and whether it is of the first sample; equal values share one rank."""
    before = 0
    for _, group in groupby(sorted(values), key=lambda pair: pair[0]):
        equal = list(group)
        shared = before + (len(equal) + 1) / 2
        before += len(equal)
        yield from ((shared, of_first) for _, of_first in equal)


def _tied(ranked: Sequence[tuple[float, bool]]) -> int:
    """The sum of t³ - t over the groups of t equal values."""
    sizes = [len(list(group)) for _, group in groupby(ranked, key=lambda pair: pair[0])]
    return sum(t**3 - t for t in sizes)


def _two_sided(u: float, m: int, n: int, tied: int) -> float:
    total = m + n
    variance = m * n / 12 * (total + 1 - tied / (total * (total - 1)))
    if variance == 0:
        return 1.0  # all values are equal
    distance = max(0.0, abs(u - m * n / 2) - 0.5)
    return min(1.0, 2 * NormalDist().cdf(-distance / math.sqrt(variance)))
