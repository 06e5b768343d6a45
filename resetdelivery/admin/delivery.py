from __future__ import annotations

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.html import format_html

from resetdelivery.admin.filters import DeliveryReasonFilter
from resetdelivery.admin.health_page import health_page
from resetdelivery.admin.page_links import page_address
from resetdelivery.admin.read_only import ReadOnlyAdmin
from resetdelivery.models import Delivery, ResetIntent


class DeliveryAdmin(ReadOnlyAdmin):
    """One intent on one channel: where it stands and who holds it."""

    list_display = ("reference", "channel", "state", "outcome", "reason", "attempts", "expires_at")
    list_filter = ("state", "channel", "outcome", "intent__created_at", "authority", DeliveryReasonFilter)
    list_select_related = ("intent",)
    fieldsets = (
        (None, {"fields": ("reference", "intent_reference", "channel", "position", "authority")}),
        (
            "Where it stands",
            {"fields": ("state", "outcome", "reason", "suppressed", "attempts", "claims", "finished_at")},
        ),
        ("Times", {"fields": ("due_at", "expires_at", "hinted_at")}),
        ("Used after another channel", {"fields": ("arm_at", "arm_reason")}),
        ("Lease", {"fields": ("lease_owner", "lease_token", "lease_expires_at")}),
    )

    change_list_template = "resetdelivery/admin/delivery_list.html"

    def get_urls(self) -> list[URLPattern]:
        """Django's, and the health page's before them: theirs would take its name for a delivery's."""
        view = self.admin_site.admin_view(self._health)
        return [path("health/", view, name="resetdelivery_delivery_health"), *super().get_urls()]

    def _health(self, request: HttpRequest) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return health_page(request, self.admin_site)

    @admin.display(description="intent")
    def intent_reference(self, delivery: Delivery) -> str:
        """The intent's reference, with a link to its page where the site has one."""
        reference = delivery.intent.reference
        if not self.admin_site.is_registered(ResetIntent):
            return str(reference)
        address = page_address(self.admin_site, ResetIntent, reference)
        return format_html('<a href="{}">{}</a>', address, reference)
