"""Tell an account's people that its password was changed, wherever they can be reached.

A notice travels as a reset does: an intent with one delivery per channel, claimed, sent and swept
alike. It holds no link, answers to no limit on resets, and neither ends a reset nor is ended by one.
"""

from __future__ import annotations

import datetime as dt
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import IntegrityError, connections, transaction
from django.views.decorators.debug import sensitive_variables

from notifications.channels import Channel
from resetdelivery import dispatch
from resetdelivery.clock import database_now
from resetdelivery.conf import Dispatch, get_settings
from resetdelivery.directory import Account, get_directory
from resetdelivery.domain.states import Authority, IntentKind, Strategy
from resetdelivery.domain.telemetry import FirstHint
from resetdelivery.exceptions import StepFailed, without_text
from resetdelivery.models import Delivery, IdempotencyKey, ResetIntent
from resetdelivery.pseudonyms import every_pseudonym, pseudonym
from resetdelivery.telemetry.traces import admission_context
from resetdelivery.template_choice import own_locale

#: The purpose of everything keyed here. A notice's account digest is no reset's: a worker of a release
#: that knows no notices takes the account for a changed one, and sends no link in a notice's place.
PURPOSE = "password changed"
#: Whose idempotency keys these are.
CLIENT = "security notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A stored notice. ``replayed``: this change of the password had been told already."""

    reference: uuid.UUID
    expires_at: dt.datetime
    replayed: bool = False


@sensitive_variables()
def store_notice(*, account_ref: str, using: str) -> Notice | None:
    """Store a notice for each configured channel that reaches the account; ``None`` if none does.

    In the caller's transaction, if there is one. The account is read after the change, so that its
    state names this change and no other; a second call for it finds the first one's notice.
    """
    account = without_text(get_directory().get_many, {account_ref}).get(account_ref)
    if account is None:
        return None
    with transaction.atomic(using=using):
        return _told(account, using) or _tell(account, using)


@sensitive_variables()
def _tell(account: Account, using: str) -> Notice | None:
    channels = [channel for channel in get_settings().channels if account.destination(channel)]
    if not channels:
        return None
    try:
        with transaction.atomic(using=using):
            return _stored(account, channels, using)
    except IntegrityError as error:
        failure = StepFailed(error)
    # Somebody told of the same change at the same moment, and their key is there now.
    if told := _told(account, using):
        return told
    raise failure


@sensitive_variables()
def _told(account: Account, using: str) -> Notice | None:
    keys = every_pseudonym(PURPOSE, account.ref, account.state)
    known = IdempotencyKey.objects.using(using).select_related("intent")
    found = known.filter(client=CLIENT, key_digest__in=keys).first()
    if found is None:
        return None
    return Notice(reference=found.intent.reference, expires_at=found.intent.expires_at, replayed=True)


@sensitive_variables()
def _stored(account: Account, channels: Sequence[Channel], using: str) -> Notice:
    settings, began = get_settings(), time.monotonic()
    now = database_now(connections[using])
    reference = uuid.uuid4()
    digest = str(pseudonym(PURPOSE, account.ref, account.state))
    intent = ResetIntent.objects.using(using).create(
        kind=IntentKind.SECURITY_NOTICE,
        reference=reference,
        **admission_context(reference, began=began),
        account_ref=account.ref,
        account_digest=digest,
        strategy=Strategy.ALL,
        template_version=settings.notice_template_version,
        locale=own_locale(account.locale) or settings.locale,
        created_at=now,
        expires_at=(now + settings.notice_lifetime).replace(microsecond=0),
    )
    deliveries = _deliveries(intent, channels)
    Delivery.objects.using(using).bulk_create(deliveries)
    # No request to compare with: whoever asks with the same key asks for the same.
    IdempotencyKey.objects.using(using).create(
        client=CLIENT, key_digest=digest, request_digest=digest, intent=intent, created_at=now
    )
    dispatch.hint_after_commit(deliveries, using=using)
    return Notice(reference=intent.reference, expires_at=intent.expires_at)


def _deliveries(intent: ResetIntent, channels: Sequence[Channel]) -> list[Delivery]:
    settings = get_settings()
    now = intent.created_at
    hints = settings.dispatch is Dispatch.BROKER
    return [
        Delivery(
            intent=intent,
            channel=channel,
            position=position,
            # Whoever sends the resets of this channel: an existing sender knows of no notice.
            authority=Authority.PIPELINE,
            due_at=now,
            expires_at=min(
                intent.expires_at, (now + settings.channel(channel).max_lifetime).replace(microsecond=0)
            ),
            # The hint follows the commit; where it fails, dispatch takes this back.
            hinted_at=now if hints else None,
            first_hint=FirstHint.PUBLISHED if hints else FirstHint.NONE,
        )
        for position, channel in enumerate(channels)
    ]
