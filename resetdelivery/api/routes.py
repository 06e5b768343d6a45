"""The API: its routers, and its problems in place of the library's own answers."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from resetdelivery.api import health, intents, legacy_outcomes, metrics, work
from resetdelivery.api.access import requires
from resetdelivery.api.document import openapi_document
from resetdelivery.api.failures import problem_of
from resetdelivery.api.problems import problem_response

#: Raised with every change that a caller could notice.
VERSION = "1.1.0"


def _problem(_: HttpRequest, error: Any) -> HttpResponse:
    return problem_response(problem_of(error))


def make_api() -> NinjaAPI:
    """The API with every operation. The library serves no document and no page of its own."""
    api = NinjaAPI(
        title="Password reset delivery",
        version=VERSION,
        description="Internal. Described in docs/http-api.md.",
        urls_namespace="resetdelivery-api",
        openapi_url=None,
        docs_url=None,
    )
    for kind in (Exception, Http404, HttpError, ValidationError):
        api.add_exception_handler(kind, _problem)
    api.add_router("", intents.router)
    api.add_router("", legacy_outcomes.router)
    api.add_router("", health.router)
    api.add_router("", metrics.router)
    api.add_router("/delivery-work", work.router)
    api.get("/openapi.json", auth=requires(None), include_in_schema=False)(_read_document)
    return api


def _read_document(request: HttpRequest) -> dict[str, Any]:  # noqa: ARG001
    return openapi_document(api)


api = make_api()
