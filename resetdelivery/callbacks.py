"""The edge where providers call: one view for all of them, and anymail's signal.

Whatever comes in is answered with one of a few empty answers. A receipt holds the destination, so
no part of a call is logged, stored or quoted: what is counted is a line with the provider's name
and words from closed sets.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST

from notifications.receipts.callback import (
    Callback,
    CallbackError,
    CallbackPostponed,
    CallbackTooLarge,
    CallbackUnreadable,
)
from notifications.receipts.receipt import Receipt
from resetdelivery.logs import get_logger
from resetdelivery.receipts import record
from resetdelivery.receivers import ANYMAIL, callback_address, get_anymail_receiver, get_receiver
from resetdelivery.view_transactions import in_no_transaction

MAX_BODY_OCTETS = 16 * 1024

log = get_logger("resetdelivery.callbacks")


@csrf_exempt
@login_not_required
@require_POST
@in_no_transaction
@sensitive_variables()
def receipt_callback(request: HttpRequest, provider: str, attempt: uuid.UUID | None = None) -> HttpResponse:
    """Take a provider's receipt: 204 once it is stored, however often it comes, known or not.

    404 for a provider that is not configured, 405 for anything but POST; what is no receipt is
    answered with the status of its :class:`CallbackError`, and counted.
    """
    try:
        receiver = get_receiver(provider)
    except KeyError:
        raise Http404("No receipts of this provider are taken.") from None
    try:
        for receipt in receiver.read(_callback(request, provider, attempt)):
            _store(provider, receipt)
    except CallbackError as error:
        _count(provider, error.word)
        return HttpResponse(status=error.status)
    return HttpResponse(status=204)


@sensitive_variables()
def _callback(request: HttpRequest, provider: str, attempt: uuid.UUID | None) -> Callback:
    query = request.META.get("QUERY_STRING", "")
    return Callback(
        url=callback_address(provider, attempt) + (f"?{query}" if query else ""),
        query=query,
        headers={name.lower(): value for name, value in request.headers.items()},
        body=_body(request),
        attempt_reference=attempt,
        received_at=timezone.now(),
    )


def _body(request: HttpRequest) -> bytes:
    """The raw body, of which no more than the limit is ever read."""
    try:
        body = request.read(MAX_BODY_OCTETS + 1)
    except OSError:
        raise CallbackUnreadable from None
    if len(body) > MAX_BODY_OCTETS:
        raise CallbackTooLarge
    return body


def _store(provider: str, receipt: Receipt) -> None:
    try:
        recorded = record(receipt)
    except DatabaseError as error:
        # Its text may quote parameters.
        log.error("receipt_not_stored", provider=provider, error_class=type(error).__name__)
        raise CallbackPostponed from None
    _count(provider, recorded.value, verdict=receipt.verdict.value, reason=receipt.reason.value)


def _count(provider: str, result: str, **words: str) -> None:
    log.info("receipt_callback", provider=provider, result=result, **words)


def connect_anymail() -> None:
    """Take receipts from django-anymail's ``tracking`` signal; call it in an ``AppConfig.ready()``."""
    from anymail.signals import tracking

    tracking.connect(receive_tracking, dispatch_uid="resetdelivery.callbacks")


@sensitive_variables()
def receive_tracking(event: Any, **_: object) -> None:
    """Store one tracking event of anymail's, or count why not.

    Only :class:`CallbackPostponed` gets out, so that anymail asks the provider to call again.
    """
    try:
        _store(ANYMAIL, get_anymail_receiver().read(event, timezone.now()))
    except CallbackPostponed:
        raise
    except CallbackError as error:
        _count(ANYMAIL, error.word)
