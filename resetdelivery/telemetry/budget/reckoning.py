"""The whole budget: what is measured, what it makes in a day and over its retention, and the ceilings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.backends.base.base import BaseDatabaseWrapper

from resetdelivery.conf import Settings
from resetdelivery.domain.budget import Ceiling, Volume, days
from resetdelivery.log_schema import EVENTS, Event
from resetdelivery.telemetry.budget.lines import EventCost, event_costs
from resetdelivery.telemetry.budget.series import MetricCost, metric_costs
from resetdelivery.telemetry.budget.spans import TraceCost, trace_cost
from resetdelivery.telemetry.budget.trail import TableCost, table_costs
from resetdelivery.telemetry.metric_names import METRICS, Metric

#: The event that has one line for each attempt.
ATTEMPT = "attempt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What telemetry costs, part by part."""

    settings: Settings
    metrics: tuple[MetricCost, ...]
    events: tuple[EventCost, ...]
    trace: TraceCost | None
    tables: tuple[TableCost, ...]

    @property
    def series(self) -> int:
        """Time series, all metrics together."""
        return sum(metric.series for metric in self.metrics)

    @property
    def log_bytes(self) -> float:
        """Octets that the log's store holds: lines as they are, with indexes and replicas."""
        return sum(self.line_volume(event).kept_bytes(event.mean_bytes) for event in self.events)

    @property
    def packed_log_bytes(self) -> float:
        """The same of a store that compresses batches."""
        return sum(self.line_volume(event).kept_bytes(event.batch_bytes) for event in self.events)

    @property
    def span_bytes(self) -> float:
        """Octets that the traces' store holds; none where traces are not exported."""
        return self.trace.kept_bytes if self.trace and self.trace.is_exported else 0.0

    @property
    def trail_bytes(self) -> float:
        """Octets that our own tables hold."""
        return sum(table.kept_bytes for table in self.tables)

    @property
    def names_share(self) -> float:
        """Of all octets of the log, those of names, which every line repeats."""
        names = sum(self.line_volume(event).kept_bytes(event.names_bytes) for event in self.events)
        return names / self.log_bytes if self.log_bytes else 0.0

    @property
    def ceilings(self) -> tuple[Ceiling, ...]:
        """Every bound with what is used of it."""
        settings, longest = self.settings, max((event.worst_bytes for event in self.events), default=0)
        return (
            Ceiling(setting="MAX_SERIES", what="series", used=self.series, most=settings.max_series),
            Ceiling(
                setting="MAX_LINE_BYTES", what="longest line", used=longest, most=settings.max_line_bytes
            ),
            Ceiling(setting="MAX_LOG_BYTES", what="log", used=self.log_bytes, most=settings.max_log_bytes),
            Ceiling(
                setting="MAX_SPAN_BYTES", what="traces", used=self.span_bytes, most=settings.max_span_bytes
            ),
            Ceiling(
                setting="MAX_TRAIL_BYTES", what="tables", used=self.trail_bytes, most=settings.max_trail_bytes
            ),
        )

    @property
    def is_over(self) -> bool:
        """Whether any bound is passed."""
        return any(ceiling.is_over for ceiling in self.ceilings)

    def line_volume(self, event: EventCost) -> Volume:
        """How many lines of ``event`` the log's store holds."""
        return Volume(
            per_day=self.settings.resets_per_day * event.per_reset,
            days=days(self.settings.log_retention),
            copies=self.settings.log_replicas,
            index_factor=self.settings.log_index_factor,
        )


def reckon(
    settings: Settings,
    connection: BaseDatabaseWrapper | None = None,
    *,
    metrics: Sequence[Metric] = METRICS,
    events: Sequence[Event] = EVENTS,
) -> Budget:
    """The budget under ``settings``; rows are measured where ``connection`` is PostgreSQL's."""
    attempts = next((event.per_reset for event in events if event.name == ATTEMPT), len(settings.channels))
    return Budget(
        settings=settings,
        metrics=metric_costs(metrics),
        events=event_costs(events, lines_per_day=settings.resets_per_day),
        trace=trace_cost(settings),
        tables=table_costs(settings, attempts_per_reset=attempts, connection=connection),
    )
