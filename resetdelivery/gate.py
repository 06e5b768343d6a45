"""Look at each claimed delivery again, now: may it still be sent, and what would be sent?"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from notifications.channels import Channel
from notifications.exceptions import InvalidMessage
from notifications.message import Content, Message, NoticeContent, ResetContent
from notifications.outcome import Reason
from notifications.rendering import Brand, render_email, render_sms
from notifications.sms.phone import is_in_regions, may_be_texted
from notifications.soundness import check_sound
from resetdelivery.claims import Claimed, Ready, segments_of
from resetdelivery.conf import Settings, get_settings
from resetdelivery.directory import Account, AccountDirectory, get_directory
from resetdelivery.domain.decisions import Standing, Verdict, judge
from resetdelivery.domain.reasons import DeliveryReason
from resetdelivery.domain.states import Authority, DeliveryState, IntentKind
from resetdelivery.logs import get_logger
from resetdelivery.pseudonyms import account_digest_parts, is_pseudonym_of

log = get_logger("resetdelivery.gate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A batch after the gate: what may be sent, and what ends here. Some may be in neither."""

    ready: Sequence[Ready]
    refused: Sequence[tuple[Claimed, Verdict]]


def judge_batch(batch: Sequence[Claimed], *, now: dt.datetime) -> Judged:
    """Judge and render a batch with one look-up in the directory."""
    directory = get_directory()
    accounts = directory.get_many({claimed.account_ref for claimed in batch})
    ready: list[Ready] = []
    refused: list[tuple[Claimed, Verdict]] = []
    for claimed in batch:
        account = accounts.get(claimed.account_ref)
        answer = _judge_or_leave(claimed, account, directory, now)
        if isinstance(answer, Verdict):
            refused.append((claimed, answer))
        elif answer is not None:
            ready.append(answer)
    return Judged(ready=ready, refused=refused)


def _judge_or_leave(
    claimed: Claimed, account: Account | None, directory: AccountDirectory, now: dt.datetime
) -> Ready | Verdict | None:
    """``None`` where judging raised: that row waits for the sweep, and holds up no other.

    Its lease runs out, it comes back, and ``max_claims`` ends it if that goes on.
    """
    try:
        return _judge(claimed, account, directory, now)
    except Exception as error:
        # Its text may hold the address or the link.
        log.error("gate_raised", delivery=str(claimed.reference), error_class=type(error).__name__)
        return None


def _judge(
    claimed: Claimed, account: Account | None, directory: AccountDirectory, now: dt.datetime
) -> Ready | Verdict:
    verdict = judge(_standing(claimed, account), get_settings().policy(claimed.channel), now=now)
    if verdict is not None or account is None:
        return verdict or Verdict(state=DeliveryState.CANCELLED, reason=DeliveryReason.UNKNOWN_ACCOUNT)
    attempt_reference = uuid.uuid4()
    try:
        message = build_message(claimed, account, directory, attempt_reference)
        if claimed.authority is Authority.SHADOW:
            return _shadowed(message)
    except InvalidMessage as invalid:
        return Verdict(state=DeliveryState.FAILED, reason=invalid.reason.value)
    return Ready(claimed=claimed, message=message, attempt_reference=attempt_reference)


def _shadowed(message: Message) -> Verdict:
    """The end of a message that another sender sends: its length stays, and nothing else of it.

    No transport sees it, so what those would refuse unasked is refused here.
    """
    check_sound(message)
    return Verdict(state=DeliveryState.SHADOWED, reason=DeliveryReason.SHADOW, segments=segments_of(message))


def _standing(claimed: Claimed, account: Account | None) -> Standing:
    state = None if account is None else account.state
    # A notice holds no link, and must arrive above all where somebody goes on to change the account.
    is_notice = claimed.kind is IntentKind.SECURITY_NOTICE
    return Standing(
        cancel_reason=claimed.cancel_reason,
        suppressed=claimed.suppressed,
        expires_at=claimed.expires_at,
        authority=claimed.authority,
        account_known=account is not None,
        account_usable=account is not None and (is_notice or account.usable),
        account_unchanged=is_notice
        or is_pseudonym_of(claimed.account_digest, *account_digest_parts(claimed.account_ref, state)),
        has_destination=account is not None and bool(account.destination(claimed.channel)),
    )


def build_message(
    claimed: Claimed, account: Account, directory: AccountDirectory, attempt_reference: uuid.UUID
) -> Message:
    """The message of a delivery: the same, to the byte, on each of its tries.

    :class:`InvalidMessage` if it must not be submitted on any of them.
    """
    settings = get_settings()
    content = _content(claimed, account, directory)
    brand = Brand(name=settings.brand, support=settings.support)
    if claimed.channel is Channel.SMS:
        options = settings.channel(Channel.SMS)
        number = account.destination(Channel.SMS) or ""
        if not may_be_texted(number) or (options.regions and not is_in_regions(number, options.regions)):
            raise InvalidMessage(Reason.INVALID_DESTINATION)
        return render_sms(
            to=number,
            content=content,
            version=claimed.template_version,
            locale=claimed.locale,
            brand=brand,
            reference=str(attempt_reference),
            key=str(claimed.reference),
            max_segments=options.max_segments,
            typography=options.typography,
        )
    return render_email(
        to=account.destination(Channel.EMAIL) or "",
        content=content,
        version=claimed.template_version,
        locale=claimed.locale,
        brand=brand,
        message_id=message_id(claimed.reference, settings),
        date=claimed.requested_at,
        boundary=f"=_{claimed.reference.hex}",
        reference=str(attempt_reference),
    )


def _content(claimed: Claimed, account: Account, directory: AccountDirectory) -> Content:
    if claimed.kind is IntentKind.SECURITY_NOTICE:
        return NoticeContent(expires_at=claimed.expires_at)
    return ResetContent(
        link=directory.make_link(account, claimed.expires_at),
        expires_at=claimed.expires_at,
        # From the request and not from now, or a retry would read differently; from its whole
        # second, as the expiry has no fraction either.
        remaining=claimed.expires_at - claimed.requested_at.replace(microsecond=0),
    )


def message_id(reference: uuid.UUID, settings: Settings) -> str:
    """RFC 5322, 3.6.4: one Message-ID per delivery, so that a second copy can be told for one."""
    return f"<{reference}@{settings.message_id_host()}>"
