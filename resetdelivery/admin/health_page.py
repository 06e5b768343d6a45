"""The page that shows how delivery is doing, for whoever may look at deliveries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.template.response import TemplateResponse

from resetdelivery.admin.health_picture import Picture, drawn
from resetdelivery.domain.health import MEANINGS, WINDOWS, HealthReason
from resetdelivery.models import Delivery
from resetdelivery.telemetry.health import ChannelHealth, DeliveryHealth, delivery_health

USUAL_WINDOW = "5m"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPart:
    """One channel's part of the page."""

    health: ChannelHealth
    why: tuple[tuple[HealthReason, str], ...]
    attempts: Picture


def health_page(request: HttpRequest, site: AdminSite) -> TemplateResponse:
    """The page, with the window that the query names; another word means the usual one."""
    asked = request.GET.get("window", USUAL_WINDOW)
    window = asked if asked in WINDOWS else USUAL_WINDOW
    health = delivery_health(WINDOWS[window])
    context = {**site.each_context(request), **_content(health), "window": window, "opts": Delivery._meta}
    return TemplateResponse(request, "resetdelivery/admin/health.html", context)


def _content(health: DeliveryHealth) -> dict[str, Any]:
    return {
        "title": "How delivery is doing",
        "windows": list(WINDOWS),
        "health": health,
        "why": _meanings(health.reasons),
        "channels": [
            ChannelPart(health=one, why=_meanings(one.reasons), attempts=drawn(one.numbers.attempts))
            for one in health.channels
        ],
    }


def _meanings(reasons: tuple[HealthReason, ...]) -> tuple[tuple[HealthReason, str], ...]:
    return tuple((reason, MEANINGS[reason]) for reason in reasons)
