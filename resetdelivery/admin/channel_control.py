from __future__ import annotations

from django.contrib.auth import get_permission_codename
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path

from resetdelivery.admin.read_only import ReadOnlyAdmin
from resetdelivery.admin.rollout_page import channel_page, rollout_page


class ChannelControlAdmin(ReadOnlyAdmin):
    """Which channels may send now. They are changed on pages of their own, where each step is looked at."""

    named_by = "channel"
    ordering = ("channel",)
    search_fields = ()
    list_display = ("channel", "mode", "slice_per_mille", "paused", "pause_reason", "probing", "probe_at")
    list_filter = ("mode", "paused")
    fieldsets = (
        (None, {"fields": ("channel", "mode", "slice_per_mille")}),
        ("Pause", {"fields": ("paused", "pause_reason", "probing", "probe_at")}),
    )
    change_list_template = "resetdelivery/admin/channel_list.html"

    def get_urls(self) -> list[URLPattern]:
        """Django's, and the rollout's before them: theirs would take its name for a channel's."""
        view, name = self.admin_site.admin_view, "resetdelivery_channelcontrol_rollout"
        return [
            path("rollout/", view(self._rollout), name=name),
            path("rollout/<str:channel>/", view(self._rollout_of), name=f"{name}_channel"),
            *super().get_urls(),
        ]

    def _rollout(self, request: HttpRequest) -> HttpResponse:
        return rollout_page(request, self.admin_site, may_change=self._may_move(request))

    def _rollout_of(self, request: HttpRequest, channel: str) -> HttpResponse:
        return channel_page(request, self.admin_site, channel, may_change=self._may_move(request))

    def _may_move(self, request: HttpRequest) -> bool:
        """Whether this person may change channels; ``PermissionDenied`` for who may not even look."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        codename = get_permission_codename("change", self.opts)
        return request.user.has_perm(f"{self.opts.app_label}.{codename}")
