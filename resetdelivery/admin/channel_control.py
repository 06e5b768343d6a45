from __future__ import annotations

from resetdelivery.admin.read_only import ReadOnlyAdmin


class ChannelControlAdmin(ReadOnlyAdmin):
    """Which channels may send now."""

    named_by = "channel"
    ordering = ("channel",)
    search_fields = ()
    list_display = ("channel", "mode", "slice_per_mille", "paused", "pause_reason", "probing", "probe_at")
    list_filter = ("mode", "paused")
    fieldsets = (
        (None, {"fields": ("channel", "mode", "slice_per_mille")}),
        ("Pause", {"fields": ("paused", "pause_reason", "probing", "probe_at")}),
    )
