"""How delivery is doing, as a few numbers and a verdict."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel

from notifications.outcome import OutcomeKind
from resetdelivery.api.document import operation
from resetdelivery.api.intent_fields import ChannelName
from resetdelivery.domain.api_key import Scope
from resetdelivery.domain.health import WINDOWS, HealthReason, Verdict
from resetdelivery.models.channel_control import ChannelMode
from resetdelivery.telemetry.health import delivery_health, told

router = Router(tags=["health"])

#: The names of :data:`~resetdelivery.domain.health.WINDOWS`.
WindowName = Literal["1m", "5m", "15m", "1h"]


class QueueDelayNumbers(BaseModel):
    """How long attempts had been due as they started.

    Null without attempts, and where a percentile lies among the ``beyond`` that had been due for
    longer than 900 s.
    """

    p50_seconds: float | None
    p95_seconds: float | None
    p99_seconds: float | None
    beyond: int


class LifeLeftNumbers(BaseModel):
    """The median share of a delivery's life that was left at acceptance; null without acceptances.

    ``quarter_or_less`` counts acceptances with no more than a quarter left.
    """

    median: float | None
    quarter_or_less: int


class ChannelNumbers(BaseModel):
    """One channel: what is open now, what happened within the window, and what to think of it.

    ``oldest_due_seconds`` is of what is ours to send and ``oldest_shadow_seconds`` of what is not; null
    where none is due.
    """

    channel: ChannelName
    verdict: Verdict
    reasons: list[HealthReason]
    mode: ChannelMode
    paused: bool
    waiting: int
    pending: int
    leased: int
    submitting: int
    oldest_due_seconds: float | None
    oldest_shadow_seconds: float | None
    admitted: int
    finished: int
    expired_usefully: int
    lease_recoveries: int
    attempts: dict[OutcomeKind, int]
    queue_delay: QueueDelayNumbers
    life_left_at_acceptance: LifeLeftNumbers


class DeliveryHealth(BaseModel):
    """One entry for each configured channel: its size does not depend on what is stored.

    The window's numbers are of whole minutes, ``counted_from`` the one in which it began;
    ``counted_until`` is null where nothing of it was counted. Ages are null for what never was,
    ``broker_reachable`` where no broker is used.
    """

    window_seconds: int
    counted_from: dt.datetime
    counted_until: dt.datetime | None
    verdict: Verdict
    reasons: list[HealthReason]
    sweep_age_seconds: float | None
    rollup_age_seconds: float | None
    broker_reachable: bool | None
    channels: list[ChannelNumbers]


@router.get(
    "/delivery-health",
    operation_id="read_delivery_health",
    summary="How delivery is doing",
    **operation(Scope.HEALTH_READ, answers={200: DeliveryHealth}, query=["window"]),
)
def read_delivery_health(
    request: HttpRequest,  # noqa: ARG001
    window: WindowName = "5m",
) -> DeliveryHealth:
    """Numbers of now and of the window, and a verdict; 200 whatever the verdict is."""
    return DeliveryHealth(**told(delivery_health(WINDOWS[window])))
