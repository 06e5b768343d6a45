from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from resetdelivery.admin.read_only import ReadOnlyAdmin
from resetdelivery.models import ApiClient, ApiKey


class ApiClientAdmin(ReadOnlyAdmin):
    """Which services may call the internal HTTP boundary. Their keys are made by ``manage.py api_key``."""

    named_by = "id"
    ordering = ("name",)
    search_fields = ()
    list_display = ("name", "active_keys", "created_at")
    fieldsets = ((None, {"fields": ("name", "active_keys", "created_at")}),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        return super().get_queryset(request).prefetch_related("keys")

    @admin.display(description="active keys")
    def active_keys(self, client: ApiClient) -> str:
        """The ids of those that are not revoked, oldest first."""
        keys = sorted(client.keys.all(), key=lambda key: key.pk)
        return ", ".join(key.key_id for key in keys if key.revoked_at is None) or "none"


class ApiKeyAdmin(ReadOnlyAdmin):
    """Keys by their ids, with what they allow and when they were used; never a digest."""

    named_by = "id"
    search_fields = ("key_id",)
    search_help_text = "The whole key id, the 12 characters after 'rd_'. Never paste a key here."
    list_display = ("key_id", "client_name", "scopes", "created_at", "last_used_at", "revoked_at")
    list_filter = ("created_at", "revoked_at", "client__name")
    list_select_related = ("client",)
    fieldsets = (
        (None, {"fields": ("key_id", "client_name", "scopes")}),
        ("Times", {"fields": ("created_at", "last_used_at", "revoked_at")}),
    )

    def get_search_results(
        self, _request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """The key of that id, or none."""
        return (queryset.filter(key_id=search_term.strip()) if search_term else queryset), False

    @admin.display(description="client", ordering="client__name")
    def client_name(self, key: ApiKey) -> str:
        """The name of the client whose key it is."""
        return key.client.name
