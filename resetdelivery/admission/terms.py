"""What every account of one request is admitted under."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from django.db import connections
from django.views.decorators.debug import sensitive_variables

from notifications.channels import Channel
from resetdelivery.clock import database_now
from resetdelivery.conf import Settings, get_settings
from resetdelivery.directory import Account
from resetdelivery.domain.request import ResetRequest, absolute_expiry
from resetdelivery.domain.states import Authority, Strategy
from resetdelivery.pseudonyms import account_digest_parts
from resetdelivery.rollout import authorities


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The request with what it is measured by; ``now`` is the database's, under the locks.

    ``began`` is ``time.monotonic()`` as the admission began.
    """

    request: ResetRequest
    settings: Settings
    accounts: Mapping[str, Account] = field(repr=False)
    authorities: Mapping[Channel, Authority]
    now: dt.datetime
    expires_at: dt.datetime
    using: str
    began: float

    def legacy_channels(self) -> tuple[Channel, ...]:
        """Those of the request's channels that an existing sender sends."""
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

    @sensitive_variables()
    def reaches(self, ref: str, channels: Iterable[Channel]) -> bool:
        """Whether there is such an account, and a reset on any of ``channels`` can get to it."""
        account = self.accounts.get(ref)
        return account is not None and account.usable and any(map(account.destination, channels))

    def digest_parts(self, ref: str) -> tuple[str, str, str]:
        """What the digest of an account is made of, known or not."""
        account = self.accounts.get(ref)
        return account_digest_parts(ref, account.state if account else None)


@sensitive_variables()
def terms_of(
    request: ResetRequest, refs: Collection[str], accounts: Mapping[str, Account], using: str, began: float
) -> Terms:
    """The terms of a request for ``refs`` now; ``accounts`` are those of them that exist.

    Raises :class:`~resetdelivery.exceptions.InvalidExpiry`.
    """
    settings = get_settings()
    now = database_now(connections[using])
    return Terms(
        request=request,
        settings=settings,
        accounts=accounts,
        authorities=authorities(
            request.channels, refs=refs, in_turn=request.strategy is Strategy.FALLBACK, using=using
        ),
        now=now,
        expires_at=absolute_expiry(
            request,
            now=now,
            default=settings.lifetime,
            longest=settings.max_lifetime,
            shortest=settings.min_lifetime,
            policies=[settings.policy(channel) for channel in request.channels],
        ),
        using=using,
        began=began,
    )
