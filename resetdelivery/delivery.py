"""One channel's due deliveries, from claim to settle. Every boundary runs this and only this."""

from __future__ import annotations

import datetime as dt
import os
import random
import socket
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from django.db import router

from notifications.channels import Channel
from notifications.deadline import Deadline, boot_seconds
from notifications.message import Message
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.transport import Transport
from resetdelivery.claims import (
    Claimed,
    Marked,
    Ready,
    Result,
    claim,
    finish_leased,
    mark,
    release,
    settle,
)
from resetdelivery.conf import Settings, get_settings
from resetdelivery.domain.failover import Lineup
from resetdelivery.domain.lease import lease_seconds, waves
from resetdelivery.domain.states import IntentKind
from resetdelivery.gate import judge_batch
from resetdelivery.lineup import Assigned, Share, assign, return_probe
from resetdelivery.logs import get_logger
from resetdelivery.models import Delivery
from resetdelivery.telemetry import attempt_log
from resetdelivery.throttles import conversion, sms
from resetdelivery.transports import Provider, get_providers, get_transport

log = get_logger("resetdelivery.delivery")
_draw = random.SystemRandom().random


def deliver(
    channel: Channel,
    ids: Collection[int] = (),
    *,
    using: str | None = None,
    until: Callable[[], bool] = lambda: False,
    fill_at_once: bool = False,
    transport: Transport | None = None,
) -> int:
    """Deliver what is due on ``channel``, named rows first; how many rows were claimed.

    Goes on claiming until a claim comes back short, or until ``until()`` says to stop.
    ``fill_at_once`` takes any due row, not only those left over for a moment: for callers that
    no hint ever reaches. ``transport`` takes the configured one's place and, unlike that, is
    given one message at a time: for tests.
    """
    alias = using or router.db_for_write(Delivery)
    run = _Run(channel, alias, fill_at_once=fill_at_once, transport=transport)
    total = 0
    while True:
        claimed = run.claim(ids)
        total += len(claimed)
        run.deliver(claimed)
        # A probe comes alone; if it opened the channel, the others wait for no hint of their own.
        short = len(claimed) < run.settings.claim_limit and not any(c.probe for c in claimed)
        if short or until():
            return total
        ids = ()


class _Run:
    """One call's fixed surroundings: the channel, its settings, its providers."""

    def __init__(
        self, channel: Channel, alias: str, *, fill_at_once: bool, transport: Transport | None
    ) -> None:
        self.settings: Settings = get_settings()
        self.channel = channel
        self.alias = alias
        self.fill_at_once = fill_at_once
        self.options = self.settings.channel(channel)
        self.policy = self.settings.policy(channel)
        providers = _providers(channel) if transport is None else (Provider.alone(transport),)
        self.transports: Mapping[str, Transport] = {one.name: one.transport for one in providers}
        self.lineup = Lineup(order=tuple(self.transports), policy=self.options.circuit_policy())
        self.in_turn = transport is not None
        self.send_budget = self.options.send_budget.total_seconds()
        self.margin = self.settings.lease_margin.total_seconds()
        self.lease = lease_seconds(self.settings.lease.total_seconds(), self.send_budget, self.margin)

    def claim(self, ids: Collection[int]) -> list[Claimed]:
        settings = self.settings
        return claim(
            self.channel,
            ids=ids,
            limit=settings.claim_limit,
            lease_seconds=self.lease,
            useful_floor_seconds=self.policy.useful_floor_seconds,
            fill_after_seconds=0.0 if self.fill_at_once else settings.fill_after.total_seconds(),
            probe_after_seconds=settings.probe_after.total_seconds(),
            owner=worker_name(),
            using=self.alias,
            lineup=self.lineup,
        )

    def deliver(self, claimed: Sequence[Claimed]) -> None:
        if not claimed:
            return
        for wave in waves(pass_gate(claimed, using=self.alias), self.options.wave):
            self._send_wave(wave)

    def _send_wave(self, wave: Sequence[Ready]) -> None:
        # Read before the database's clock is: the deadline can only come out too early.
        before_mark = boot_seconds()
        assigned = sms.narrowed(
            assign(self.channel, wave, self.lineup, probe_seconds=self.lease, using=self.alias)
        )
        finish_leased(assigned.stranded, using=self.alias)
        marked = self._mark(assigned)
        messages = {one.claimed.id: one.message for one in wave}
        results = self._submit_all(marked, messages, before_mark)
        for settled in settle(
            results,
            policy=self.policy,
            draw=_draw,
            max_claims=self.settings.max_claims,
            probe_after_seconds=self.settings.probe_after.total_seconds(),
            using=self.alias,
            lineup=self.lineup,
        ):
            attempt_log.write(settled)
        if self.channel is Channel.SMS:
            conversion.note_sent(messages[i].to for i in _accepted(results))
        unsent = assigned.not_among({one.claimed.id for one in marked})
        release(unsent, using=self.alias, until=assigned.postponed)

    def _mark(self, assigned: Assigned) -> list[Marked]:
        """Record the attempts of each provider's share; a probe that is not on record is given back."""
        found: list[Marked] = []
        for share in assigned.shares:
            try:
                found += self._mark_share(share)
            except Exception as error:
                if not found:
                    raise
                # What is on record is sent all the same, or the sweep would take it for ambiguous.
                log.error("mark_failed", provider=share.provider, error_class=type(error).__name__)
        return found

    def _mark_share(self, share: Share) -> list[Marked]:
        marked = mark(
            share.ready,
            send_budget_seconds=self.send_budget,
            lease_margin_seconds=self.margin,
            transport=share.provider,
            probe=share.probe,
            worker=worker_name(),
            using=self.alias,
        )
        if share.probe and not marked:
            return_probe(self.channel, share.provider, using=self.alias)
        return marked

    def _submit_all(
        self, marked: Sequence[Marked], messages: Mapping[int, Message], before_mark: float
    ) -> list[Result]:
        jobs = [
            (self.transports[one.transport], messages[one.claimed.id], one, self._deadline(one, before_mark))
            for one in marked
        ]
        if len(jobs) == 1 or self.in_turn:
            return [_submit(*job) for job in jobs]
        return list(_threads().map(lambda job: _submit(*job), jobs))

    def _deadline(self, one: Marked, before_mark: float) -> Deadline:
        lifetime = (one.claimed.expires_at - one.started_at).total_seconds()
        return Deadline(before_mark + min(self.send_budget, lifetime))


def pass_gate(claimed: Sequence[Claimed], *, using: str) -> Sequence[Ready]:
    """What of a batch may be sent; what may not is at its end. A row that cannot be judged is left."""
    try:
        judged = judge_batch(claimed, now=claimed[0].claimed_at)
    except Exception:
        # An account system that is away uses up none of the rows' claims.
        release(claimed, using=using)
        raise
    finish_leased(judged.refused, using=using)
    return judged.ready


def pass_limits(ready: Sequence[Ready], *, using: str) -> Sequence[Ready]:
    """What of ``ready`` the limits of text messages let pass, to be marked next; it is paid for.

    The rest is at its end, or waits where the limits cannot be asked. For who has no providers of
    ours to share a wave out to.
    """
    allowed = sms.within_limits(ready)
    finish_leased(allowed.refused, using=using)
    held_back = [one.claimed for one in ready if one.claimed.id in allowed.postponed]
    release(held_back, using=using, until=allowed.postponed)
    return allowed.ready


def _providers(channel: Channel) -> tuple[Provider, ...]:
    return get_providers(channel) or (Provider.alone(get_transport(channel)),)


def _accepted(results: Sequence[Result]) -> list[int]:
    """Resets that the provider took. A notice leads to none, and would count against its range."""
    return [
        one.marked.claimed.id
        for one in results
        if one.outcome.kind is OutcomeKind.ACCEPTED and one.marked.claimed.kind is IntentKind.RESET
    ]


def _submit(transport: Transport, message: Message, one: Marked, deadline: Deadline) -> Result:
    """Ask the provider, outside any transaction; whatever happens comes back as a value."""
    started = boot_seconds()
    try:
        outcome = transport.submit(message, deadline)
    except Exception as error:
        # A transport must not raise. Nothing is known of how far it came, and its exception's
        # text may hold the address: only the class goes on.
        log.error("transport_raised", transport=one.transport, error_class=type(error).__name__)
        outcome = Outcome(kind=OutcomeKind.AMBIGUOUS, reason=Reason.TRANSPORT_BUG)
    seconds = boot_seconds() - started
    return Result(
        marked=one,
        outcome=outcome,
        finished_at=one.started_at + dt.timedelta(seconds=seconds),
        duration_seconds=seconds,
    )


@lru_cache(maxsize=1)
def _threads() -> ThreadPoolExecutor:
    """Threads for waves, made as they are needed; many tasks of one process share them."""
    return ThreadPoolExecutor(max_workers=256, thread_name_prefix="resetdelivery-send")


@lru_cache(maxsize=1)
def worker_name() -> str:
    """This process, as leases and attempts name it: host and process id."""
    return f"{socket.gethostname()[:48]}:{os.getpid()}"
