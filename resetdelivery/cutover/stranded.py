"""Shadow deliveries that are stranded on purpose, and how each of them comes to an end.

Nothing of them is ever sent: their authority is ``shadow``, and most are of accounts that nobody has.
Whatever happens to the process that made them, an account that there is none of ends at the gate.
"""

from __future__ import annotations

import datetime as dt
import secrets
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from django.db import OperationalError, connections, transaction
from django.views.decorators.debug import sensitive_variables

from notifications.channels import Channel
from resetdelivery.account_locks import bounded_waits, hold_accounts, is_lock_timeout
from resetdelivery.admission.transaction import DECOY_PREFIX
from resetdelivery.cancellation import request_intent_cancel
from resetdelivery.claims import Claimed, claim, release
from resetdelivery.clock import database_now
from resetdelivery.conf import Settings, get_settings
from resetdelivery.delivery import pass_gate
from resetdelivery.directory import get_directory
from resetdelivery.domain.reasons import CancelReason
from resetdelivery.domain.states import (
    HELD_STATES,
    OPEN_STATES,
    Authority,
    DeliveryState,
    IntentKind,
    IntentState,
)
from resetdelivery.domain.verification import Kind, Look
from resetdelivery.exceptions import AccountBusy, ResetDeliveryError, without_text
from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.pseudonyms import account_digest_parts, pseudonym

#: Who holds the leases.
OWNER = "verify-recovery"
#: Of the lease that is left alone; not so short that it could run out before it is stored.
ABANDONED_LEASE_SECONDS = 1.0


class CannotStrand(ResetDeliveryError):
    """The rows cannot be made as they should be; none of them is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranded:
    """One delivery, and how it was stored."""

    id: int
    intent_id: int
    reference: uuid.UUID
    kind: Kind
    stored: Look


@dataclass(slots=True, kw_only=True)
class Strand:
    """Makes rows of one channel that outlive ``seconds``, and sees to it that all of them end."""

    channel: Channel
    seconds: float
    using: str
    made: list[Stranded] = field(default_factory=list)
    _held: list[Claimed] = field(default_factory=list, repr=False)

    @sensitive_variables()
    def lease(self, number: int, kind: Kind, *, account_ref: str | None = None) -> None:
        """Store rows and claim them at once, the first one of ``account_ref`` if there is one.

        In one transaction: no worker sees them before, and no request can join the account's.
        """
        seconds = ABANDONED_LEASE_SECONDS if kind is Kind.LEASE_ABANDONED else self.seconds
        with transaction.atomic(using=self.using), bounded_waits(using=self.using):
            rows = self._store(number, account_ref=account_ref)
            claimed = self._claim([row.pk for row in rows], seconds)
            if {one.id for one in claimed} != {row.pk for row in rows}:
                raise CannotStrand(
                    f"Nothing can be claimed on {self.channel} now: it is paused, or a probe looks whether "
                    "it works. Resume it first."
                )
            self._held += claimed
            self._note(rows, kind)

    def leases_end(self) -> dt.datetime:
        """When the last of the abandoned leases runs out."""
        ends = [row.stored.lease_expires_at for row in self.made if row.kind is Kind.LEASE_ABANDONED]
        return max(end for end in ends if end is not None)

    def wait_for_leases(self) -> None:
        """Return once the abandoned leases ran out."""
        end = self.leases_end()
        while (left := end - database_now(connections[self.using])) >= dt.timedelta(0):
            time.sleep(left.total_seconds() + 0.01)

    def lose_hints(self, number: int) -> None:
        """Store rows of which workers were told, it says, and that are due for longer than the grace."""
        long_ago = get_settings().sweep_grace + dt.timedelta(seconds=1)
        due_at = database_now(connections[self.using]) - long_ago
        with transaction.atomic(using=self.using):
            self._note(self._store(number, due_at=due_at, hinted_at=due_at), Kind.HINT_LOST)

    def put_off(self) -> None:
        """Store a row that is due only after all is over."""
        due_at = database_now(connections[self.using]) + dt.timedelta(seconds=self.seconds)
        with transaction.atomic(using=self.using):
            self._note(self._store(1, due_at=due_at), Kind.NOT_DUE)

    def look(self) -> dict[int, Look]:
        """All rows as they are now, by their ids."""
        return _looks([row.id for row in self.made], self.using)

    def deliver(self) -> None:
        """Take what of the rows is due and end it as a worker does: nothing of anybody else's."""
        due = [i for i, look in self.look().items() if _is_due(look)]
        if not due:
            return
        with transaction.atomic(using=self.using):
            claimed = self._claim(due, get_settings().lease.total_seconds())
            # Where a worker came between the look and the claim, others' rows filled the gap.
            release([one for one in claimed if one.id not in due], using=self.using)
        ours = [one for one in claimed if one.id in due]
        if ours:
            # Shadows end here. What else came through must not be held until the lease runs out.
            release([one.claimed for one in pass_gate(ours, using=self.using)], using=self.using)

    def end(self) -> None:
        """Cancel what is open, and give back what is still held from here.

        What another worker holds ends with that worker, or with the sweep. An error on the way keeps
        nothing else from its end; the first one is raised then.
        """
        ends: list[Callable[[], object]] = [partial(self._cancel, row) for row in self.made]
        ends.append(partial(release, self._held, using=self.using))
        failures: list[Exception] = []
        for end in ends:
            try:
                end()
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def _cancel(self, row: Stranded) -> None:
        request_intent_cancel(intent_id=row.intent_id, reason=CancelReason.WITHDRAWN, using=self.using)

    def open(self) -> int:
        """How many of the rows are not at their end."""
        ids = [row.id for row in self.made]
        return Delivery.objects.using(self.using).filter(pk__in=ids, state__in=OPEN_STATES).count()

    def others_abandoned(self) -> list[int]:
        """The rows of others whose lease ran out by now: what a sweep finds beside ours."""
        now = database_now(connections[self.using])
        found = Delivery.objects.using(self.using).filter(state__in=HELD_STATES, lease_expires_at__lt=now)
        ours = [row.id for row in self.made]
        return list(found.exclude(pk__in=ours).order_by("pk").values_list("pk", flat=True))

    def _claim(self, ids: Collection[int], seconds: float) -> list[Claimed]:
        settings = get_settings()
        return claim(
            self.channel,
            ids=ids,
            limit=len(ids),
            lease_seconds=seconds,
            useful_floor_seconds=settings.policy(self.channel).useful_floor_seconds,
            fill_after_seconds=settings.fill_after.total_seconds(),
            # Whether the channel works is not found out with these.
            probe_after_seconds=None,
            owner=OWNER,
            using=self.using,
        )

    @sensitive_variables()
    def _store(
        self,
        number: int,
        *,
        due_at: dt.datetime | None = None,
        hinted_at: dt.datetime | None = None,
        account_ref: str | None = None,
    ) -> list[Delivery]:
        now, settings = database_now(connections[self.using]), get_settings()
        refs = [DECOY_PREFIX + secrets.token_hex(32) for _ in range(number)]
        state = None
        if account_ref is not None:
            refs[0], state = account_ref, _account_state(account_ref, self.using)
        expires_at = self._expiry(now, settings)
        intents = [
            ResetIntent(
                account_ref=ref,
                account_digest=str(pseudonym(*account_digest_parts(ref, state if n == 0 else None))),
                template_version=settings.template_version,
                locale=settings.locale,
                created_at=now,
                expires_at=expires_at,
            )
            for n, ref in enumerate(refs)
        ]
        ResetIntent.objects.using(self.using).bulk_create(intents)
        return Delivery.objects.using(self.using).bulk_create(
            Delivery(
                intent=intent,
                channel=self.channel,
                authority=Authority.SHADOW,
                due_at=due_at or now,
                hinted_at=hinted_at,
                expires_at=expires_at,
            )
            for intent in intents
        )

    def _expiry(self, now: dt.datetime, settings: Settings) -> dt.datetime:
        """Late enough for nothing to expire here, and no shorter a life than a reset usually has."""
        floor = settings.policy(self.channel).useful_floor_seconds
        life = max(settings.lifetime, dt.timedelta(seconds=self.seconds + floor + 60))
        return (now + life).replace(microsecond=0)

    def _note(self, rows: Sequence[Delivery], kind: Kind) -> None:
        # Before the commit: after it they may be somebody's already.
        looks = _looks([row.pk for row in rows], self.using)
        self.made += [
            Stranded(
                id=row.pk,
                intent_id=row.intent_id,
                reference=row.reference,
                kind=kind,
                stored=looks[row.pk],
            )
            for row in rows
        ]


def _looks(ids: Collection[int], using: str) -> dict[int, Look]:
    names = ("state", "lease_token", "lease_owner", "due_at", "lease_expires_at", "hinted_at", "finished_at")
    rows = Delivery.objects.using(using).filter(pk__in=ids).values_list("pk", *names, "reason")
    found = list(rows)
    # After the rows were read: what is seen was so by then at the latest.
    at = database_now(connections[using])
    return {
        row_id: Look(
            at=at,
            state=DeliveryState(state),
            token=token,
            owner=owner,
            due_at=due_at,
            lease_expires_at=lease_expires_at,
            hinted_at=hinted_at,
            finished_at=finished_at,
            reason=reason,
        )
        for row_id, state, token, owner, due_at, lease_expires_at, hinted_at, finished_at, reason in found
    }


def _is_due(look: Look) -> bool:
    return look.state is DeliveryState.PENDING and look.due_at <= look.at


@sensitive_variables()
def _account_state(ref: str, using: str) -> str:
    """The state of a test account that has no reset under way; it stays so until the commit."""
    account = without_text(get_directory().get_many, {ref}).get(ref)
    if account is None:
        raise CannotStrand(
            f"The directory knows no account of this reference ({len(ref)} characters). Name one of a test "
            "account, or leave --account out."
        )
    _hold_account(ref, using)
    wanted = ResetIntent.objects.using(using).filter(
        account_ref=ref, kind=IntentKind.RESET, state=IntentState.OPEN, cancel_requested_at=None
    )
    if wanted.exists():
        raise CannotStrand(
            f"The account ({len(ref)} characters) has a reset under way, which this must not disturb. "
            "Wait until it ended, or name another test account."
        )
    return account.state


@sensitive_variables()
def _hold_account(ref: str, using: str) -> None:
    try:
        hold_accounts([ref], using=using)
    except OperationalError as error:
        if not is_lock_timeout(error):
            raise
    else:
        return
    raise AccountBusy(of="account")
