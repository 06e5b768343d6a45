"""Idempotency: the same request under the same key has the same answer."""

from __future__ import annotations

import datetime as dt

from django.views.decorators.debug import sensitive_variables

from resetdelivery.admission.answer import Admission
from resetdelivery.domain.idempotency import request_text
from resetdelivery.domain.request import ResetRequest
from resetdelivery.models import IdempotencyKey, ResetIntent
from resetdelivery.pseudonyms import every_pseudonym, is_pseudonym_of, pseudonym


class KeyTaken(Exception):
    """Another request had this key, and led to ``intent``; leaves the transaction, and no further."""

    def __init__(self, intent: ResetIntent) -> None:
        super().__init__()
        self.intent = intent


@sensitive_variables()
def find_replay(request: ResetRequest, using: str) -> Admission | None:
    """The answer given before under this key, even past the intent's expiry.

    Raises :class:`KeyTaken` if it was the answer to another request.
    """
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
        raise KeyTaken(known.intent)
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
