"""What the page behind a link tells browsers, caches and search engines, and asks of browsers."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import add_never_cache_headers

from resetdelivery.csp import HEADER as CSP_HEADER
from resetdelivery.csp import Policy, policy_text

_FETCH_SITE = "Sec-Fetch-Site"


def name_hidden_origin(request: HttpRequest) -> None:
    """Write our own origin where a browser hides it and says that it is ours.

    Under ``no-referrer`` a browser sends ``Origin: null`` with a form (Fetch standard, "append a
    request Origin header"), which Django's CSRF check refuses. ``Sec-Fetch-Site`` (W3C, Fetch
    Metadata Request Headers) says whether the form was on a page of this very origin; scripts
    cannot set it, and a sandboxed frame is another origin. Django checks its token all the same.
    """
    if request.headers.get("Origin") == "null" and request.headers.get(_FETCH_SITE) == "same-origin":
        request.META["HTTP_ORIGIN"] = f"{request.scheme}://{request.get_host()}"


def referrer_policy(request: HttpRequest, response: HttpResponseBase, token_in_address: bool) -> str:
    """``no-referrer``; but ``same-origin`` for a form in a browser that hides its origin and says no more.

    Those are browsers older than 2023, and any on plain http: :func:`name_hidden_origin` would not
    know their forms again. The form's address holds no token, and no other site is told of it.
    """
    if token_in_address or _FETCH_SITE in request.headers or 300 <= response.status_code < 400:
        return "no-referrer"
    return "same-origin"


def harden(response: HttpResponseBase, policy: Policy, referrer: str) -> None:
    """Headers of every answer, in any project, whatever its middleware."""
    add_never_cache_headers(response)
    response.headers[CSP_HEADER] = policy_text(policy)
    response.headers["Referrer-Policy"] = referrer
    response.headers["X-Frame-Options"] = "DENY"
    response.headers["X-Robots-Tag"] = "noindex"
