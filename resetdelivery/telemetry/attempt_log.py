"""One structured line per attempt, from a fixed list of fields, none of them personal."""

from __future__ import annotations

from resetdelivery.claims import Settled
from resetdelivery.logs import get_logger

log = get_logger("resetdelivery.attempt")


def write(settled: Settled) -> None:
    """Log a settled attempt."""
    result = settled.result
    marked, claimed = result.marked, result.marked.claimed
    log.info(
        "attempt",
        intent=str(claimed.intent_reference),
        channel=claimed.channel.value,
        transport=marked.transport,
        attempt=claimed.attempt_rows + 1,
        outcome=result.outcome.kind.value,
        reason=result.outcome.reason.value,
        next_state=settled.decision.state.value,
        fenced_out=settled.fenced_out,
        queue_delay_seconds=round((marked.started_at - claimed.due_at).total_seconds(), 3),
        remaining_seconds=round((claimed.expires_at - marked.started_at).total_seconds(), 3),
        duration_seconds=round(result.duration_seconds, 3),
        template_version=claimed.template_version,
    )
