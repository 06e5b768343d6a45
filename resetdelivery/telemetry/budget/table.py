"""The budget as text for a terminal, at most 110 columns wide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from resetdelivery.domain.budget import Ceiling, saved_by_sampling
from resetdelivery.telemetry.budget.lines import EventCost
from resetdelivery.telemetry.budget.reckoning import Budget
from resetdelivery.telemetry.budget.series import MetricCost
from resetdelivery.telemetry.budget.spans import ALWAYS_KEPT_SHARE

BAR = 8
PREFIX = "resetdelivery_"
#: Of the events: so many have their fields listed, the dearest first.
DETAILED = 1

Row = Sequence[str]


def report(budget: Budget) -> Iterator[str]:
    """The whole report, line by line."""
    yield f"What telemetry costs at {budget.settings.resets_per_day:,} resets a day"
    for part in (_series, _lines, _fields, _traces, _tables, _ceilings):
        yield ""
        yield from part(budget)


def _series(budget: Budget) -> Iterator[str]:
    yield f"METRICS: {budget.series:,} series at the most; all names begin with {PREFIX}"
    most = max((metric.series for metric in budget.metrics), default=1)
    rows = [
        (m.name.removeprefix(PREFIX), _product(m), f"{m.series:,}", _dearest_label(m), bar(m.series / most))
        for m in budget.metrics
    ]
    yield from table(("metric", "labels", "series", "saves", ""), rows, left={0, 1, 3, 4})


def _product(metric: MetricCost) -> str:
    sizes = [f"{name}({size})" for name, size in metric.labels.items()]
    return " ".join([*sizes, *([f"buckets({metric.buckets}+3)"] if metric.buckets else [])])


def _dearest_label(metric: MetricCost) -> str:
    if not metric.saved:
        return ""
    name = max(metric.saved, key=metric.saved.__getitem__)
    return f"{metric.saved[name]} {name}"


def _lines(budget: Budget) -> Iterator[str]:
    settings = budget.settings
    copies = "1 copy" if settings.log_replicas == 1 else f"{settings.log_replicas} copies"
    yield (
        f"LOG: {size(budget.log_bytes)} held after {settings.log_retention.days} days in {copies} "
        f"with indexes (x {settings.log_index_factor:g}, assumed);"
    )
    yield (
        f"  {size(budget.packed_log_bytes)} where batches are compressed. "
        f"{budget.names_share:.0%} of plain lines are names, the same in each"
    )
    most = max((_held(budget, event) for event in budget.events), default=0) or 1
    head = ("event", "a day", "worst", "typical", "mean", "packed", "held", "saved at 10 %", "")
    yield from table(head, (_event_row(budget, event, most) for event in budget.events), left={0, 8})


def _event_row(budget: Budget, event: EventCost, most: float) -> Row:
    held = _held(budget, event)
    return (
        event.name,
        f"{budget.line_volume(event).per_day:,.0f}",
        f"{event.worst_bytes}",
        f"{event.typical_bytes}",
        f"{event.mean_bytes:.0f}",
        f"{event.batch_bytes:.0f}",
        size(held),
        size(saved_by_sampling(held)),
        bar(held / most),
    )


def _held(budget: Budget, event: EventCost) -> float:
    return budget.line_volume(event).kept_bytes(event.mean_bytes)


def _fields(budget: Budget) -> Iterator[str]:
    for event in budget.events[:DETAILED]:
        yield f"FIELDS of {event.name}: octets of each line, and what is saved without it"
        volume = budget.line_volume(event)
        fields = sorted(event.fields, key=lambda field: -field.raw_bytes)
        rows = [
            (
                field.name,
                f"{field.raw_bytes:.1f}",
                f"{field.batch_bytes:.1f}",
                size(volume.kept_bytes(field.raw_bytes)),
                size(volume.kept_bytes(field.batch_bytes)),
                bar(field.raw_bytes / fields[0].raw_bytes),
            )
            for field in fields
        ]
        yield from table(("field", "plain", "packed", "saved plain", "saved packed", ""), rows, left={0, 5})


def _traces(budget: Budget) -> Iterator[str]:
    trace = budget.trace
    if trace is None:
        yield "TRACES: not measured without the extra 'tracing'"
        return
    when = "held" if trace.is_exported else "would be held with a TRACE_EXPORTER"
    yield (
        f"TRACES: {size(trace.kept_bytes)} {when} for {trace.days:g} days: {trace.sampled_share:.0%} of "
        f"usual ones, all others ({ALWAYS_KEPT_SHARE:.0%}, assumed)"
    )
    head = ("trace", "spans", "octets", "in gzip")
    rows = [
        ("usual", f"{trace.spans}", f"{trace.usual_bytes:,.0f}", f"{trace.gzip_bytes:,.0f}"),
        ("worst", f"{trace.worst_spans}", f"{trace.worst_bytes:,.0f}", ""),
    ]
    yield from table(head, rows, left={0})
    yield (
        f"  sampling usual ones saves {size(trace.saved_by_sampling_usual)}; "
        f"keeping one in ten of all that are left would save {size(saved_by_sampling(trace.kept_bytes))}"
    )


def _tables(budget: Budget) -> Iterator[str]:
    yield f"TABLES: {size(budget.trail_bytes)} held, rows and indexes"
    most = max((cost.kept_bytes for cost in budget.tables), default=0) or 1
    rows = [
        (
            cost.table,
            f"{cost.rows_per_day:,.0f}",
            f"{cost.days:g}",
            f"{cost.row_bytes:.0f}",
            f"{cost.index_bytes:.0f}",
            "measured" if cost.is_measured else "reckoned",
            size(cost.kept_bytes),
            bar(cost.kept_bytes / most),
        )
        for cost in budget.tables
    ]
    yield from table(("table", "a day", "days", "row", "index", "octets are", "held", ""), rows, left={0, 7})


def _ceilings(budget: Budget) -> Iterator[str]:
    yield "CEILINGS"
    rows = [(c.setting, *_bounds(c), f"{c.share:.0%}", bar(c.share)) for c in budget.ceilings]
    yield from table(("setting", "used", "most", "share", ""), rows, left={0, 4})
    over = [ceiling.setting for ceiling in budget.ceilings if ceiling.is_over]
    yield f"Over budget: {', '.join(over)}." if over else "Within budget."


def _bounds(ceiling: Ceiling) -> tuple[str, str]:
    if ceiling.most < 1_000_000:
        return f"{ceiling.used:,.0f}", f"{ceiling.most:,.0f}"
    return size(ceiling.used), size(ceiling.most)


def table(head: Row, rows: Iterable[Row], *, left: set[int]) -> Iterator[str]:
    """``rows`` under ``head`` in columns; those whose numbers are in ``left`` begin on the left."""
    cells = [head, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    for row in cells:
        aligned = [
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(aligned)).rstrip()


def bar(share: float) -> str:
    """A bar that is full at 1."""
    return "#" * max(0, min(BAR, round(share * BAR)))


def size(octets: float) -> str:
    """In GB, MB or kB, each a thousand times the next."""
    for power, unit in ((9, "GB"), (6, "MB"), (3, "kB")):
        if abs(octets) >= 10**power:
            return f"{octets / 10**power:.3g} {unit}"
    return f"{octets:.0f} B"
