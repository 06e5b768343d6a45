"""A URLconf as many projects have it: Django's own pages first."""

from __future__ import annotations

from django.urls import include, path

from config.urls import urlpatterns as ours

urlpatterns = [path("", include("django.contrib.auth.urls")), *ours]
