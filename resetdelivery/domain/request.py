"""What a caller asks for, and whether its shape makes sense. Pure; needs no clock but an argument."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from notifications.channels import Channel
from resetdelivery.domain.retry import RetryPolicy
from resetdelivery.domain.states import Strategy
from resetdelivery.exceptions import (
    InvalidAccountRef,
    InvalidChannels,
    InvalidExpiry,
    InvalidIdempotencyKey,
    InvalidOption,
)

MAX_REF_LENGTH = 255
MAX_KEY_LENGTH = 255
MAX_CLIENT_LENGTH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetRequest:
    """One request as sent. Exactly one of ``account_ref`` and ``submitted`` is set."""

    account_ref: str | None = field(repr=False)
    submitted: str | None = field(repr=False)
    channels: tuple[Channel, ...]
    lifetime: dt.timedelta | None
    expires_at: dt.datetime | None
    idempotency_key: str = field(repr=False)
    client: str
    strategy: Strategy
    locale: str | None
    template_version: str | None

    def fingerprint(self) -> Mapping[str, object]:
        """What must be equal for two requests under one key to be the same request."""
        return {
            "account_ref": self.account_ref,
            "submitted": self.submitted,
            "channels": list(self.channels),
            "lifetime": None if self.lifetime is None else self.lifetime.total_seconds(),
            "expires_at": None if self.expires_at is None else _moment_text(self.expires_at),
            "strategy": self.strategy.value,
            "locale": self.locale,
            "template_version": self.template_version,
        }


def _moment_text(moment: dt.datetime) -> str:
    """An aware moment, the same text in each time zone: seconds since 1970, to the microsecond.

    Not by way of ``astimezone``, which overflows at either end of the calendar.
    """
    return str((moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1))


def checked_account(account_ref: object, submitted: object) -> None:
    """:class:`InvalidAccountRef` unless exactly one usable string is given."""
    if (account_ref is None) == (submitted is None):
        raise InvalidAccountRef("Give exactly one of account_ref and submitted.")
    name, value = ("account_ref", account_ref) if submitted is None else ("submitted", submitted)
    problem = _text_problem(value, MAX_REF_LENGTH)
    if problem:
        raise InvalidAccountRef(f"{name} {problem}.")


def checked_key(idempotency_key: object, client: object) -> None:
    """:class:`InvalidIdempotencyKey` unless both are short, printable strings."""
    for name, value, longest in (
        ("idempotency_key", idempotency_key, MAX_KEY_LENGTH),
        ("client", client, MAX_CLIENT_LENGTH),
    ):
        problem = _text_problem(value, longest)
        if problem:
            raise InvalidIdempotencyKey(f"{name} {problem}.")


def _text_problem(value: object, longest: int) -> str:
    """What is wrong with a text, in words that do not repeat it; empty if nothing is."""
    if not isinstance(value, str):
        return f"must be a string, not {type(value).__name__}"
    if not value.strip():
        return "must not be empty"
    if len(value) > longest:
        return f"has {len(value)} characters; {longest} are allowed"
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in value):
        return f"({len(value)} characters) holds a control character or half a surrogate pair"
    return ""


def checked_channels(channels: object, configured: Collection[Channel]) -> tuple[Channel, ...]:
    """The channels in the order given; :class:`InvalidChannels` if one is unknown or repeated."""
    if isinstance(channels, str) or not isinstance(channels, Iterable):
        raise InvalidChannels(f"channels must be a list of names, not {type(channels).__name__}.")
    wanted = list(channels)
    known = {channel.value: channel for channel in configured}
    for name in wanted:
        if not isinstance(name, str) or name not in known:
            raise InvalidChannels(
                f"channels holds {_shown(name)}; configured are {', '.join(map(repr, sorted(known)))}."
            )
    if not wanted:
        raise InvalidChannels("channels must name at least one channel.")
    if len(set(wanted)) != len(wanted):
        raise InvalidChannels("channels names one channel twice.")
    return tuple(known[name] for name in wanted)


def _shown(name: object) -> str:
    """A name that may be anything a caller passed, even an address: shown only if it looks like a name."""
    if isinstance(name, str) and name.isascii() and name.isalpha() and len(name) <= 16:
        return repr(str(name))
    return f"a {type(name).__name__} that is no channel's name"


def checked_strategy(strategy: object) -> Strategy:
    """The strategy; :class:`InvalidOption` if there is none of that name."""
    if isinstance(strategy, str) and strategy in list(Strategy):
        return Strategy(strategy)
    raise InvalidOption(f"strategy must be one of {', '.join(repr(s.value) for s in Strategy)}.")


def checked_times(lifetime: object, expires_at: object) -> None:
    """:class:`InvalidExpiry` for both at once, a wrong type, or a naive datetime."""
    if lifetime is not None and expires_at is not None:
        raise InvalidExpiry("Give lifetime or expires_at, not both.")
    if lifetime is not None and not isinstance(lifetime, dt.timedelta):
        raise InvalidExpiry(f"lifetime must be a datetime.timedelta, not {type(lifetime).__name__}.")
    if expires_at is None:
        return
    if not isinstance(expires_at, dt.datetime):
        raise InvalidExpiry(f"expires_at must be a datetime, not {type(expires_at).__name__}.")
    if expires_at.utcoffset() is None:
        raise InvalidExpiry("expires_at has no time zone; give an aware datetime.")


def absolute_expiry(
    request: ResetRequest,
    *,
    now: dt.datetime,
    default: dt.timedelta,
    longest: dt.timedelta,
    policies: Iterable[RetryPolicy],
    shortest: dt.timedelta = dt.timedelta(0),
) -> dt.datetime:
    """The expiry in whole seconds; :class:`InvalidExpiry` if it is past, too near or too far.

    "Too near" is less than ``shortest``, as it was asked for, or a lifetime in which not even the first
    try could help on some channel.
    """
    lifetime = default if request.lifetime is None else request.lifetime
    expires_at = request.expires_at or _end(now, lifetime, longest)
    remaining = expires_at - now
    if remaining <= dt.timedelta(0):
        raise InvalidExpiry(f"expires_at lies {-remaining} in the past.")
    if remaining > longest:
        raise InvalidExpiry(f"The reset would live {remaining}; {longest} is the longest allowed.")
    if remaining < shortest:
        raise InvalidExpiry(f"The reset would live {remaining}; {shortest} is the shortest allowed.")
    # Whole seconds: the link's own timestamp has no fraction.
    whole = expires_at.astimezone(dt.UTC).replace(microsecond=0)
    useful = max(p.expected_queue_delay_seconds + p.useful_floor_seconds for p in policies)
    if (whole - now).total_seconds() < useful:
        raise InvalidExpiry(f"The reset would live {whole - now}; it takes {useful:g} s to be of any use.")
    return whole


def _end(now: dt.datetime, lifetime: dt.timedelta, longest: dt.timedelta) -> dt.datetime:
    if lifetime > longest:
        raise InvalidExpiry(f"lifetime is {lifetime}; {longest} is the longest allowed.")
    try:
        return now + lifetime
    except OverflowError:
        raise InvalidExpiry("lifetime reaches before the first year.") from None
