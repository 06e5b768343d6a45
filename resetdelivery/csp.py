"""Content Security Policy (W3C, CSP Level 3): what a page may load, and who may frame it.

Django has a middleware of its own from 6.0 on. Ours is for 5.2, and reads the same setting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from types import MappingProxyType

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

HEADER = "Content-Security-Policy"

#: Each directive and its sources, as in Django's ``SECURE_CSP``: one or several; ``True`` for a
#: directive that has none; ``None`` or ``False`` for one that is left out.
Policy = Mapping[str, Sequence[str] | Set[str] | bool | None]
#: Where Django's own middleware puts a nonce. Here there is none, and it goes.
_NONCE = "<CSP_NONCE_SENTINEL>"

#: For the page behind a link: the project's own style and pictures, no script, nothing of anybody else.
PAGE_POLICY: Policy = MappingProxyType(
    {
        "default-src": ("'none'",),
        "style-src": ("'self'",),
        "img-src": ("'self'",),
        "form-action": ("'self'",),
        "base-uri": ("'none'",),
        "frame-ancestors": ("'none'",),
    }
)


def policy_text(policy: Policy) -> str:
    """The header's value, as ``build_policy`` of Django 6.1 writes it where there is no nonce."""
    named = ((directive, _sources(value)) for directive, value in policy.items())
    return "; ".join(" ".join((directive, *sources)) for directive, sources in named if sources is not None)


def _sources(value: Sequence[str] | Set[str] | bool | None) -> Sequence[str] | None:
    """The sources of one directive; ``None`` if it is left out."""
    if isinstance(value, bool) or value is None:
        return () if value else None
    if isinstance(value, str):
        value = [value]
    # One order for one set, or caches would take each answer for another.
    ordered = sorted(value) if isinstance(value, Set) else value
    return [source for source in ordered if source != _NONCE] or None


class ContentSecurityPolicyMiddleware(MiddlewareMixin):
    """Sends ``SECURE_CSP`` with every answer that has no policy of its own.

    Without nonces and without a policy that only reports: for those see Django 6.
    """

    get_response: Callable[[HttpRequest], HttpResponseBase]

    def process_response(self, _: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        policy: Policy | None = getattr(settings, "SECURE_CSP", None)
        if policy and not _is_debug_page(response):
            response.headers.setdefault(HEADER, policy_text(policy))
        return response


def _is_debug_page(response: HttpResponseBase) -> bool:
    """Whether it may be one of Django's own pages about an error, which style and script themselves."""
    return settings.DEBUG and response.status_code in {404, 500}
