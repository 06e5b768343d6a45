"""Whether the time of an answer tells who has an account: the forgot-password page, pair by pair.

``python -m bench.enumeration [--pairs 1000] [--skip-work]``: about half a minute on PostgreSQL;
loopback only; leaves nothing behind. ``--skip-work`` measures a build that answers unknown
accounts before any work, to show that this would be seen.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from bench.rank_test import RankTest, rank_test
from bench.surroundings import make_accounts, on_each_database

WARM_UP = 50
PATH = "/accounts/forgot/"


def measure(pairs: int, *, skip_work: bool) -> None:
    """Print what the two samples differ in."""
    make_accounts(WARM_UP + pairs)
    if skip_work:
        with answering_nobody_at_once():
            known, unknown = _timed(pairs)
    else:
        known, unknown = _timed(pairs)
    _report("skips the work" if skip_work else "as shipped", known, unknown)


def _timed(pairs: int) -> tuple[list[float], list[float]]:
    """Seconds for known and for unknown addresses, of one length, in random order within a pair."""
    took: dict[str, list[float]] = {"buyer": [], "guest": []}
    draw = random.Random(1)
    gc.collect()
    gc.disable()  # its pauses would only be noise
    for number in range(WARM_UP + pairs):
        for who in draw.sample(list(took), 2):
            took[who].append(_ask(f"{who}{number}@shop.example"))
    gc.enable()
    return took["buyer"][WARM_UP:], took["guest"][WARM_UP:]


def _ask(address: str) -> float:
    from django.test import Client

    client = Client(SERVER_NAME="localhost")
    form = {"email": address, "request_key": str(uuid.uuid4())}
    started = time.perf_counter()
    response = client.post(PATH, form)
    took = time.perf_counter() - started
    assert response.status_code == 302, response.status_code
    return took


@contextmanager
def answering_nobody_at_once() -> Iterator[None]:
    """A build as it should not be: an address that nobody has is answered before anything is stored."""
    from unittest import mock

    from django.utils import timezone

    from resetdelivery import services
    from resetdelivery.admission import Admission, admit
    from resetdelivery.directory import get_directory
    from resetdelivery.domain.request import ResetRequest

    def leaky(request: ResetRequest, *, using: str) -> Admission:
        if not get_directory().resolve(request.submitted or ""):
            return Admission(reference=uuid.uuid4(), expires_at=timezone.now())
        return admit(request, using=using)

    with mock.patch.object(services, "admit", leaky):
        yield


def _report(build: str, known: Sequence[float], unknown: Sequence[float]) -> None:
    found = rank_test(known, unknown)
    print(f"  build: {build}, {len(known)} pairs")
    for name, took in (("known", known), ("unknown", unknown)):
        low, middle, high = (1000 * quantile for quantile in statistics.quantiles(took, n=4))
        print(f"  {name:<8} median {middle:7.3f} ms   quartiles {low:7.3f} and {high:7.3f} ms")
    p = f"{found.p:.3g}" if found.p else "below 1e-300"
    print(f"  Mann-Whitney U {found.u:.0f}   p {p}   effect (rank-biserial) {found.effect:+.3f}")
    print(f"  {_verdict(found)}")


def _verdict(found: RankTest) -> str:
    return "a difference shows" if found.p < 0.001 else "no difference shows"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--skip-work", action="store_true")
    options = parser.parse_args()
    step = partial(measure, options.pairs, skip_work=options.skip_work)
    on_each_database("bench.enumeration", step, databases=("postgresql",))


if __name__ == "__main__":
    main()
