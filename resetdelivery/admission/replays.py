"""Idempotency: the same request under the same key has the same answer."""

from __future__ import annotations

import datetime as dt

from django.views.decorators.debug import sensitive_variables

from resetdelivery.admission.answer import Admission
from resetdelivery.domain.idempotency import request_text
from resetdelivery.domain.request import ResetRequest
from resetdelivery.exceptions import IdempotencyConflict
from resetdelivery.models import IdempotencyKey, ResetIntent
from resetdelivery.pseudonyms import every_pseudonym, is_pseudonym_of, pseudonym
from resetdelivery.telemetry import traces


@sensitive_variables()
def find_replay(request: ResetRequest, using: str) -> Admission | None:
    """The answer given before under this key, even past the intent's expiry."""
    known = (
        IdempotencyKey.objects.using(using)
        .select_related("intent")
        .filter(
            client=request.client,
            key_digest__in=every_pseudonym("idempotency key", request.client, request.idempotency_key),
        )
        .first()
    )
    if known is None:
        return None
    if not is_pseudonym_of(known.request_digest, "request", request_text(request.fingerprint())):
        traces.key_conflict(known.intent)
        raise IdempotencyConflict
    return Admission(reference=known.intent.reference, expires_at=known.intent.expires_at, replayed=True)


@sensitive_variables()
def remember_key(request: ResetRequest, intent: ResetIntent, *, now: dt.datetime, using: str) -> None:
    """Let the request's key lead to ``intent`` from now on."""
    IdempotencyKey.objects.using(using).create(
        client=request.client,
        key_digest=str(pseudonym("idempotency key", request.client, request.idempotency_key)),
        request_digest=str(pseudonym("request", request_text(request.fingerprint()))),
        intent=intent,
        created_at=now,
    )
