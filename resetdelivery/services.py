"""The public face: what a marketplace's own code calls."""

from __future__ import annotations

import datetime as dt
import secrets
import uuid
from collections.abc import Iterable

from asgiref.sync import sync_to_async
from django.db import router
from django.views.decorators.debug import sensitive_variables

from resetdelivery.admission import Admission, admit
from resetdelivery.cancellation import request_cancel, request_intent_cancel
from resetdelivery.conf import get_settings
from resetdelivery.domain.reasons import CancelReason
from resetdelivery.domain.request import (
    ResetRequest,
    checked_account,
    checked_channels,
    checked_key,
    checked_strategy,
    checked_times,
)
from resetdelivery.erasure import ErasureReceipt, forget
from resetdelivery.models import ResetIntent
from resetdelivery.notices import Notice, store_notice
from resetdelivery.rollout import legacy_outcome
from resetdelivery.template_choice import checked_locale, checked_template_version
from resetdelivery.timeline import Timeline, timeline_of

__all__ = [
    "Admission",
    "ErasureReceipt",
    "Notice",
    "arequest_reset",
    "cancel_intent",
    "cancel_resets",
    "explain",
    "forget_account",
    "notify_password_changed",
    "report_legacy_outcome",
    "request_reset",
]


@sensitive_variables()
def request_reset(
    *,
    account_ref: str | None = None,
    submitted: str | None = None,
    channels: Iterable[str],
    lifetime: dt.timedelta | None = None,
    expires_at: dt.datetime | None = None,
    idempotency_key: str | None = None,
    client: str = "local",
    strategy: str = "all",
    locale: str | None = None,
    template_version: str | None = None,
    using: str | None = None,
) -> Admission:
    """Admit one password reset, durably, without waiting for any provider.

    Name the account by ``account_ref`` (your own opaque reference) or pass on what a person
    typed as ``submitted``; never both. It expires after ``lifetime`` or at the aware
    ``expires_at``, in whole seconds; by default after ``RESETDELIVERY["LIFETIME"]``. The same
    ``idempotency_key`` with the same request returns the same intent; without one each call is
    a request of its own. ``strategy`` is ``all`` (every channel at once) or ``fallback`` (in the
    order given, the next one only where the one before does not arrive). The answer is the same
    whether the account exists or not, and whether its limits are used up or not.

    Raises :class:`~resetdelivery.exceptions.InvalidRequest` (nothing was stored),
    :class:`~resetdelivery.exceptions.IdempotencyConflict`, or, where another request holds what
    this one needs, :class:`~resetdelivery.exceptions.AccountBusy`: send it again.
    """
    checked_account(account_ref, submitted)
    checked_times(lifetime, expires_at)
    key = secrets.token_urlsafe(24) if idempotency_key is None else idempotency_key
    checked_key(key, client)
    request = ResetRequest(
        account_ref=account_ref,
        submitted=submitted,
        channels=checked_channels(channels, get_settings().channels),
        lifetime=lifetime,
        expires_at=expires_at,
        idempotency_key=key,
        client=client,
        strategy=checked_strategy(strategy),
        locale=checked_locale(locale),
        template_version=checked_template_version(template_version),
    )
    return admit(request, using=_alias(using))


@sensitive_variables()
async def arequest_reset(
    *,
    account_ref: str | None = None,
    submitted: str | None = None,
    channels: Iterable[str],
    lifetime: dt.timedelta | None = None,
    expires_at: dt.datetime | None = None,
    idempotency_key: str | None = None,
    client: str = "local",
    strategy: str = "all",
    locale: str | None = None,
    template_version: str | None = None,
    using: str | None = None,
) -> Admission:
    """:func:`request_reset` for asynchronous views."""
    return await sync_to_async(request_reset)(
        account_ref=account_ref,
        submitted=submitted,
        channels=channels,
        lifetime=lifetime,
        expires_at=expires_at,
        idempotency_key=idempotency_key,
        client=client,
        strategy=strategy,
        locale=locale,
        template_version=template_version,
        using=using,
    )


@sensitive_variables()
def cancel_resets(*, account_ref: str, using: str | None = None) -> int:
    """Withdraw every open reset of an account; how many were asked to stop.

    What no worker holds ends at once. A message that is just being submitted may still leave.
    Raises :class:`~resetdelivery.exceptions.InvalidAccountRef`.
    """
    checked_account(account_ref, None)
    return request_cancel(account_ref=account_ref, reason=CancelReason.WITHDRAWN, using=_alias(using))


def cancel_intent(reference: uuid.UUID, *, using: str | None = None) -> bool:
    """Withdraw one reset; whether anything of it could still happen.

    What was said of :func:`cancel_resets` holds here. ``ResetIntent.DoesNotExist`` if there is none.
    """
    alias = _alias(using)
    intent_id = ResetIntent.objects.using(alias).values_list("pk", flat=True).get(reference=reference)
    return request_intent_cancel(intent_id=intent_id, reason=CancelReason.WITHDRAWN, using=alias)


@sensitive_variables()
def forget_account(
    *, account_ref: str, who: str = "local", why: str = "", using: str | None = None
) -> ErasureReceipt:
    """Erase what is stored of an account, and withdraw every open reset and notice of it.

    Call it when the account is deleted: one that lives on may ask again, and is stored anew then.
    What a worker holds loses its account at once and is deleted when that worker is done; the receipt
    says how many. Totals stay as they are, and so does an audit entry with ``who`` and ``why``, which
    must not name the account. Raises :class:`~resetdelivery.exceptions.InvalidAccountRef`,
    :class:`~resetdelivery.audit.InvalidAuditEntry`, or, where somebody holds what it needs,
    :class:`~resetdelivery.exceptions.AccountBusy`: call it again.
    """
    checked_account(account_ref, None)
    return forget(account_ref=account_ref, who=who, why=why, using=_alias(using))


@sensitive_variables()
def notify_password_changed(*, account_ref: str, using: str | None = None) -> Notice | None:
    """Tell every verified contact point of an account, on every channel, that its password changed.

    Call it in the transaction that stores the new password, after that; the page of
    :class:`~resetdelivery.views.PasswordResetConfirmView` does. Twice for one change is one notice.
    ``None`` if there is nobody to tell. Raises :class:`~resetdelivery.exceptions.InvalidAccountRef`.
    """
    checked_account(account_ref, None)
    return store_notice(account_ref=account_ref, using=_alias(using))


def report_legacy_outcome(
    reference: uuid.UUID, channel: str, outcome: str, *, using: str | None = None
) -> bool:
    """Tell what your existing sender made of a channel that :func:`request_reset` told it to send.

    ``reference`` is the admission's; ``outcome`` is ``accepted`` (a provider took it), ``failed`` (none
    did) or ``not_sent`` (it decided not to send). It is kept for ``manage.py rollout compare`` and
    changes nothing else. Once: false where the same was told before. Raises
    :class:`~resetdelivery.rollout.InvalidReport` for what is not the existing sender's to report, and
    :class:`~resetdelivery.rollout.OutcomeConflict` where something else was told before.
    """
    return legacy_outcome.report(reference, channel, outcome, using=_alias(using))


def explain(reference: uuid.UUID, *, using: str | None = None) -> Timeline:
    """What happened to one intent and why, in order; ``ResetIntent.DoesNotExist`` if there is none."""
    alias = using or router.db_for_read(ResetIntent)
    return timeline_of(ResetIntent.objects.using(alias).get(reference=reference))


def _alias(using: str | None) -> str:
    return using or router.db_for_write(ResetIntent)
