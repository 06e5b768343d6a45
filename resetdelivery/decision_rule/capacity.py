"""What ``delivery_budget --arrivals`` prints: how far the workers reach, and what breaks first."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from notifications.channels import Channel
from resetdelivery.conf import Settings, get_settings
from resetdelivery.decision_rule.terms import life_of
from resetdelivery.domain.capacity import (
    USUAL_COSTS,
    USUAL_ORIGIN,
    Cost,
    Costs,
    System,
    changed,
    limits,
    utilisation,
)
from resetdelivery.domain.quantities import UnreadableQuantity, per_second, seconds
from resetdelivery.domain.queue_delay import QueueDelay, queue_delay
from resetdelivery.domain.scale import MOST_WORKERS, database_cores_for, load, scale_limits, workers_for
from resetdelivery.exceptions import ResetDeliveryError

USUAL_CONCURRENCY = 8
#: From here on a few more arrivals make the delay many times longer.
_EDGE = 0.9
_MOST = {"workers": MOST_WORKERS, "concurrency": 256, "wave": 1000}
_PARTS = ("hint", "claim", "wave", "row", "admission")


class UnplannableQuestion(ResetDeliveryError, ValueError):
    """What is asked about cannot work at all, whatever the number of workers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityAnswer:
    """``lines`` to print; ``holds`` says whether the workers take all that arrives, soon enough."""

    lines: Sequence[str]
    holds: bool


def capacity_lines(
    *,
    arrivals: str,
    latency: str,
    workers: int,
    concurrency: int | None = None,
    wave: int | None = None,
    spread: str = "0ms",
    costs: str = "",
    channel: str | None = None,
) -> CapacityAnswer:
    """The answer for ``arrivals`` (``2000/s``, ``120/min``) and a provider's ``latency`` (``120ms``).

    ``concurrency`` are the threads of one worker process, 8 by default; ``wave`` is the channel's own
    by default, and the channel the first that is configured. ``spread`` is the latency's standard
    deviation; ``costs`` a file that ``python -m bench.capacity --costs-to`` wrote. Soon enough is the
    channel's ``EXPECTED_QUEUE_DELAY`` for 95 of 100. :class:`UnreadableQuantity` for what cannot be read,
    :class:`UnplannableQuestion` where every submission would run out of its ``SEND_BUDGET``.
    """
    settings = get_settings()
    of = Channel(channel) if channel else next(iter(settings.channels))
    rate = per_second(arrivals)
    system = System(
        workers=_number("workers", workers),
        concurrency=_number("concurrency", USUAL_CONCURRENCY if concurrency is None else concurrency),
        wave=_number("wave", settings.channel(of).wave if wave is None else wave),
        claim_limit=settings.claim_limit,
        hint_backlog=settings.hint_backlog,
        fill_after=settings.fill_after.total_seconds(),
        useful_life=life_of(settings, of).seconds - settings.min_useful.total_seconds(),
        latency=seconds(latency),
        deviation=seconds(spread),
        costs=read_costs(costs) if costs else USUAL_COSTS,
    )
    _refuse_timeouts(settings, of, system)
    system = changed(system, database_cores=database_cores_for(system, rate))
    wanted = settings.channel(of).expected_queue_delay.total_seconds()
    delay = queue_delay(system, rate)
    parts = (
        *(_question(of, system, rate, costs), _answer(system, rate, delay, wanted)),
        *(_warnings(settings, of, system, delay), _resources(system, rate, delay)),
        *(_surroundings(system, delay), _scale(system, rate)),
    )
    lines = [line for part in map(list, parts) if part for line in ("", *part)]
    return CapacityAnswer(lines=lines[1:], holds=delay.p95 <= wanted)


def read_costs(name: str) -> Costs:
    """Costs from a file of ``bench.capacity``; :class:`UnreadableQuantity` where it is none."""
    try:
        return _costs(json.loads(Path(name).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadableQuantity(
            f"The costs cannot be read ({type(error).__name__}): name a file that "
            "'python -m bench.capacity --costs-to FILE' wrote, with a number of seconds for each step, "
            "and more than 0 of worker and database for a delivery."
        ) from None


def _costs(found: Mapping[str, Any]) -> Costs:
    costs = Costs(
        **{part: _cost(found[part]) for part in _PARTS},
        pickup=_seconds(found["pickup"]),
        surroundings=_seconds(found["surroundings"]),
    )
    one = costs.full_batch(1, 1)
    if not (one.worker and one.database):
        raise ValueError("a delivery that costs nothing")
    return costs


def _cost(found: Mapping[str, float]) -> Cost:
    return Cost(**{key: _seconds(found[key]) for key in ("worker", "database", "waiting")})


def _seconds(found: float) -> float:
    value = float(found)
    if not 0.0 <= value < math.inf:
        raise ValueError("no number of seconds")
    return value


def _refuse_timeouts(settings: Settings, of: Channel, system: System) -> None:
    budget = settings.channel(of).send_budget.total_seconds()
    if system.latency >= budget:
        raise UnplannableQuestion(
            f"--latency is {_time(system.latency)}, and an attempt on {of.value} is given up after "
            f"{_time(budget)} (SEND_BUDGET): every submission would time out. Ask about a provider that "
            "answers sooner, or raise SEND_BUDGET."
        )


def _number(name: str, value: int) -> int:
    if not 1 <= value <= _MOST[name]:
        raise UnreadableQuantity(f"--{name} is {value}: write a number from 1 to {_MOST[name]}.")
    return value


def _question(of: Channel, system: System, rate: float, costs: str) -> Iterator[str]:
    scatter = f" (standard deviation {_time(system.deviation)})" if system.deviation else ""
    yield (
        f"{of.value}: {_rate(rate)} arrive, the provider answers in {_time(system.latency)}{scatter}; "
        f"{system.workers} workers of {system.concurrency} threads, waves of {system.wave}, "
        f"batches of {system.claim_limit}."
    )
    yield f"Costs: {'the file of --costs' if costs else USUAL_ORIGIN}."


def _answer(system: System, rate: float, delay: QueueDelay, wanted: float) -> Iterator[str]:
    yield f"They deliver {_rate(delay.highest_rate)} at most."
    if delay.saturated:
        yield (
            f"That is too little: {_rate(rate - delay.highest_rate)} more arrive. The backlog grows until "
            f"resets expire in it, after {_time(system.useful_life)}; from then on "
            f"{delay.expired_share:.0%} of all expire, and the others come late."
        )
    else:
        yield (
            f"From admission to the attempt: {_time(delay.mean)} on average, {_time(delay.p95)} for 95 of "
            f"100 (wanted: {_time(wanted)}, EXPECTED_QUEUE_DELAY)."
        )
    yield _needed(system, rate, wanted)


def _needed(system: System, rate: float, wanted: float) -> str:
    alone = delay_alone(system)
    if alone > wanted:
        return f"No number of such workers keeps to it: a free one needs {_time(alone)} itself."
    needed = workers_for(system, rate, wanted)
    return f"Workers that keep to it: {needed or f'more than {MOST_WORKERS}'}."


def _warnings(settings: Settings, of: Channel, system: System, delay: QueueDelay) -> Iterator[str]:
    budget = settings.channel(of).send_budget.total_seconds()
    if system.latency + 2 * system.deviation >= budget:
        yield (
            f"Warning: answers scatter up to SEND_BUDGET ({_time(budget)}). Those that come later count as "
            "failed and are tried again, which is not in these numbers."
        )
    if not delay.saturated and utilisation(system, delay.flow)["worker CPU"] > _EDGE:
        yield (
            "Warning: too many threads for each process. They wait for its CPU, and near its end the delay "
            "can be three times the number above. Use more workers with fewer threads."
        )


def delay_alone(system: System) -> float:
    """The p95 delay where nearly nothing arrives, in seconds."""
    return queue_delay(system, 0.001).p95


def _resources(system: System, rate: float, delay: QueueDelay) -> Iterator[str]:
    busy = utilisation(system, delay.flow)
    yield f"{'these workers':<16}{'busy':>6}{'gives way at':>14}{'taken':>7}  then"
    for limit in limits(system):
        numbers = f"{busy.get(limit.name, 0.0):>6.0%}{_rate(limit.rate):>14}{rate / limit.rate:>7.0%}"
        yield f"{limit.name:<16}{numbers}  {limit.mend}"
    yield f"The database is counted with {system.database_cores} cores, as this rate wants; threads are busy"
    yield "long before they are at their end, for batches grow."


def _surroundings(system: System, delay: QueueDelay) -> Iterator[str]:
    asked = load(system, delay.flow)
    yield f"Web: {asked.web_cores:.1f} cores busy with admissions."
    yield (
        f"Broker: {asked.hints:,.0f} hints/s, {asked.broker_commands:,.0f} commands/s, "
        f"{asked.broker_bytes / 1000:,.0f} kB/s."
    )
    yield (
        f"Database: {asked.transactions:,.0f} transactions/s, {asked.statements:,.0f} statements/s, "
        f"{asked.rows_written:,.0f} row versions/s, {asked.connections} connections beside the web's."
    )
    yield f"Provider: {asked.submissions:,.0f} submissions open at once."


def _scale(system: System, rate: float) -> Iterator[str]:
    yield "With as many workers as it takes:"
    found = scale_limits(system)
    for limit in found:
        yield f"{limit.name:<31}{_rate(limit.rate):>16}  {limit.mend}"
    first = found[0]
    reach = "is beyond it" if rate > first.rate else "is below it"
    yield f"First to give way: {first.name}, at {_rate(first.rate)}; {_rate(rate)} {reach}."


def _rate(rate: float) -> str:
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.3g}/s"


def _time(value: float) -> str:
    if value >= 60:
        return f"{value / 60:.3g} min"
    return f"{value:.3g} s" if value >= 1 else f"{value * 1000:.3g} ms"
