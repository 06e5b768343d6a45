"""What the private listener serves: the internal API and nothing else."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [path("", include("resetdelivery.api.urls"))]
