"""Everything that a scrape reads: from the database at one go and in time, and from the broker."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db import Error, connections, router

from notifications.channels import Channel
from resetdelivery import broker
from resetdelivery.conf import Dispatch, get_settings
from resetdelivery.logs import get_logger
from resetdelivery.models import Delivery, JobRun, ProviderCircuit
from resetdelivery.telemetry.health_rows import Current, read_current
from resetdelivery.telemetry.metrics.counters import Counters, read_counters
from resetdelivery.telemetry.time_limit import time_limit

log = get_logger("resetdelivery.metrics")

#: What happened is in the counters: none of it is asked for a second time.
_NEVER = dt.datetime(9999, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What the database says: counters, open work, open circuits by channel, and when jobs succeeded."""

    counters: Counters
    current: Current
    circuits: Collection[tuple[str, str]]
    jobs: Mapping[str, JobRun]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queues:
    """What the broker says: the length of each configured channel's queue, or that it is away."""

    up: bool
    lengths: Mapping[Channel, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrape:
    """One scrape. ``stored`` is ``None`` where the database failed or was too slow, and then nothing
    of it is told; ``queues`` where no broker is used.
    """

    stored: Stored | None
    queues: Queues | None
    took_seconds: float


def scrape() -> Scrape:
    """Read everything once; takes ``SCRAPE_TIMEOUT`` and ``PUBLISH_TIMEOUT`` at the most."""
    started = time.monotonic()
    stored = _stored()
    queues = _queues() if get_settings().dispatch is Dispatch.BROKER else None
    return Scrape(stored=stored, queues=queues, took_seconds=time.monotonic() - started)


def _stored() -> Stored | None:
    # Never from a replica: two of them lag differently, and counters would fall.
    alias = router.db_for_write(Delivery)
    connection = connections[alias]
    try:
        with time_limit(connection, get_settings().scrape_timeout.total_seconds()):
            return Stored(
                counters=read_counters(connection),
                current=read_current(connection, _NEVER),
                circuits=set(
                    ProviderCircuit.objects.using(alias)
                    .exclude(open_until=None)
                    .values_list("channel", "provider")
                ),
                jobs=JobRun.objects.using(alias).in_bulk(),
            )
    except Error as error:
        # Its text may hold what was asked for.
        log.warning("scrape_failed", error_class=type(error).__name__)
        return None


def _queues() -> Queues:
    """The first queue that cannot be asked for is the last that is: the others would cost time as well."""
    lengths: dict[Channel, int] = {}
    try:
        for channel, options in get_settings().channels.items():
            lengths[channel] = broker.queue_length(options.queue)
    except broker.BrokerUnavailable:
        return Queues(up=False, lengths={})
    return Queues(up=True, lengths=lengths)
