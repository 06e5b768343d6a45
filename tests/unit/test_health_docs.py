from __future__ import annotations

import re
from pathlib import Path

from resetdelivery.domain.health import FAILING, MEANINGS, HealthReason
from resetdelivery.domain.telemetry import QUEUE_DELAY_SECONDS, REMAINING_RATIO

PAGE = (Path(__file__).parents[2] / "docs" / "health.md").read_text()


def test_the_table_of_reasons_is_the_closed_list_with_verdicts_and_meanings() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (degraded|failing) \| ([^|]+) \| [^|]+ \|$", PAGE, re.MULTILINE)
    assert rows == [
        (reason.value, "failing" if reason in FAILING else "degraded", MEANINGS[reason])
        for reason in HealthReason
    ]


def test_the_buckets_are_those_that_are_counted_in() -> None:
    def listed(bounds: tuple[float, ...]) -> str:
        return ", ".join(f"{bound:g}" for bound in bounds)

    assert f"| queue delay, in seconds | {listed(QUEUE_DELAY_SECONDS)} |" in PAGE
    assert f"| share of life left | {listed((*REMAINING_RATIO, 1.0))} |" in PAGE
