"""The outermost layer of every page of the boundary, whichever way its answer was made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar, cast

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern
from django.utils.log import log_response
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_variables

from resetdelivery.api.failures import not_found, problem_for_status, problem_of
from resetdelivery.api.problems import MEDIA_TYPE, problem_response
from resetdelivery.view_transactions import in_no_transaction

R = TypeVar("R", bound=HttpResponseBase)
View = Callable[..., HttpResponseBase]


def guarded(view: View) -> View:
    """``view`` with problems for all that goes wrong, and the headers that every answer has.

    Exempt from the CSRF check because no cookie says who a caller is, and none is ever set.
    """

    @csrf_exempt
    @login_not_required
    @in_no_transaction
    @sensitive_variables()
    @wraps(view)
    def edge(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method == "HEAD":
            request.method = "GET"
            return _without_content(edge(request, *args, **kwargs))
        try:
            # A project without CommonMiddleware would answer to any Host.
            request.get_host()
            response = view(request, *args, **kwargs)
        except Exception as error:
            response = problem_response(problem_of(error))
        return _noted(request, with_headers(as_problem(response)))

    return edge


def _without_content(response: HttpResponseBase) -> HttpResponseBase:
    """What HEAD gets: the headers of GET, its length among them (RFC 9110, 9.3.2)."""
    if isinstance(response, HttpResponse):
        response["Content-Length"] = str(len(response.content))
        response.content = b""
    return response


def guarded_urls(patterns: Iterable[URLPattern]) -> list[URLPattern]:
    """URL patterns of which every view is :func:`guarded`."""
    return [URLPattern(p.pattern, guarded(p.callback), p.default_args, p.name) for p in patterns]


def refused_host(request: HttpRequest) -> HttpResponse | None:
    """The answer to a Host that is not ours; ``None`` for one that is. Django's own would log it."""
    try:
        request.get_host()
    except DisallowedHost as error:
        return with_headers(problem_response(problem_of(error)))
    return None


def as_problem(response: HttpResponseBase) -> HttpResponseBase:
    """``response``; a problem in its place if it is an error that somebody else worded."""
    if response.status_code < 400 or response.headers.get("Content-Type") == MEDIA_TYPE:
        return response
    problem = problem_response(problem_for_status(response.status_code))
    if "Allow" in response.headers:
        problem["Allow"] = ", ".join(sorted(response["Allow"].split(", ")))
    return problem


def with_headers(response: R) -> R:
    """``response`` with what keeps it out of caches and from being taken for something else."""
    response["Cache-Control"] = "no-store"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _noted(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Log an error as Django would, with the route in place of the address: callers put much into that."""
    if response.status_code >= 400:
        route = request.resolver_match.route if request.resolver_match else ""
        log_response("%s: /%s", response.reason_phrase, route, response=cast("HttpResponse", response))
    return response


@guarded
def unknown(request: HttpRequest) -> HttpResponseBase:  # noqa: ARG001
    """The view of every address that has no other."""
    raise not_found()
