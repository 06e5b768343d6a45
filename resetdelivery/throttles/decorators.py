"""A view that answers 429 to whoever asks too often."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Concatenate, ParamSpec

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from resetdelivery.throttles.callers import wait_seconds

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]

#: Methods that change nothing (RFC 9110, 9.2.1).
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def throttled(purpose: str) -> Callable[[View[P]], View[P]]:
    """Count what a caller sends to a view; over the limit the view does not run.

    Looking at the page counts nothing. The answer says nothing of any account: it depends on the
    caller's address alone, whatever was sent. For views that are not asynchronous.
    """

    def decorate(view: View[P]) -> View[P]:
        @functools.wraps(view)
        def counted(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            wait = 0.0 if request.method in _SAFE_METHODS else wait_seconds(request, purpose=purpose)
            return too_many_requests(request, wait) if wait else view(request, *args, **kwargs)

        return counted

    return decorate


def too_many_requests(request: HttpRequest, wait: float) -> HttpResponse:
    """429 with ``Retry-After`` (RFC 6585, 4): ``wait`` in whole seconds, rounded up.

    The page is the template ``resetdelivery/too_many_requests.html``, which a project may replace.
    """
    seconds = math.ceil(wait)
    context = {"seconds": seconds, "minutes": math.ceil(seconds / 60)}
    response = render(request, "resetdelivery/too_many_requests.html", context, status=429)
    response["Retry-After"] = str(seconds)
    response["Cache-Control"] = "no-store"
    return response
