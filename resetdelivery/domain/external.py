"""Workers outside this project: what they are called, and what their outcomes lead to. Pure.

To the rest of the package all workers of one client are a provider of their own. It has no
circuit, and its troubles say nothing of the providers that are configured here.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Sequence
from dataclasses import replace

from notifications.channels import Channel
from notifications.outcome import Outcome
from resetdelivery.domain.decisions import Decision, Submission, decide
from resetdelivery.domain.reasons import DeliveryReason
from resetdelivery.domain.retry import RetryPolicy, backoff_seconds, retry_fits
from resetdelivery.domain.states import DeliveryState

#: No configured provider's name has a colon in it.
PREFIX = "api:"
#: SQL pattern (LIKE) of what leases call their workers. Ours have one colon: ``host:process``, and a
#: host may well be called "api".
OWNERS = f"{PREFIX}%:%"
MAX_WORKER_ID = 32
_MAX_CLIENT = 27
_DIGEST = 8


def sender_of(client: str) -> str:
    """What attempts call the workers of ``client``: at most 31 characters.

    A longer name is cut and ends in a digest of the whole, so that no two clients share one.
    """
    if len(client) <= _MAX_CLIENT:
        return PREFIX + client
    digest = hashlib.sha256(client.encode()).hexdigest()[:_DIGEST]
    # A tilde stands in no client's name.
    return f"{PREFIX}{client[: _MAX_CLIENT - _DIGEST - 1]}~{digest}"


def owner_of(sender: str, worker_id: str) -> str:
    """What leases and attempts call one worker of ``sender``: at most 64 characters."""
    return f"{sender}:{worker_id}"


def sender_in(owner: str) -> str:
    """The sender of a lease's ``owner``; worker ids have no colon."""
    return owner.rpartition(":")[0]


def is_external(provider: str) -> bool:
    """Whether an attempt's provider is a client's workers."""
    return provider.startswith(PREFIX)


def in_turn(channels: Sequence[Channel], draw: float) -> list[Channel]:
    """``channels`` in a circle, from one that ``draw``, uniform in ``[0, 1)``, picks.

    Who claims a few of all of them then leaves none waiting for ever behind a busier one.
    """
    first = int(draw * len(channels))
    return [*channels[first:], *channels[:first]]


def decide_external(
    outcome: Outcome,
    submission: Submission,
    policy: RetryPolicy,
    *,
    tries: int,
    now: dt.datetime,
    draw: float,
) -> Decision:
    """:func:`~resetdelivery.domain.decisions.decide` for a worker outside; it pauses no channel.

    ``tries`` counts all attempts on record, this one included. A configuration error of theirs
    uses up nothing, but no pause holds the delivery back from the very worker that had it: so it
    waits as after so many failures, for whoever takes it then.
    """
    decision = replace(decide(outcome, submission, policy, now=now, draw=draw), pauses_channel=False)
    if decision.counts or decision.due_at is None:
        return decision
    delay = max(backoff_seconds(policy, tries), outcome.retry_after_seconds or 0.0)
    if not retry_fits(policy, now=now, delay_seconds=delay, expires_at=submission.expires_at):
        return Decision(state=DeliveryState.EXPIRED, reason=DeliveryReason.RETRY_DOES_NOT_FIT, counts=False)
    return replace(decision, due_at=now + dt.timedelta(seconds=delay))
