"""One structured line per attempt, from a fixed list of fields, none of them personal.

``resetdelivery.log_schema`` holds the list. Numbers are rounded to what a histogram's buckets can
tell apart, and what the outcome says already is left away: most attempts are accepted, and most lines
are of them.
"""

from __future__ import annotations

from notifications.outcome import Reason
from resetdelivery.claims import Settled
from resetdelivery.logs import get_logger

log = get_logger("resetdelivery.attempt")


def write(settled: Settled) -> None:
    """Log a settled attempt. ``next_state`` and ``reason`` stand where they are not its outcome's own.

    ``fenced_out`` stands where another holder, or nobody, had the delivery by then.
    """
    result = settled.result
    marked, claimed = result.marked, result.marked.claimed
    outcome, state = result.outcome.kind.value, settled.decision.state.value
    log.info(
        "attempt",
        intent=str(claimed.intent_reference),
        channel=claimed.channel.value,
        transport=marked.transport,
        attempt=claimed.attempt_rows + 1,
        outcome=outcome,
        reason=None if result.outcome.reason is Reason.OK else result.outcome.reason.value,
        next_state=None if state == outcome else state,
        fenced_out=settled.fenced_out or None,
        queue_delay_seconds=round((marked.started_at - claimed.due_at).total_seconds(), 2),
        remaining_seconds=round((claimed.expires_at - marked.started_at).total_seconds(), 1),
        duration_seconds=round(result.duration_seconds, 3),
        template_version=claimed.template_version,
        segments=marked.segments or None,
    )
