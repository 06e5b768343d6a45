from __future__ import annotations

from resetdelivery.admin.read_only import ReadOnlyAdmin


class ProviderCircuitAdmin(ReadOnlyAdmin):
    """Which providers are passed over now, since when and until when. None listed: none ever failed."""

    named_by = "id"
    ordering = ("provider",)
    search_fields = ()
    list_display = ("provider", "channel", "outages", "reason", "opened_at", "open_until")
    list_filter = ("channel",)
    fieldsets = (
        (None, {"fields": ("provider", "channel")}),
        ("Outage", {"fields": ("outages", "reason", "opened_at", "open_until")}),
    )
