"""Resets that other services ask for."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.debug import sensitive_variables
from ninja import Router
from ninja.responses import Status

from resetdelivery.api.access import caller_of
from resetdelivery.api.bodies import Strict
from resetdelivery.api.document import WITH_BODY, operation
from resetdelivery.api.failures import invalid, unavailable
from resetdelivery.api.idempotency_header import PATTERN, MalformedKey, key_in
from resetdelivery.api.intent_fields import Admitted, IntentStatus, NewIntent, Withdrawn
from resetdelivery.api.intent_status import intent_status, own_intent
from resetdelivery.api.problems import ApiProblem, FieldError, ProblemType, retry_after
from resetdelivery.domain.api_key import Scope
from resetdelivery.exceptions import (
    AccountBusy,
    IdempotencyConflict,
    InvalidAccountRef,
    InvalidChannels,
    InvalidExpiry,
    InvalidRequest,
)
from resetdelivery.services import Admission, cancel_intent, request_reset

BUSY_SECONDS = 1

router = Router(tags=["reset intents"])

_KEY_PARAMETER: dict[str, Any] = {
    "in": "header",
    "name": "Idempotency-Key",
    "required": True,
    "description": "1 to 255 printable ASCII characters, in quotation marks or bare.",
    "schema": {"type": "string", "minLength": 1, "pattern": PATTERN},
}


@router.post(
    "/reset-intents",
    operation_id="create_reset_intent",
    summary="Ask for a password reset",
    **operation(
        Scope.INTENTS_CREATE,
        answers={202: Admitted},
        problems=[
            *WITH_BODY,
            ProblemType.IDEMPOTENCY_KEY_MISSING,
            ProblemType.IDEMPOTENCY_KEY_MALFORMED,
            ProblemType.IDEMPOTENCY_IN_PROGRESS,
            ProblemType.IDEMPOTENCY_CONFLICT,
        ],
        headers={202: ["Location", "Idempotency-Replayed"], 409: ["Retry-After"]},
        parameters=[_KEY_PARAMETER],
    ),
)
def create_reset_intent(
    request: HttpRequest, response: HttpResponse, body: Strict[NewIntent]
) -> Status[Admitted]:
    """The same answer whether the account exists or not. Nothing is waited for but the database."""
    admission = _admitted(caller_of(request).client, _key(request), body)
    response["Location"] = f"{request.path}/{admission.reference}"
    if admission.replayed:
        response["Idempotency-Replayed"] = "true"
    answer = Admitted(
        reference=admission.reference,
        expires_at=admission.expires_at,
        legacy_channels=[channel.value for channel in admission.legacy_channels],
    )
    return Status(202, answer)


@router.get(
    "/reset-intents/{uuid:reference}",
    operation_id="read_reset_intent",
    summary="Where a reset stands",
    **operation(Scope.INTENTS_READ, answers={200: IntentStatus}, problems=[ProblemType.NOT_FOUND]),
)
def read_reset_intent(request: HttpRequest, reference: uuid.UUID) -> IntentStatus:
    """Only what this client asked for; what another one asked for is not found."""
    return intent_status(caller_of(request).client, reference)


@router.post(
    "/reset-intents/{uuid:reference}/cancel",
    operation_id="cancel_reset_intent",
    summary="Withdraw a reset",
    **operation(Scope.INTENTS_CREATE, answers={202: Withdrawn}, problems=[ProblemType.NOT_FOUND]),
)
def cancel_reset_intent(request: HttpRequest, reference: uuid.UUID) -> Status[Withdrawn]:
    """However often it is asked. What is just being submitted may still leave.

    Where it stands then is for those who may read it.
    """
    intent = own_intent(caller_of(request).client, reference)
    cancel_intent(intent.reference)
    return Status(202, Withdrawn(reference=intent.reference))


@sensitive_variables()
def _key(request: HttpRequest) -> str:
    header = request.headers.get("Idempotency-Key")
    if header is None:
        raise ApiProblem(
            ProblemType.IDEMPOTENCY_KEY_MISSING,
            "Send a key of your own with every new request, such as a UUID.",
        )
    try:
        return key_in(header)
    except MalformedKey as error:
        raise ApiProblem(ProblemType.IDEMPOTENCY_KEY_MALFORMED, str(error)) from None


@sensitive_variables()
def _admitted(client: str, key: str, body: NewIntent) -> Admission:
    try:
        return request_reset(
            account_ref=body.account_id,
            channels=body.channels,
            expires_at=body.expires_at,
            idempotency_key=key,
            client=client,
            strategy=body.strategy,
            locale=body.locale,
            template_version=body.template_version,
        )
    except InvalidRequest as error:
        raise _refused(error) from None
    except IdempotencyConflict:
        raise ApiProblem(
            ProblemType.IDEMPOTENCY_CONFLICT, "Send the first request unchanged, or use a new key."
        ) from None
    except AccountBusy as error:
        raise _busy(error) from None


def _busy(error: AccountBusy) -> ApiProblem:
    if error.of != "key":
        return unavailable()
    return ApiProblem(
        ProblemType.IDEMPOTENCY_IN_PROGRESS, "Send it again, unchanged.", headers=retry_after(BUSY_SECONDS)
    )


def _refused(error: InvalidRequest) -> ApiProblem:
    # These texts name lengths and what is configured, nothing that was sent.
    text = str(error).replace("account_ref", "account_id")
    return invalid(text, FieldError(pointer=f"#/{_field(error)}", detail=text))


_FIELDS: dict[type[InvalidRequest], str] = {
    InvalidAccountRef: "account_id",
    InvalidChannels: "channels",
    InvalidExpiry: "expires_at",
}


def _field(error: InvalidRequest) -> str:
    """The part of the body that an error is about; the text of one about an option begins with its name."""
    return _FIELDS.get(type(error)) or str(error).partition(" ")[0]
