"""Every view of ours that other machines call, beside one of a project's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.core.handlers.base import BaseHandler
from django.urls import URLPattern, URLResolver, get_resolver, include, path

from tests.hosts.atomic_views import ask

urlpatterns = [
    path("ask/", ask),
    path("receipts/", include("resetdelivery.urls_receipts")),
    path("", include("resetdelivery.api.urls")),
]


def told() -> Iterator[str]:
    """A line for each view: whether Django puts a transaction around it."""
    for pattern in _patterns(get_resolver().url_patterns):
        view = pattern.callback
        within = BaseHandler().make_view_atomic(view) is not view
        yield f"{view.__name__} {'inside' if within else 'outside'}"


def _patterns(found: Sequence[URLPattern | URLResolver]) -> Iterator[URLPattern]:
    for one in found:
        if isinstance(one, URLResolver):
            yield from _patterns(one.url_patterns)
        else:
            yield one
