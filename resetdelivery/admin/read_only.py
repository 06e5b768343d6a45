"""What all our pages share: nobody changes anything, and nothing but a reference finds a row."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, ClassVar, cast

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Model]
else:
    ModelAdmin = admin.ModelAdmin


class ReadOnlyAdmin(ModelAdmin):
    """Pages to look at, for whoever may view the model; superusers change nothing either.

    A row is named by its field ``named_by`` in addresses, and ``search_fields`` is that field or
    empty. The fields shown are listed one by one: a new column is not shown until somebody says so.
    """

    named_by = "reference"
    actions = None
    list_per_page = 50
    # Either would count the whole table, which holds millions of finished rows.
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    ordering = ("-pk",)
    search_fields: ClassVar[tuple[str, ...]] = ("reference",)
    search_help_text = "The whole reference, such as 1b4e28ba-2fa1-41d2-883f-0016d3cca427."
    change_form_template = "resetdelivery/admin/read_only.html"

    def has_add_permission(self, *_: object) -> bool:
        return False

    def has_change_permission(self, *_: object) -> bool:
        return False

    def has_delete_permission(self, *_: object) -> bool:
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Only what the filters ask; Django's own rule would answer questions about any column."""
        names = [getattr(asked, "parameter_name", asked) for asked in self.list_filter]
        asked = any(lookup == name or lookup.startswith(f"{name}__") for name in names)
        return asked and super().lookup_allowed(lookup, value, request)

    def get_search_results(
        self, _request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """The row of the reference, or none: no part of a reference and no other column is searched."""
        if not search_term:
            return queryset, False
        try:
            return queryset.filter(reference=uuid.UUID(search_term.strip())), False
        except ValueError:
            return queryset.none(), False

    def get_object(self, request: HttpRequest, object_id: str, *_: object) -> Model | None:
        """The row that ``object_id`` names; row ids are for the workers' hints alone."""
        try:
            return self.get_queryset(request).filter(**{self.named_by: object_id}).first()
        except (ValidationError, ValueError):
            return None

    def get_changelist(self, *_: object, **__: object) -> type[ChangeList]:
        return _ChangeList


class _ChangeList(ChangeList):
    """A list whose links name the rows as the pages do."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.pk_attname = cast("ReadOnlyAdmin", self.model_admin).named_by
