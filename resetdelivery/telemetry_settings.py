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
    OpenTelemetry span exporter; empty, nothing is traced. The last seven are what
    ``manage.py telemetry_budget`` reckons with, and its ceilings.
    """

    rollup_close_after: dt.timedelta = dt.timedelta(minutes=15)
    measured_versions: tuple[str, ...] = ()
    scrape_timeout: dt.timedelta = dt.timedelta(seconds=2)
    trace_exporter: str = ""
    trace_successes_per_mille: int = 50
    resets_per_day: int = 50_000
    log_retention: dt.timedelta = dt.timedelta(days=30)
    log_replicas: int = 1
    max_series: int = 2000
    max_line_bytes: int = 512
    max_log_bytes: int = 2_000_000_000
    max_span_bytes: int = 2_000_000_000
