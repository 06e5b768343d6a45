"""Where a request ends up for each of its accounts: in the intent that it joins, or in a new one."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.views.decorators.debug import sensitive_variables

from notifications.channels import Channel
from resetdelivery.admission.coalescing import find_joinable
from resetdelivery.admission.terms import Terms
from resetdelivery.cancellation import request_cancel
from resetdelivery.conf import Dispatch
from resetdelivery.domain.limits import Suppression
from resetdelivery.domain.reasons import CancelReason
from resetdelivery.domain.states import DeliveryState, Strategy
from resetdelivery.domain.telemetry import FirstHint
from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.pseudonyms import pseudonym
from resetdelivery.telemetry.traces import admission_context
from resetdelivery.template_choice import own_locale

#: No account's reference: what it stands in for then stops nobody's intents.
NOBODY = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a request ended up, and the deliveries that a worker should hear of."""

    intent: ResetIntent
    deliveries: Sequence[Delivery]
    coalesced: bool
    suppressed: Suppression

    def is_new_on(self, channel: Channel) -> bool:
        """Whether something is to be sent on ``channel`` because of this request."""
        if self.coalesced or self.intent.cancel_reason:
            return False
        return channel not in self.suppressed.channels


@sensitive_variables()
def find_places(terms: Terms, suppressions: Mapping[str, Suppression]) -> list[Place]:
    """A place for each account of a request: the untaken intent that it joins, or a new one."""
    joinable = {ref: find_joinable(terms, ref, own.channels) for ref, own in suppressions.items()}
    together = _join_together(terms, joinable, suppressions)
    return [
        _joined(joinable[ref], own) if together and joinable[ref] else _stored(terms, ref, own)
        for ref, own in suppressions.items()
    ]


def _join_together(
    terms: Terms, joinable: Mapping[str, Sequence[Delivery]], suppressions: Mapping[str, Suppression]
) -> bool:
    """Whether those accounts that could join may.

    An existing sender that is told of a channel sends to every account that shares the address. So
    if it has to be told for one of them, none joins what it was told before.
    """
    if not terms.legacy_channels():
        return True
    left = [own for ref, own in suppressions.items() if not joinable[ref]]
    return all(own.of_intent(terms.request.channels) for own in left)


def _joined(deliveries: Sequence[Delivery], suppressed: Suppression) -> Place:
    return Place(intent=deliveries[0].intent, deliveries=deliveries, coalesced=True, suppressed=suppressed)


@sensitive_variables()
def _stored(terms: Terms, ref: str, suppressed: Suppression) -> Place:
    """A new intent, which supersedes what older ones of the account have not sent.

    One of which nothing will be sent supersedes none: whoever uses a limit up must not be able to
    stop what was asked for before. It takes the same steps.
    """
    reason = suppressed.of_intent(terms.request.channels)
    request_cancel(account_ref=NOBODY if reason else ref, reason=CancelReason.SUPERSEDED, using=terms.using)
    intent = _new_intent(terms, ref, reason)
    deliveries = _new_deliveries(terms, intent, suppressed)
    return Place(intent=intent, deliveries=deliveries, coalesced=False, suppressed=suppressed)


def _new_intent(terms: Terms, ref: str, reason: CancelReason | None) -> ResetIntent:
    account = terms.accounts.get(ref)
    request, settings = terms.request, terms.settings
    reference = uuid.uuid4()
    return ResetIntent.objects.using(terms.using).create(
        reference=reference,
        **admission_context(reference, began=terms.began),
        account_ref=ref,
        account_digest=str(pseudonym(*terms.digest_parts(ref))),
        strategy=request.strategy,
        template_version=request.template_version or settings.template_version,
        locale=request.locale or own_locale(account and account.locale) or settings.locale,
        created_at=terms.now,
        expires_at=terms.expires_at,
        cancel_requested_at=terms.now if reason else None,
        cancel_reason=reason or "",
    )


def _new_deliveries(terms: Terms, intent: ResetIntent, suppressed: Suppression) -> list[Delivery]:
    """One per channel, due now; under ``fallback`` all but the first wait, each for its arm time.

    Suppressed ones as well, for the gate to end: who asks learns nothing from what is stored here.
    """
    waits = terms.request.strategy is Strategy.FALLBACK
    hints = terms.settings.dispatch is Dispatch.BROKER
    deliveries = [
        Delivery(
            intent=intent,
            channel=channel,
            position=position,
            authority=terms.authorities[channel],
            state=DeliveryState.WAITING if waits and position else DeliveryState.PENDING,
            due_at=terms.now,
            expires_at=terms.channel_expiry(channel),
            arm_at=arm_at if waits and position else None,
            suppressed=suppressed.of_delivery(channel),
            # The hint follows the commit; where it fails, dispatch takes this back.
            hinted_at=terms.now if hints and not (waits and position) else None,
            first_hint=FirstHint.PUBLISHED if hints and not (waits and position) else FirstHint.NONE,
        )
        for position, (channel, arm_at) in enumerate(terms.turns())
    ]
    return Delivery.objects.using(terms.using).bulk_create(deliveries)
