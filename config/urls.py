from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("receipts/", include("resetdelivery.urls_receipts")),
    path("", include("examples.marketplace.urls")),
]
