"""Whether an open intent serves a request as well.

Joining, and not replacing, is what keeps someone who clicks again and again from starving their
own reset. Only what no worker ever took is joined: a worker ends at once what leads to nobody,
and holds or gives back what leads to somebody. If that could still be joined, asking twice would
tell the two apart.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.views.decorators.debug import sensitive_variables

from notifications.channels import Channel
from resetdelivery.admission.terms import Terms
from resetdelivery.domain.retry import still_useful
from resetdelivery.domain.states import DeliveryState, IntentKind, IntentState, Strategy
from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.pseudonyms import is_pseudonym_of

_UNTAKEN = frozenset({DeliveryState.WAITING, DeliveryState.PENDING})


@sensitive_variables()
def find_joinable(terms: Terms, ref: str, used_up: Collection[Channel]) -> list[Delivery]:
    """The deliveries of the account's wanted intent that this request asks for; none to start anew.

    ``used_up`` are the channels whose destination's limit is used up. One statement, whether there
    is such an intent or not.
    """
    stored = list(
        Delivery.objects.using(terms.using)
        .select_related("intent")
        .filter(
            intent__account_ref=ref,
            intent__kind=IntentKind.RESET,
            intent__state=IntentState.OPEN,
            intent__cancel_requested_at=None,
        )
        .order_by("position")
    )
    deliveries = [d for d in stored if d.channel in terms.request.channels]
    if len(deliveries) != len(terms.request.channels) or not _same_turns(terms, stored):
        return []
    if not is_pseudonym_of(stored[0].intent.account_digest, *terms.digest_parts(ref)):
        return []
    return deliveries if all(_serves(terms, d, used_up) for d in deliveries) else []


def _same_turns(terms: Terms, stored: Sequence[Delivery]) -> bool:
    """Whether each channel is used as soon as this request wants it to be.

    A channel that waits for another one serves only a request that has it wait for the same one.
    """
    intent: ResetIntent = stored[0].intent
    if intent.strategy == Strategy.FALLBACK and len(stored) > 1:
        same = [d.channel for d in stored] == list(terms.request.channels)
        return same and terms.request.strategy is Strategy.FALLBACK
    return terms.request.strategy is Strategy.ALL or len(terms.request.channels) == 1


def _serves(terms: Terms, delivery: Delivery, used_up: Collection[Channel]) -> bool:
    channel = Channel(delivery.channel)
    if delivery.suppressed:
        # Asked for anew it would be suppressed again, and the channels beside it would begin again.
        return channel in used_up
    return (
        delivery.state in _UNTAKEN
        # Rises at every claim, and never falls: a release leaves it as it is.
        and delivery.lease_token == 0
        and delivery.authority == terms.authorities[channel]
        and still_useful(terms.settings.policy(channel), now=terms.now, expires_at=delivery.expires_at)
    )
