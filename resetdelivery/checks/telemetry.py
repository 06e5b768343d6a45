"""What the page of metrics may take, and what has a label of its own on it."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.core.checks import CheckMessage, register

from resetdelivery.checks.messages import TAG, error, settings_if_valid, warning
from resetdelivery.telemetry.metric_labels import (
    MOST_PROVIDERS,
    MOST_VERSIONS,
    wanted_providers,
    wanted_versions,
)

#: PostgreSQL counts in these, and takes zero for "for ever".
SHORTEST_SCRAPE = dt.timedelta(milliseconds=1)
#: Prometheus gives up after this by default.
LONGEST_SCRAPE = dt.timedelta(seconds=10)


@register(TAG)
def check_scrape_timeout(**_: Any) -> list[CheckMessage]:
    """E100 and W100."""
    settings = settings_if_valid()
    if settings is None:
        return []
    if settings.scrape_timeout < SHORTEST_SCRAPE:
        text = "RESETDELIVERY['SCRAPE_TIMEOUT'] is less than a millisecond, which means no limit at all."
        return [error(100, text, "Set it to a second or two.")]
    if settings.scrape_timeout >= LONGEST_SCRAPE:
        text = f"RESETDELIVERY['SCRAPE_TIMEOUT'] is {settings.scrape_timeout}: Prometheus gives up before."
        return [warning(100, text, "Set it to less than its scrape_timeout, which is 10 s by default.")]
    return []


@register(TAG)
def check_labels(**_: Any) -> list[CheckMessage]:
    """W101 and W102: what is left without a label, so that the number of series stays as it is."""
    if settings_if_valid() is None:
        return []
    found: list[CheckMessage] = []
    if unlabelled := wanted_versions()[MOST_VERSIONS - 1 :]:
        text = f"Metrics tell template versions {', '.join(unlabelled)} as 'retired': there are too many."
        hint = f"Name fewer in RESETDELIVERY['MEASURED_VERSIONS']: {MOST_VERSIONS - 1} at the most in all."
        found.append(warning(101, text, hint))
    if unlabelled := wanted_providers()[MOST_PROVIDERS:]:
        text = (
            f"Metrics say nothing of the circuits of {', '.join(unlabelled)}: there are too many providers."
        )
        hint = f"Give providers of several channels the same names: {MOST_PROVIDERS} names at the most."
        found.append(warning(102, text, hint))
    return found
