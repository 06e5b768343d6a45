"""Tell workers, after the commit, that rows are due. Never raises, never waits for long.

A hint is only a hint: where it cannot be sent, or where enough of them stand in the queue
already, the row says so (``hinted_at`` null) and any worker, or the sweep, finds it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from django.db import connections, transaction
from django.dispatch import receiver

from notifications.channels import Channel
from resetdelivery import broker, fallback
from resetdelivery.claims.follow import armed
from resetdelivery.conf import Dispatch, get_settings
from resetdelivery.domain.states import DeliveryState
from resetdelivery.logs import get_logger
from resetdelivery.models import Delivery

log = get_logger("resetdelivery.dispatch")

DELIVER_TASK = "resetdelivery.deliver"


def hint_after_commit(deliveries: Iterable[Delivery], *, using: str) -> None:
    """Hint at the due ones among ``deliveries`` once the surrounding transaction commits."""
    by_channel: dict[Channel, list[int]] = defaultdict(list)
    for delivery in deliveries:
        if delivery.state == DeliveryState.PENDING:
            by_channel[Channel(delivery.channel)].append(delivery.pk)
    if by_channel:
        transaction.on_commit(lambda: _hint_all(by_channel, using), using=using)


@receiver(armed, dispatch_uid="resetdelivery.dispatch")
def _hint_armed(*, by_channel: dict[Channel, list[int]], using: str, **_: object) -> None:
    """Tell workers of fallback channels that were just armed."""
    _hint_all(by_channel, using)


def _hint_all(by_channel: dict[Channel, list[int]], using: str) -> None:
    try:
        mode = get_settings().dispatch
        if mode is Dispatch.BROKER:
            for channel, ids in by_channel.items():
                _hint_or_note(channel, ids, using)
        elif mode is Dispatch.INLINE:
            _deliver_here(by_channel, using)
    except Exception as error:
        # The request is committed; an error here would turn its answer into a lie.
        log.error("hint_failed", error_class=type(error).__name__)


def _hint_or_note(channel: Channel, ids: Sequence[int], using: str) -> None:
    if not hint(channel, ids):
        note_unhinted(ids, using=using)


def hint(channel: Channel, ids: Sequence[int]) -> bool:
    """Publish one hint unless enough stand in the queue already; whether one was published."""
    settings = get_settings()
    try:
        if broker.queue_length(settings.channel(channel).queue) >= settings.hint_backlog:
            return False
    except broker.BrokerUnavailable:
        return False
    return publish_hint(channel, ids)


def publish_hint(channel: Channel, ids: Sequence[int]) -> bool:
    """Publish one hint naming ``ids``; whether the broker took it."""
    queue = get_settings().channel(channel).queue
    try:
        broker.publish(DELIVER_TASK, [channel.value, list(ids)], queue=queue)
    except broker.BrokerUnavailable:
        return False
    return True


def note_unhinted(ids: Sequence[int], *, using: str) -> None:
    """Write down that nobody was told of these rows after all.

    Waits for no lock: a row that somebody holds is being moved on, or is hinted at by the sweep.
    """
    with transaction.atomic(using=using):
        rows = Delivery.objects.using(using).filter(pk__in=ids, state=DeliveryState.PENDING)
        can_skip = connections[using].features.has_select_for_update_skip_locked
        free = rows.select_for_update(skip_locked=can_skip)
        rows.filter(pk__in=list(free.order_by("pk").values_list("pk", flat=True))).update(hinted_at=None)


def _deliver_here(by_channel: dict[Channel, list[int]], using: str) -> None:
    # Here and not above: a process that only publishes needs neither transports nor templates.
    from resetdelivery.delivery import deliver

    # No clock ticks in this mode: each request looks for what the last ones left waiting.
    fallback.arm_due(using=using)
    for channel, ids in by_channel.items():
        deliver(channel, ids, using=using)
