from __future__ import annotations

from typing import Any, cast

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse

from resetdelivery.admin.filters import IntentChannelFilter
from resetdelivery.admin.page_links import may_view, page_address
from resetdelivery.admin.read_only import ReadOnlyAdmin
from resetdelivery.admin.timeline_picture import drawn
from resetdelivery.models import Attempt, Delivery, ResetIntent
from resetdelivery.timeline import timeline_of

#: A delivery or an attempt, and the address of its page.
_Row = tuple[Any, str]


class IntentAdmin(ReadOnlyAdmin):
    """One request, with its deliveries, its attempts and what happened in order."""

    list_display = (
        *("reference", "kind", "state", "channels", "strategy"),
        *("created_at", "expires_at", "cancel_reason"),
    )
    list_filter = ("kind", "state", IntentChannelFilter, "strategy", "cancel_reason", "created_at")
    change_form_template = "resetdelivery/admin/intent.html"
    fieldsets = (
        (None, {"fields": ("reference", "kind", "state", "strategy", "template_version", "locale")}),
        ("Times", {"fields": ("created_at", "expires_at", "closed_at", "scrubbed_at")}),
        ("Asked to stop", {"fields": ("cancel_requested_at", "cancel_reason")}),
        ("Account", {"fields": ("account_reference",)}),
    )

    class Media:
        css = {"all": ("resetdelivery/admin.css",)}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        return super().get_queryset(request).prefetch_related("deliveries")

    @admin.display(description="channels")
    def channels(self, intent: ResetIntent) -> str:
        """Each channel and where it stands."""
        return ", ".join(f"{d.channel} {d.state}" for d in in_order(intent))

    @admin.display(description="account reference")
    def account_reference(self, intent: ResetIntent) -> str:
        """How long it is; what it is stays in the database, as long as it is of use."""
        if intent.scrubbed_at:
            return "deleted"
        return f"not shown (length {len(intent.account_ref)})"

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Django's page, with ours below it."""
        intent = cast("ResetIntent", context["original"])
        context |= self._story(request, intent)
        return super().render_change_form(request, context, *args, **kwargs)

    def _story(self, request: HttpRequest, intent: ResetIntent) -> dict[str, Any]:
        timeline = timeline_of(intent)
        start = timeline.events[0].at
        steps = [(event, (event.at - start).total_seconds()) for event in timeline.events]
        return {
            "answers": timeline.answers,
            "steps": steps,
            "picture": drawn(timeline),
            "deliveries": self._rows(request, Delivery, in_order(intent)),
            "attempts": self._rows(request, Attempt, attempts_of(intent)),
        }

    def _rows(
        self, request: HttpRequest, model: type[Model], rows: list[Any]
    ) -> list[tuple[Any, str]] | None:
        """Rows with the addresses of their pages; ``None`` for who may not look at them."""
        if not may_view(request, self.admin_site, model):
            return None
        return [(row, page_address(self.admin_site, model, row.reference)) for row in rows]


def in_order(intent: ResetIntent) -> list[Delivery]:
    """The intent's deliveries, first channel first, from what was fetched already."""
    return sorted(intent.deliveries.all(), key=lambda delivery: delivery.position)


def attempts_of(intent: ResetIntent) -> list[Attempt]:
    """The intent's attempts, oldest first, by one query."""
    attempts = Attempt.objects.using(intent._state.db).filter(delivery__intent=intent)
    return list(attempts.select_related("delivery").order_by("started_at", "pk"))
