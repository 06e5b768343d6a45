"""What a caller's existing sender made of the channels that it was told to send."""

from __future__ import annotations

import uuid
from typing import Annotated

from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, Field

from resetdelivery.api.access import caller_of
from resetdelivery.api.bodies import Strict, StrictFields
from resetdelivery.api.document import WITH_BODY, operation
from resetdelivery.api.failures import invalid
from resetdelivery.api.intent_fields import ChannelName
from resetdelivery.api.intent_status import own_intent
from resetdelivery.api.problems import ApiProblem, FieldError, ProblemType
from resetdelivery.domain.api_key import Scope
from resetdelivery.domain.telemetry import LegacyOutcome
from resetdelivery.rollout import InvalidReport, OutcomeConflict
from resetdelivery.services import report_legacy_outcome

router = Router(tags=["reset intents"])


class LegacyReport(StrictFields):
    """One of the reset's ``legacy_channels``, and what became of its message."""

    channel: ChannelName
    outcome: Annotated[LegacyOutcome, Field(strict=False)]


class LegacyReported(BaseModel):
    """What is on record, now or before."""

    reference: uuid.UUID
    channel: ChannelName
    outcome: LegacyOutcome


@router.post(
    "/reset-intents/{uuid:reference}/legacy-outcome",
    operation_id="report_legacy_outcome",
    summary="Say what the existing sender made of a channel",
    **operation(
        Scope.INTENTS_CREATE,
        answers={200: LegacyReported},
        problems=[ProblemType.NOT_FOUND, ProblemType.OUTCOME_CONFLICT, *WITH_BODY],
    ),
)
def legacy_outcome(request: HttpRequest, reference: uuid.UUID, body: Strict[LegacyReport]) -> LegacyReported:
    """However often the same is said. It changes nothing but what is compared."""
    intent = own_intent(caller_of(request).client, reference)
    try:
        report_legacy_outcome(intent.reference, body.channel, body.outcome)
    except InvalidReport as error:
        raise invalid(str(error), FieldError(pointer=f"#/{error.part}", detail=str(error))) from None
    except OutcomeConflict as error:
        raise ApiProblem(ProblemType.OUTCOME_CONFLICT, str(error)) from None
    return LegacyReported(reference=intent.reference, channel=body.channel, outcome=body.outcome)
