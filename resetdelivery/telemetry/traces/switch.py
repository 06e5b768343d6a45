"""Whether anything is traced at all."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib.util import find_spec

from resetdelivery.conf import get_settings


def is_on() -> bool:
    """Whether an exporter is named, its packages are installed, and ``OTEL_SDK_DISABLED`` is not true."""
    return bool(get_settings().trace_exporter) and has_packages() and not is_disabled()


def is_disabled() -> bool:
    """OpenTelemetry's own switch, for a process and everything in it."""
    return os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


@lru_cache(maxsize=1)
def has_packages() -> bool:
    """Whether the extra ``tracing`` is installed, and not broken."""
    try:
        # Imports the packages above it, which may raise anything.
        return find_spec("opentelemetry.sdk.trace.export") is not None
    except Exception:
        return False
