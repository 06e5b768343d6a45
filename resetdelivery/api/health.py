"""How delivery is doing, as a few numbers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel

from resetdelivery.api.document import operation
from resetdelivery.api.intent_fields import ChannelName
from resetdelivery.domain.api_key import Scope
from resetdelivery.telemetry.health import channel_health

router = Router(tags=["health"])

WindowName = Literal["1m", "5m", "15m", "1h"]

#: Seconds of each window.
WINDOWS: dict[WindowName, int] = {"1m": 60, "5m": 300, "15m": 900, "1h": 3600}


class ChannelNumbers(BaseModel):
    """Deliveries that are not finished, by state; ``oldest_due_seconds`` is null where none is due."""

    channel: ChannelName
    paused: bool
    waiting: int
    pending: int
    leased: int
    submitting: int
    oldest_due_seconds: float | None


class DeliveryHealth(BaseModel):
    """One entry for each configured channel: its size does not depend on what is stored."""

    window_seconds: int
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
    """Numbers of now. What happened within the window will be told beside them."""
    return DeliveryHealth(
        window_seconds=WINDOWS[window],
        channels=[ChannelNumbers(**asdict(one)) for one in channel_health()],
    )
