"""Mount it where only other services can reach it: ``path("", include("resetdelivery.api.urls"))``."""

from __future__ import annotations

from typing import cast

from django.urls import URLPattern, path, re_path

from resetdelivery.api.document import PREFIX
from resetdelivery.api.edge import guarded_urls, unknown
from resetdelivery.api.routes import api

_patterns, _app_name, _namespace = api.urls

urlpatterns = [
    path(PREFIX.lstrip("/"), (guarded_urls(cast("list[URLPattern]", _patterns)), _app_name, _namespace)),
    re_path("", unknown),
]
