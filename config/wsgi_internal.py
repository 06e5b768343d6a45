"""The private listener's application. Bind it to an address that only other services can reach."""

from __future__ import annotations

import os

import django
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

URLCONF = "config.urls_internal"


class InternalHandler(WSGIHandler):
    """Serves its own URLconf. ROOT_URLCONF stays the shop's, which the links in messages come from."""

    def get_response(self, request: HttpRequest) -> HttpResponseBase:
        """Errors of the middleware, such as one for a wrong Host, are problems as well."""
        from resetdelivery.api.edge import as_problem, refused_host, with_headers

        request.urlconf = URLCONF
        return refused_host(request) or with_headers(as_problem(super().get_response(request)))


django.setup(set_prefix=False)
application = InternalHandler()
