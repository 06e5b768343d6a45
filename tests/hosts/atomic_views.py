"""Views of a project with ATOMIC_REQUESTS: each runs in a transaction around its own."""

from __future__ import annotations

from typing import ClassVar

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import path

from resetdelivery.services import request_reset


class Spy:
    """What was published while the view was still running."""

    published: ClassVar[list[object]] = []
    before_commit: ClassVar[int] = -1


def ask(request: HttpRequest) -> HttpResponse:
    """Ask for a reset as any view does."""
    request_reset(account_ref=request.GET["account"], channels=["email"])
    Spy.before_commit = len(Spy.published)
    return HttpResponse()


def ask_then_fail(request: HttpRequest) -> HttpResponse:
    """Fail after the reset was admitted."""
    ask(request)
    raise LookupError


def ask_inside_then_go_on(request: HttpRequest) -> HttpResponse:
    """Ask inside two more transactions, of which the inner one is taken back."""
    with transaction.atomic():
        ask(request)
        with transaction.atomic():
            request_reset(submitted="nobody@shop.example", channels=["email"])
            transaction.set_rollback(True)
    Spy.before_commit = len(Spy.published)
    return HttpResponse()


urlpatterns = [
    path("ask/", ask),
    path("ask-then-fail/", ask_then_fail),
    path("ask-inside-then-go-on/", ask_inside_then_go_on),
]
