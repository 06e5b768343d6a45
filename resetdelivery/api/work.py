"""Claims for workers outside this project."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.http import HttpRequest
from django.views.decorators.debug import sensitive_variables
from ninja import Router

from notifications.message import EmailMessage
from resetdelivery import external
from resetdelivery.api.access import caller_of
from resetdelivery.api.bodies import Strict
from resetdelivery.api.document import WITH_BODY, operation
from resetdelivery.api.failures import invalid
from resetdelivery.api.problems import ApiProblem, FieldError, ProblemType
from resetdelivery.api.work_schemas import (
    ClaimedDeliveries,
    ClaimedDelivery,
    ClaimFields,
    DeliveryStateOut,
    EmailOut,
    HeldFields,
    MessageOut,
    OutcomeFields,
    RenewedOut,
    RenewFields,
    SmsOut,
)
from resetdelivery.claim_bounds import InvalidClaim
from resetdelivery.claims import Hold
from resetdelivery.domain.api_key import Scope
from resetdelivery.domain.external import sender_of

router = Router(tags=["delivery work"])

#: What an operation on one delivery may answer; 404 for a reference that has another form.
_HELD = (ProblemType.NOT_FOUND, ProblemType.STALE_LEASE, *WITH_BODY)
_UNSENT = (*_HELD, ProblemType.ALREADY_MARKED)


@router.post(
    "/claim",
    operation_id="claim_work",
    summary="Hold due deliveries for a while",
    **operation(Scope.WORK_CLAIM, answers={200: ClaimedDeliveries}, problems=WITH_BODY),
)
def claim(request: HttpRequest, body: Strict[ClaimFields]) -> ClaimedDeliveries:
    with _problems():
        found = external.claim(
            sender=sender_of(caller_of(request).client),
            worker_id=body.worker_id,
            limit=body.limit,
            lease_seconds=body.lease_seconds,
            channel=body.channel,
        )
    return ClaimedDeliveries(deliveries=[_claimed(one) for one in found])


@router.post(
    "/{uuid:reference}/message",
    operation_id="hand_out_message",
    summary="Get the message of a held delivery, once",
    **operation(
        Scope.WORK_CLAIM,
        answers={200: MessageOut},
        problems=[*_UNSENT, ProblemType.NOT_SENDABLE],
    ),
)
def message(request: HttpRequest, reference: uuid.UUID, body: Strict[HeldFields]) -> MessageOut:
    # No local variable of this frame ever holds the message.
    with _problems():
        return MessageOut(root=_message(external.hand_out(_hold(request, reference, body))))


@router.post(
    "/{uuid:reference}/outcome",
    operation_id="report_outcome",
    summary="Say what became of a message",
    # Refused, it would make the sweep have the message sent again.
    **operation(Scope.WORK_CLAIM, answers={200: DeliveryStateOut}, problems=_HELD, metered=False),
)
def outcome(request: HttpRequest, reference: uuid.UUID, body: Strict[OutcomeFields]) -> DeliveryStateOut:
    with _problems():
        state = external.report(_hold(request, reference, body), body.as_outcome())
    return DeliveryStateOut(reference=reference, state=state)


@router.post(
    "/{uuid:reference}/renew",
    operation_id="renew_lease",
    summary="Hold a delivery for longer",
    **operation(Scope.WORK_CLAIM, answers={200: RenewedOut}, problems=_UNSENT),
)
def renew(request: HttpRequest, reference: uuid.UUID, body: Strict[RenewFields]) -> RenewedOut:
    with _problems():
        ends = external.renew(_hold(request, reference, body), lease_seconds=body.lease_seconds)
    return RenewedOut(reference=reference, lease_expires_at=ends)


@router.post(
    "/{uuid:reference}/release",
    operation_id="release_work",
    summary="Give a held delivery back",
    **operation(Scope.WORK_CLAIM, answers={200: DeliveryStateOut}, problems=_UNSENT),
)
def release(request: HttpRequest, reference: uuid.UUID, body: Strict[HeldFields]) -> DeliveryStateOut:
    with _problems():
        state = external.give_back(_hold(request, reference, body))
    return DeliveryStateOut(reference=reference, state=state)


@contextmanager
def _problems() -> Iterator[None]:
    """The problems that the use case's exceptions are.

    One body for a lease that is over, one that is another client's, and a delivery that does not
    exist: they are not told apart.
    """
    try:
        yield
    except InvalidClaim as error:
        raise invalid(str(error), FieldError(pointer=f"#/{error.part}", detail=str(error))) from None
    except external.StaleLease:
        raise ApiProblem(
            ProblemType.STALE_LEASE, "This client does not hold this delivery under this token. Claim again."
        ) from None
    except external.AlreadyMarked:
        raise ApiProblem(ProblemType.ALREADY_MARKED, "Report the outcome of its submission.") from None
    except external.NotSendable as error:
        raise ApiProblem(
            ProblemType.NOT_SENDABLE,
            "It is no longer held. Go on with the next one.",
            members={"state": error.state.value},
        ) from None


def _hold(request: HttpRequest, reference: uuid.UUID, body: HeldFields) -> Hold:
    return Hold(sender=sender_of(caller_of(request).client), reference=reference, token=int(body.lease_token))


def _claimed(work: external.Work) -> ClaimedDelivery:
    return ClaimedDelivery(
        reference=work.reference,
        channel=work.channel,
        lease_token=str(work.lease_token),
        lease_expires_at=work.lease_expires_at,
        expires_at=work.expires_at,
    )


@sensitive_variables()
def _message(handed: external.HandedOut) -> EmailOut | SmsOut:
    found = handed.message
    if isinstance(found, EmailMessage):
        return EmailOut(
            attempt_reference=handed.attempt_reference,
            send_within_seconds=handed.send_within_seconds,
            expires_at=found.expires_at,
            to=found.to,
            subject=found.subject,
            text=found.text,
            html=found.html,
            message_id=found.message_id,
            date=found.date,
            boundary=found.boundary,
        )
    return SmsOut(
        attempt_reference=handed.attempt_reference,
        send_within_seconds=handed.send_within_seconds,
        expires_at=found.expires_at,
        to=found.to,
        text=found.text,
        segments=found.segments,
        key=found.key,
    )
