"""Views that begin and end their transactions themselves, whatever a project puts around each view."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.db import connections, transaction

View = TypeVar("View", bound=Callable[..., object])


def in_no_transaction(view: View) -> View:
    """``view``, kept out of ``ATOMIC_REQUESTS`` on every database; Django's own mark is for one alias."""
    for alias in connections:
        view = transaction.non_atomic_requests(using=alias)(view)
    return view
