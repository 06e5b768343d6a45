"""What is measured and what that may cost: the part of ``RESETDELIVERY`` for ``resetdelivery.telemetry``."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from resetdelivery.retention_settings import RetentionSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySettings(RetentionSettings):
    """Keys of ``RESETDELIVERY`` are these names in capitals.

    A minute's counts are final ``rollup_close_after`` it ended, if nothing of it is still running.
    ``measured_versions`` are the template versions with a label of their own, beside those that new
    resets get; all others are told as ``retired``. ``trace_exporter`` is the dotted path of an
    OpenTelemetry span exporter; empty, nothing is traced.

    All from ``resets_per_day`` on are for ``manage.py telemetry_budget``: what it reckons with, and its
    ceilings. ``log_index_factor`` is what the store of the log makes of one octet with its indexes,
    ``max_line_bytes`` the longest line of the log, ``max_log_bytes``, ``max_span_bytes`` and
    ``max_trail_bytes`` what the log, the traces and our tables may hold once their retention is full.
    """

    rollup_close_after: dt.timedelta = dt.timedelta(minutes=15)
    measured_versions: tuple[str, ...] = ()
    scrape_timeout: dt.timedelta = dt.timedelta(seconds=2)
    trace_exporter: str = ""
    trace_successes_per_mille: int = 50
    resets_per_day: int = 50_000
    log_retention: dt.timedelta = dt.timedelta(days=30)
    log_replicas: int = 1
    log_index_factor: float = 1.2
    span_retention: dt.timedelta = dt.timedelta(days=7)
    max_series: int = 300
    max_line_bytes: int = 500
    max_log_bytes: int = 900_000_000
    max_span_bytes: int = 350_000_000
    max_trail_bytes: int = 3_500_000_000
