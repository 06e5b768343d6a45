from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from resetdelivery.admin.read_only import ReadOnlyAdmin


class AuditEntryAdmin(ReadOnlyAdmin):
    """Who changed what, and why, newest first. Nothing here is ever changed or deleted by hand."""

    named_by = "id"
    search_fields = ("target",)
    search_help_text = "Part of a target, such as a client's name or a key id."
    list_display = ("at", "who", "action", "target", "why")
    list_filter = ("action", "at")
    fieldsets = ((None, {"fields": ("at", "who", "action", "target", "why")}),)

    def get_search_results(
        self, _request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """The entries whose target holds what was typed."""
        return (queryset.filter(target__icontains=search_term.strip()) if search_term else queryset), False
