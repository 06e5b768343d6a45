from __future__ import annotations

from django.contrib import admin

from resetdelivery.admin.filters import AttemptReasonFilter
from resetdelivery.admin.read_only import ReadOnlyAdmin
from resetdelivery.models import Attempt


class AttemptAdmin(ReadOnlyAdmin):
    """One try. The provider's own reference leads to a person at the provider, and is not shown."""

    list_display = (
        "reference",
        "channel",
        "number",
        "outcome",
        "reason",
        "started_at",
        "duration_seconds",
        "transport",
    )
    list_filter = (
        "delivery__channel",
        "outcome",
        "receipt",
        "started_at",
        "late_outcome",
        AttemptReasonFilter,
    )
    list_select_related = ("delivery",)
    fieldsets = (
        (None, {"fields": ("reference", "delivery_reference", "channel", "number")}),
        ("What came of it", {"fields": ("outcome", "reason", "late_outcome")}),
        ("What the provider said later", {"fields": ("receipt", "receipt_reason", "receipt_at")}),
        (
            "Times",
            {
                "fields": (
                    "started_at",
                    "finished_at",
                    "queue_delay_seconds",
                    "remaining_seconds",
                    "duration_seconds",
                )
            },
        ),
        ("Who made it", {"fields": ("transport", "worker", "token")}),
    )

    @admin.display(description="channel", ordering="delivery__channel")
    def channel(self, attempt: Attempt) -> str:
        """The channel of its delivery."""
        return attempt.delivery.channel

    @admin.display(description="delivery")
    def delivery_reference(self, attempt: Attempt) -> str:
        """The reference of its delivery."""
        return str(attempt.delivery.reference)
