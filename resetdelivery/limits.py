"""Exact limits on requests, counted and recorded in the transaction that admits them.

What is counted by are pseudonyms: of the account's reference, and of each wanted channel's
destination over all accounts. An account without a destination, and one that does not exist, has
stand-ins, so that everybody has as many keys, statements and rows.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.db.models import Count, Q
from django.views.decorators.debug import sensitive_variables

from notifications.channels import Channel
from notifications.email.addresses import AddressRefused, ascii_domain
from notifications.sms.phone import InvalidNumber, limit_key
from resetdelivery.conf import get_settings
from resetdelivery.directory import Account
from resetdelivery.domain.limits import DAY, HOUR, LimitKind, Suppression, Uses, is_used_up, total
from resetdelivery.domain.reasons import CancelReason
from resetdelivery.logs import get_logger
from resetdelivery.models import LimitUse
from resetdelivery.pseudonyms import every_pseudonym, pseudonym

log = get_logger("resetdelivery.limits")


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitKey:
    """One thing that uses are counted by.

    ``name`` is its pseudonym under the newest key, which is what is stored; ``names`` are those
    under every key, which is what is looked for and locked.
    """

    kind: LimitKind
    name: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountKeys:
    """What one account's request is counted by: as many keys whoever it is."""

    account: LimitKey
    destinations: Mapping[Channel, LimitKey]

    def all(self) -> tuple[LimitKey, ...]:
        """The account's key and its destinations'."""
        return (self.account, *self.destinations.values())


@sensitive_variables()
def limit_keys(ref: str, account: Account | None, channels: Collection[Channel]) -> AccountKeys:
    """The keys of a request for ``ref`` on ``channels``; ``account`` is ``None`` for an unknown one."""
    return AccountKeys(
        account=_key(LimitKind.ACCOUNT, ref),
        destinations={c: _key(LimitKind.DESTINATION, *_place(ref, account, c)) for c in channels},
    )


@sensitive_variables()
def _key(kind: LimitKind, *parts: str) -> LimitKey:
    purpose = f"{kind.value} limit"
    return LimitKey(
        kind=kind,
        name=str(pseudonym(purpose, *parts)),
        names=tuple(every_pseudonym(purpose, *parts)),
    )


@sensitive_variables()
def _place(ref: str, account: Account | None, channel: Channel) -> tuple[str, str, str]:
    """Where a message would go, as parts of a pseudonym; a stand-in of the account's own if nowhere."""
    destination = account.destination(channel) if account else None
    text = _IN_ONE_FORM[channel](destination or _SOMEWHERE[channel])
    return (channel.value, "at", text) if destination else (channel.value, "nowhere", ref)


def _mailbox(address: str) -> str:
    """One text per mailbox. Case is folded on both sides of the @: hardly a host tells it apart."""
    local, at, domain = address.strip().rpartition("@")
    # Nothing is sent to what is refused; it still is one text.
    with suppress(AddressRefused):
        domain = ascii_domain(domain)
    return f"{local}{at}{domain}".casefold()


def _subscriber(number: str) -> str:
    try:
        return limit_key(number)
    except InvalidNumber:
        return number


_IN_ONE_FORM = {Channel.EMAIL: _mailbox, Channel.SMS: _subscriber}
#: What is read where there is no destination, so that it takes as long as where there is one.
_SOMEWHERE = {Channel.EMAIL: "nobody@shop.example", Channel.SMS: "+4915112345678"}


def used_up(keys: Iterable[LimitKey], *, now: dt.datetime, using: str) -> frozenset[str]:
    """The names of those keys whose limit is used up at ``now``, by one statement.

    Whoever asks holds the keys' locks, or two requests would both be the last one.
    """
    wanted = _distinct(keys)
    found = _counted([name for key in wanted for name in key.names], now, using)
    limits = get_settings().limits()
    return frozenset(
        key.name
        for key in wanted
        if is_used_up(limits[key.kind], total(found[name] for name in key.names if name in found))
    )


def _counted(names: Collection[str], now: dt.datetime, using: str) -> dict[str, Uses]:
    uses = LimitUse.objects.using(using).filter(key_digest__in=names, used_at__gt=now - DAY, counted=True)
    by_name = uses.values("key_digest").annotate(
        in_hour=Count("pk", filter=Q(used_at__gt=now - HOUR)), in_day=Count("pk")
    )
    rows = by_name.values_list("key_digest", "in_hour", "in_day")
    return {name: Uses(in_hour=hour, in_day=day) for name, hour, day in rows}


def suppression(keys: AccountKeys, names: Collection[str]) -> Suppression:
    """What is not sent of a request with these keys, where the limits of ``names`` are used up."""
    return Suppression(
        account=keys.account.name in names,
        channels=frozenset(c for c, key in keys.destinations.items() if key.name in names),
    )


def counting(keys: AccountKeys, suppressed: Suppression) -> Iterator[str]:
    """The names of the keys that a new intent uses: none where nothing of it is sent."""
    if suppressed.of_intent(keys.destinations) is None:
        yield keys.account.name
        yield from (key.name for c, key in keys.destinations.items() if c not in suppressed.channels)


def record(keys: Iterable[LimitKey], counted: Collection[str], *, now: dt.datetime, using: str) -> None:
    """Write one use per key, by one statement; those of ``counted`` count.

    Also what does not count leaves its row: a request that joined another one, or was
    suppressed, does the same work as any.
    """
    LimitUse.objects.using(using).bulk_create(
        LimitUse(key_digest=key.name, used_at=now, counted=key.name in counted) for key in _distinct(keys)
    )


def _distinct(keys: Iterable[LimitKey]) -> list[LimitKey]:
    """Accounts that share an address share its key: a request counts there once."""
    return list({key.name: key for key in keys}.values())


def tell(suppressed: Suppression, channels: Collection[Channel], *, using: str) -> None:
    """Log, after the commit, which limits kept a new intent from being sent; nothing names whose."""
    reason = suppressed.of_intent(channels)
    if reason is CancelReason.ACCOUNT_LIMIT:
        lines = [(LimitKind.ACCOUNT.value, "all")]
    else:
        lines = [(LimitKind.DESTINATION.value, c.value) for c in channels if c in suppressed.channels]
    for limit, channel in lines:
        transaction.on_commit(
            partial(log.info, "reset_suppressed", limit=limit, channel=channel), using=using
        )
