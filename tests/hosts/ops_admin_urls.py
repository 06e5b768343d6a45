"""A project whose admin is a site of its own beside Django's."""

from __future__ import annotations

from django.contrib.admin import AdminSite, site
from django.urls import path

from resetdelivery.admin import register

ops = AdminSite(name="ops")
register(ops)

urlpatterns = [path("admin/", site.urls), path("ops/", ops.urls)]
