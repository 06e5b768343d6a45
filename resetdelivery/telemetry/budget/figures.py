"""The budget as figures for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from resetdelivery.domain.budget import saved_by_sampling
from resetdelivery.telemetry.budget.reckoning import Budget


def as_json(budget: Budget) -> dict[str, Any]:
    """What :func:`~resetdelivery.telemetry.budget.table.report` shows: sizes in octets, shares of 1."""
    return {
        "resets_per_day": budget.settings.resets_per_day,
        "is_over": budget.is_over,
        "ceilings": [asdict(c) | {"share": c.share, "is_over": c.is_over} for c in budget.ceilings],
        "metrics": {"series": budget.series, "each": [asdict(metric) for metric in budget.metrics]},
        "log": _log(budget),
        "traces": _traces(budget),
        "tables": [asdict(table) | {"kept_bytes": table.kept_bytes} for table in budget.tables],
    }


def _log(budget: Budget) -> dict[str, Any]:
    events = []
    for event in budget.events:
        volume = budget.line_volume(event)
        kept = volume.kept_bytes(event.mean_bytes)
        events.append(
            asdict(event)
            | {
                "per_day": volume.per_day,
                "kept_bytes": kept,
                "kept_packed_bytes": volume.kept_bytes(event.batch_bytes),
                "saved_by_sampling_bytes": saved_by_sampling(kept),
            }
        )
    return {
        "kept_bytes": budget.log_bytes,
        "kept_packed_bytes": budget.packed_log_bytes,
        "names_share": budget.names_share,
        "index_factor": budget.settings.log_index_factor,
        "replicas": budget.settings.log_replicas,
        "events": events,
    }


def _traces(budget: Budget) -> dict[str, Any] | None:
    trace = budget.trace
    if trace is None:
        return None
    return asdict(trace) | {
        "kept_bytes": trace.kept_bytes,
        "saved_by_sampling_usual_bytes": trace.saved_by_sampling_usual,
        "saved_by_sampling_bytes": saved_by_sampling(trace.kept_bytes),
    }
