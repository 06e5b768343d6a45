"""Admission's steps in their order."""

from __future__ import annotations

import time

from django.db import DataError, IntegrityError, OperationalError, transaction
from django.views.decorators.debug import sensitive_variables

from notifications.channels import Channel
from resetdelivery import dispatch, limits
from resetdelivery.account_locks import (
    bounded_waits,
    hold_accounts,
    hold_destinations,
    hold_key,
    hold_open_intents,
    is_lock_timeout,
)
from resetdelivery.admission.answer import Admission
from resetdelivery.admission.places import Place, find_places
from resetdelivery.admission.replays import KeyTaken, find_replay, remember_key
from resetdelivery.admission.terms import Terms, terms_of
from resetdelivery.directory import AccountDirectory, get_directory
from resetdelivery.domain.idempotency import keyed_digest
from resetdelivery.domain.request import ResetRequest
from resetdelivery.exceptions import (
    AccountBusy,
    IdempotencyConflict,
    ResetDeliveryError,
    StepFailed,
    without_text,
)
from resetdelivery.limits import AccountKeys, limit_keys
from resetdelivery.pseudonyms import lasting_key
from resetdelivery.telemetry import traces

#: Begins the account reference of an intent that leads to no account.
DECOY_PREFIX = "~"


@sensitive_variables()
def admit(request: ResetRequest, *, using: str) -> Admission:
    """Store ``request`` as an intent, or find the one that it belongs to.

    A typed address that several accounts share gets an intent for each, as Django's own form
    does; the answer, and what a replay repeats of it, is about the first. It names the channels of an
    existing sender where any of them needs one, and is then about one that does.

    A row that the database refuses is :class:`~resetdelivery.exceptions.StepFailed`: its own message
    would repeat the row. A lock that is not to be had in time is
    :class:`~resetdelivery.exceptions.AccountBusy`.
    """
    failure: ResetDeliveryError
    try:
        return _admit(request, using)
    except KeyTaken as taken:
        # Not in the transaction: the first one makes an exporter, and all its locks would wait.
        traces.key_conflict(taken.intent)
        failure = IdempotencyConflict()
    except (IntegrityError, DataError) as error:
        failure = StepFailed(error)
    except OperationalError as error:
        if not is_lock_timeout(error):
            raise
        failure = AccountBusy(of="account")
    raise failure


@sensitive_variables()
def _admit(request: ResetRequest, using: str) -> Admission:
    began = time.monotonic()
    directory = get_directory()
    refs = _account_refs(request, directory)
    with transaction.atomic(using=using), bounded_waits(using=using):
        hold_key(request, using=using)
        hold_accounts(refs, using=using)
        replay = find_replay(request, using)
        if replay:
            return replay
        accounts = without_text(directory.get_many, refs)
        keys = {ref: limit_keys(ref, accounts.get(ref), request.channels) for ref in refs}
        hold_destinations([k for own in keys.values() for k in own.destinations.values()], using=using)
        hold_open_intents(refs, using=using)
        terms = terms_of(request, refs, accounts, using, began)
        places = _find_places(terms, keys)
        answered = _answered(terms, places)
        remember_key(request, answered.intent, now=terms.now, using=using)
        dispatch.hint_after_commit(
            [d for place in places for d in place.deliveries],
            joined=[d for place in places if place.coalesced for d in place.deliveries],
            using=using,
        )
    return Admission(
        reference=answered.intent.reference,
        expires_at=answered.intent.expires_at,
        coalesced=answered.coalesced,
        legacy_channels=_to_tell(terms, places),
    )


def _answered(terms: Terms, places: list[Place]) -> Place:
    """The place that the answer is about.

    It is what an existing sender's report comes back with: that must meet a row it was told of, and
    one that it could send if it could send any.
    """
    told = terms.legacy_channels()
    new = [place for place in places if any(map(place.is_new_on, told))]
    reached = [place for place in new if terms.reaches(place.intent.account_ref, told)]
    return (reached or new or places)[0]


def _to_tell(terms: Terms, places: list[Place]) -> tuple[Channel, ...]:
    """The channels that an existing sender has to send because of this request."""
    return tuple(c for c in terms.legacy_channels() if any(place.is_new_on(c) for place in places))


@sensitive_variables()
def _account_refs(request: ResetRequest, directory: AccountDirectory) -> list[str]:
    """The accounts meant; for an address that nobody has, a decoy that leads to none."""
    if request.account_ref is not None:
        return [request.account_ref]
    typed = request.submitted or ""
    # A pseudonym and not what was typed: no table of ours holds an address.
    # Under the lasting key: with a newer one in front, decoys alone would change their slices.
    decoy = DECOY_PREFIX + keyed_digest(lasting_key(), "decoy", typed.strip().casefold()).value
    return list(without_text(directory.resolve, typed)) or [decoy]


@sensitive_variables()
def _find_places(terms: Terms, keys: dict[str, AccountKeys]) -> list[Place]:
    """A place for each account, under limits that are counted once and recorded once."""
    every = [key for own in keys.values() for key in own.all()]
    used_up = limits.used_up(every, now=terms.now, using=terms.using)
    places = find_places(terms, {ref: limits.suppression(own, used_up) for ref, own in keys.items()})
    new = [
        (own, place.suppressed)
        for own, place in zip(keys.values(), places, strict=True)
        if not place.coalesced
    ]
    counted = {name for own, suppressed in new for name in limits.counting(own, suppressed)}
    limits.record(every, counted, now=terms.now, using=terms.using)
    for _, suppressed in new:
        limits.tell(suppressed, terms.request.channels, using=terms.using)
    return places
