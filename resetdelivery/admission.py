"""The one transaction behind ``request_reset``.

Lock the account, look for a replay, join the account's unsent intent or store a new one, and
leave hints for after the commit. Known and unknown accounts take the same steps.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from django.db import DataError, IntegrityError, connections, transaction
from django.views.decorators.debug import sensitive_variables

from notifications.channels import Channel
from resetdelivery import dispatch
from resetdelivery.account_locks import hold_open_intents, hold_request
from resetdelivery.cancellation import request_cancel
from resetdelivery.clock import database_now
from resetdelivery.conf import Dispatch, Settings, get_settings
from resetdelivery.directory import Account, AccountDirectory, get_directory
from resetdelivery.domain.idempotency import request_text
from resetdelivery.domain.reasons import CancelReason
from resetdelivery.domain.request import ResetRequest, absolute_expiry
from resetdelivery.domain.retry import still_useful
from resetdelivery.domain.states import Authority, DeliveryState, IntentState, Strategy
from resetdelivery.exceptions import IdempotencyConflict, StepFailed, without_text
from resetdelivery.models import Delivery, IdempotencyKey, ResetIntent
from resetdelivery.pseudonyms import (
    account_digest_parts,
    every_pseudonym,
    is_pseudonym_of,
    pseudonym,
)
from resetdelivery.rollout import authorities

#: Begins the account reference of an intent that leads to no account.
DECOY_PREFIX = "~"


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The answer to a request: the intent's opaque reference and its expiry.

    ``replayed``: this key had asked for just this before. ``coalesced``: the request joined an
    intent of which nothing was sent yet. Neither is for the person who asked: known and unknown
    accounts must look alike. ``legacy_channels`` are those that the caller's existing sender must
    send, named once.
    """

    reference: uuid.UUID
    expires_at: dt.datetime
    replayed: bool = False
    coalesced: bool = False
    legacy_channels: tuple[Channel, ...] = ()


@sensitive_variables()
def admit(request: ResetRequest, *, using: str) -> Admission:
    """Store ``request`` as an intent, or find the one that it belongs to.

    A typed address that several accounts share gets an intent for each, as Django's own form
    does; the answer is about the first. A row that the database refuses is
    :class:`~resetdelivery.exceptions.StepFailed`: its own message would repeat the row.
    """
    try:
        return _admit(request, using)
    except (IntegrityError, DataError) as error:
        failure = StepFailed(error)
    raise failure


@sensitive_variables()
def _admit(request: ResetRequest, using: str) -> Admission:
    directory = get_directory()
    refs = _account_refs(request, directory)
    with transaction.atomic(using=using):
        hold_request(request, refs, using=using)
        replay = _replay(request, using)
        if replay:
            return replay
        hold_open_intents(refs, using=using)
        terms = _terms(request, without_text(directory.get_many, refs), using)
        places = [_admit_account(terms, ref) for ref in refs]
        _remember_key(terms, places[0].intent)
        dispatch.hint_after_commit([d for place in places for d in place.deliveries], using=using)
    first = places[0]
    return Admission(
        reference=first.intent.reference,
        expires_at=first.intent.expires_at,
        coalesced=first.coalesced,
        legacy_channels=() if first.coalesced else terms.legacy_channels(),
    )


@sensitive_variables()
def _account_refs(request: ResetRequest, directory: AccountDirectory) -> list[str]:
    """The accounts meant; for an address that nobody has, a decoy that leads to none."""
    if request.account_ref is not None:
        return [request.account_ref]
    typed = request.submitted or ""
    # A pseudonym and not what was typed: no table of ours holds an address.
    decoy = DECOY_PREFIX + pseudonym("decoy", typed.strip().casefold()).value
    return list(without_text(directory.resolve, typed)) or [decoy]


@sensitive_variables()
def _replay(request: ResetRequest, using: str) -> Admission | None:
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
        raise IdempotencyConflict
    return Admission(reference=known.intent.reference, expires_at=known.intent.expires_at, replayed=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Terms:
    """What every account of one request is admitted under."""

    request: ResetRequest
    settings: Settings
    accounts: Mapping[str, Account] = field(repr=False)
    authorities: Mapping[Channel, Authority]
    now: dt.datetime
    expires_at: dt.datetime
    using: str

    def legacy_channels(self) -> tuple[Channel, ...]:
        return tuple(c for c in self.request.channels if self.authorities[c] is not Authority.PIPELINE)

    def turns(self) -> list[tuple[Channel, dt.datetime]]:
        """Each channel and when its turn comes at the latest, one after the other."""
        waits = [self.settings.channel(channel).fallback_after for channel in self.request.channels]
        starts = accumulate(waits[:-1], initial=dt.timedelta(0))
        return [(c, self.now + start) for c, start in zip(self.request.channels, starts, strict=True)]

    def channel_expiry(self, channel: Channel) -> dt.datetime:
        """The intent's expiry, or sooner where the channel's own longest lifetime is shorter."""
        longest = self.now + self.settings.channel(channel).max_lifetime
        return min(self.expires_at, longest.replace(microsecond=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a request ended up, and the deliveries that a worker should hear of."""

    intent: ResetIntent
    deliveries: Sequence[Delivery]
    coalesced: bool


def _terms(request: ResetRequest, accounts: Mapping[str, Account], using: str) -> _Terms:
    settings = get_settings()
    now = database_now(connections[using])
    return _Terms(
        request=request,
        settings=settings,
        accounts=accounts,
        authorities=authorities(request.channels, using=using),
        now=now,
        expires_at=absolute_expiry(
            request,
            now=now,
            default=settings.lifetime,
            longest=settings.max_lifetime,
            policies=[settings.policy(channel) for channel in request.channels],
        ),
        using=using,
    )


@sensitive_variables()
def _admit_account(terms: _Terms, ref: str) -> _Place:
    wanted = (
        ResetIntent.objects.using(terms.using)
        .filter(account_ref=ref, state=IntentState.OPEN, cancel_requested_at=None)
        .first()
    )
    if wanted is not None:
        joined = _joined(terms, wanted)
        if joined is not None:
            return _Place(intent=wanted, deliveries=joined, coalesced=True)
    request_cancel(account_ref=ref, reason=CancelReason.SUPERSEDED, using=terms.using)
    intent = _new_intent(terms, ref)
    return _Place(intent=intent, deliveries=_new_deliveries(terms, intent), coalesced=False)


def _joined(terms: _Terms, intent: ResetIntent) -> list[Delivery] | None:
    """The intent's deliveries that serve this request as well, or ``None`` if they do not.

    Joining, and not replacing, is what keeps someone who clicks again and again from starving
    their own reset.
    """
    stored = list(Delivery.objects.using(terms.using).filter(intent=intent).order_by("position"))
    deliveries = [d for d in stored if d.channel in terms.request.channels]
    if len(deliveries) != len(terms.request.channels) or not _same_turns(terms, intent, stored):
        return None
    if not is_pseudonym_of(intent.account_digest, *_digest_parts(terms, intent.account_ref)):
        return None
    return deliveries if all(_serves(terms, d) for d in deliveries) else None


def _same_turns(terms: _Terms, intent: ResetIntent, stored: Sequence[Delivery]) -> bool:
    """Whether each channel is used as soon as this request wants it to be.

    A channel that waits for another one serves only a request that has it wait for the same one.
    """
    if intent.strategy == Strategy.FALLBACK and len(stored) > 1:
        same = [d.channel for d in stored] == list(terms.request.channels)
        return same and terms.request.strategy is Strategy.FALLBACK
    return terms.request.strategy is Strategy.ALL or len(terms.request.channels) == 1


_UNSENT = frozenset({DeliveryState.WAITING, DeliveryState.PENDING, DeliveryState.LEASED})


def _serves(terms: _Terms, delivery: Delivery) -> bool:
    channel = Channel(delivery.channel)
    return (
        delivery.state in _UNSENT
        and delivery.attempts == 0
        and delivery.authority == terms.authorities[channel]
        and still_useful(terms.settings.policy(channel), now=terms.now, expires_at=delivery.expires_at)
    )


def _digest_parts(terms: _Terms, ref: str) -> tuple[str, str, str]:
    account = terms.accounts.get(ref)
    return account_digest_parts(ref, account.state if account else None)


def _new_intent(terms: _Terms, ref: str) -> ResetIntent:
    account = terms.accounts.get(ref)
    request, settings = terms.request, terms.settings
    return ResetIntent.objects.using(terms.using).create(
        account_ref=ref,
        account_digest=str(pseudonym(*_digest_parts(terms, ref))),
        strategy=request.strategy,
        template_version=request.template_version or settings.template_version,
        locale=request.locale or (account and account.locale) or settings.locale,
        created_at=terms.now,
        expires_at=terms.expires_at,
    )


def _new_deliveries(terms: _Terms, intent: ResetIntent) -> list[Delivery]:
    """One per channel, due now; under ``fallback`` all but the first wait, each for its arm time."""
    waits = terms.request.strategy is Strategy.FALLBACK
    hinted = terms.settings.dispatch is Dispatch.BROKER
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
            # The hint follows the commit; where it fails, dispatch takes this back.
            hinted_at=terms.now if hinted and not (waits and position) else None,
        )
        for position, (channel, arm_at) in enumerate(terms.turns())
    ]
    return Delivery.objects.using(terms.using).bulk_create(deliveries)


def _remember_key(terms: _Terms, intent: ResetIntent) -> None:
    request = terms.request
    IdempotencyKey.objects.using(terms.using).create(
        client=request.client,
        key_digest=str(pseudonym("idempotency key", request.client, request.idempotency_key)),
        request_digest=str(pseudonym("request", request_text(request.fingerprint()))),
        intent=intent,
        created_at=terms.now,
    )
