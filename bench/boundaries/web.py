"""The web process of the comparison: admits one reset per arrival, in as many threads as a server has.

``python -m bench.boundaries.web prepare`` makes tables and accounts; ``… web admit`` waits for nothing
but the clock: whoever comes while all threads are busy waits, and that counts. It ends when nothing is
open any more, and writes what it saw as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import django

from bench.boundaries.arrivals import Arrivals
from bench.boundaries.measures import Request

#: Two gunicorn workers of eight threads.
THREADS = 16
#: From the word that it is ready to the first arrival: time to read everybody's processor time.
HEAD_START_SECONDS = 0.5
#: For the requests that warm everything up to be delivered, where they can be.
WARM_SECONDS = 2.0
#: After the last expiry, for the sweep to see it.
SLACK_SECONDS = 6.0
_LOOK_AGAIN_SECONDS = 0.25


def prepare(accounts: int) -> None:
    """Tables and ``accounts`` in an empty database, and one more for each thread to be warmed up with."""
    from django.core.management import call_command

    from bench.surroundings import make_accounts

    call_command("migrate", verbosity=0)
    make_accounts(accounts + THREADS)


def admit(arrivals: Arrivals, *, ready_file: Path) -> dict[str, Any]:
    """One request per arrival, and what became of them all."""
    from django.contrib.auth import get_user_model

    from bench.boundaries.settings import LIFETIME_SECONDS

    offsets = arrivals.offsets()
    people = [(str(pk), email) for pk, email in get_user_model().objects.values_list("pk", "email")]
    with ThreadPoolExecutor(THREADS) as threads:
        first_id = _warm(threads, people[len(offsets) :])
        ready_file.touch()
        begins = time.monotonic() + HEAD_START_SECONDS
        cpu = time.process_time()
        waiting = []
        for offset, person in zip(offsets, people, strict=False):
            time.sleep(max(0.0, begins + offset - time.monotonic()))
            waiting.append(threads.submit(_request, person, begins + offset, offset))
        requests = [one.result() for one in waiting]
    cpu = time.process_time() - cpu
    last = max((one.committed for one in requests if one.committed), default=0.0)
    _let_run_out(first_id, until=last + LIFETIME_SECONDS + SLACK_SECONDS)
    return {
        "requests": [asdict(one) for one in requests],
        "cpu_seconds": cpu,
        **_ended(first_id, dict(people)),
    }


def _warm(threads: ThreadPoolExecutor, people: Sequence[tuple[str, str]]) -> int:
    """A request in every thread, as in a server that is up for a while; the first id that counts."""
    from resetdelivery.models import Delivery

    now = time.monotonic()
    list(threads.map(lambda person: _request(person, now, 0.0), people))
    _let_run_out(0, until=now + WARM_SECONDS)
    return 1 + max(Delivery.objects.values_list("pk", flat=True), default=0)


def _request(person: tuple[str, str], due: float, offset: float) -> Request:
    from django.db import close_old_connections, transaction

    from resetdelivery.services import request_reset

    account_ref, address = person
    committed: list[float] = []
    error = ""
    try:
        # The outer transaction (as with ATOMIC_REQUESTS) lets us know the moment of the commit, which
        # comes before the delivery where that is inline.
        with transaction.atomic():
            transaction.on_commit(lambda: committed.append(time.monotonic()))
            request_reset(account_ref=account_ref, channels=["email"])
    except Exception as raised:
        error = type(raised).__name__
    ended = time.monotonic()
    close_old_connections()  # as Django does after each request
    return Request(
        recipient=address,
        offset=offset,
        due=due,
        committed=committed[0] if committed else None,
        ended=ended,
        error=error,
    )


def _let_run_out(first_id: int, *, until: float) -> None:
    """Return when nothing is open any more, or at ``until``; inline at once, for nobody ever comes."""
    from resetdelivery.conf import Dispatch, get_settings
    from resetdelivery.domain.states import OPEN_STATES
    from resetdelivery.models import Delivery

    if get_settings().dispatch is Dispatch.INLINE:
        return
    still_open = Delivery.objects.filter(pk__gte=first_id, state__in=OPEN_STATES)
    while time.monotonic() < until and still_open.exists():
        time.sleep(_LOOK_AGAIN_SECONDS)


def _ended(first_id: int, addresses: Mapping[str, str]) -> dict[str, Any]:
    from resetdelivery.domain.states import OPEN_STATES
    from resetdelivery.models import Attempt, Delivery

    still_open = Delivery.objects.filter(pk__gte=first_id, state__in=OPEN_STATES)
    refs = still_open.values_list("intent__account_ref", flat=True)
    outcomes = Attempt.objects.filter(delivery__gte=first_id).values_list("outcome", flat=True)
    return {"left_open": [addresses[ref] for ref in refs], "outcomes": dict(Counter(outcomes))}


def main() -> None:
    """As the arguments say; settings and database come from the environment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["prepare", "admit"])
    parser.add_argument("--accounts", type=int, default=0)
    parser.add_argument("--arrivals", type=json.loads, default={}, help="the fields of Arrivals, as JSON")
    parser.add_argument("--ready-file", type=Path)
    parser.add_argument("--result", type=Path)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bench.boundaries.settings")
    django.setup()
    if options.what == "prepare":
        prepare(options.accounts)
    else:
        seen = admit(Arrivals(**options.arrivals), ready_file=options.ready_file)
        options.result.write_text(json.dumps(seen))


if __name__ == "__main__":
    main()
