from __future__ import annotations

from django.contrib import admin
from django.utils.html import format_html

from resetdelivery.admin.filters import DeliveryReasonFilter
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

    @admin.display(description="intent")
    def intent_reference(self, delivery: Delivery) -> str:
        """The intent's reference, with a link to its page where the site has one."""
        reference = delivery.intent.reference
        if not self.admin_site.is_registered(ResetIntent):
            return str(reference)
        address = page_address(self.admin_site, ResetIntent, reference)
        return format_html('<a href="{}">{}</a>', address, reference)
