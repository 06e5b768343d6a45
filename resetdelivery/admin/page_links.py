"""Links from one of our pages to another, for those who may follow them."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse


def may_view(request: HttpRequest, site: AdminSite, model: type[Model]) -> bool:
    """Whether ``site`` has pages of ``model`` and this person may look at them."""
    if model not in site._registry:
        return False
    return site._registry[model].has_view_permission(request)


def page_address(site: AdminSite, model: type[Model], name: object) -> str:
    """The address of the page of the row that ``name`` names."""
    place = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
    return reverse(place, args=[str(name)], current_app=site.name)
