"""Tell workers, after the commit, that rows are due. Never raises, never waits for long.

A hint is only a hint: where it cannot be sent, or where enough of them stand in the queue
already, the row says so (``hinted_at`` null) and any worker, or the sweep, finds it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.dispatch import receiver

from notifications.channels import Channel
from resetdelivery import broker, fallback
from resetdelivery.claims.follow import armed
from resetdelivery.claims.sql import DELIVERY, INTENT, lock_sql, marks
from resetdelivery.clock import after_sql
from resetdelivery.conf import Dispatch, get_settings
from resetdelivery.domain.states import DeliveryState
from resetdelivery.domain.telemetry import CountedEvent, FirstHint
from resetdelivery.logs import get_logger
from resetdelivery.models import Delivery
from resetdelivery.telemetry.counts import count

log = get_logger("resetdelivery.dispatch")

DELIVER_TASK = "resetdelivery.deliver"
#: For how long after its admission it may still turn out that a hint did not get through: what is
#: counted of hints is counted later than that.
FIRST_HINT_SECONDS = 20.0

#: Told what became of a hint at some rows of a channel.
Note = Callable[[Channel, Sequence[int], FirstHint], None]


def hint_after_commit(
    deliveries: Iterable[Delivery], *, using: str, joined: Collection[Delivery] = ()
) -> None:
    """Hint at the due ones among ``deliveries`` once the surrounding transaction commits.

    Those that are ``joined`` as well were stored before, and have had their first hint.
    """
    known = {delivery.pk for delivery in joined}
    by_channel: dict[Channel, list[int]] = defaultdict(list)
    for delivery in deliveries:
        if delivery.state == DeliveryState.PENDING:
            by_channel[Channel(delivery.channel)].append(delivery.pk)

    def note(_: Channel, ids: Sequence[int], became: FirstHint) -> None:
        if became is not FirstHint.PUBLISHED:
            note_unhinted([i for i in ids if i not in known], using=using, first_hint=became)
            note_unhinted([i for i in ids if i in known], using=using)

    if by_channel:
        transaction.on_commit(lambda: _hint_all(by_channel, using, note), using=using)


@receiver(armed, dispatch_uid="resetdelivery.dispatch")
def _hint_armed(*, by_channel: dict[Channel, list[int]], using: str, **_: object) -> None:
    """Tell workers of fallback channels that were just armed."""

    def note(channel: Channel, ids: Sequence[int], became: FirstHint) -> None:
        if became is not FirstHint.PUBLISHED:
            note_unhinted(ids, using=using)
        count(connections[using], CountedEvent.LATER_HINT, channel, became, len(ids))

    _hint_all(by_channel, using, note)


def _hint_all(by_channel: dict[Channel, list[int]], using: str, note: Note) -> None:
    try:
        mode = get_settings().dispatch
        if mode is Dispatch.BROKER:
            for channel, ids in by_channel.items():
                note(channel, ids, _hinted(channel, ids))
        elif mode is Dispatch.INLINE:
            _deliver_here(by_channel, using)
    except Exception as error:
        # The request is committed; an error here would turn its answer into a lie.
        log.error("hint_failed", error_class=type(error).__name__)


def hint(channel: Channel, ids: Sequence[int]) -> bool:
    """Publish one hint unless enough stand in the queue already; whether one was published."""
    return _hinted(channel, ids) is FirstHint.PUBLISHED


def _hinted(channel: Channel, ids: Sequence[int]) -> FirstHint:
    settings = get_settings()
    try:
        if broker.queue_length(settings.channel(channel).queue) >= settings.hint_backlog:
            return FirstHint.SUPPRESSED
    except broker.BrokerUnavailable:
        return FirstHint.FAILED
    return FirstHint.PUBLISHED if publish_hint(channel, ids) else FirstHint.FAILED


def publish_hint(channel: Channel, ids: Sequence[int]) -> bool:
    """Publish one hint naming ``ids``; whether the broker took it."""
    queue = get_settings().channel(channel).queue
    try:
        broker.publish(DELIVER_TASK, [channel.value, list(ids)], queue=queue)
    except broker.BrokerUnavailable:
        return False
    return True


def note_unhinted(ids: Sequence[int], *, using: str, first_hint: FirstHint = FirstHint.NONE) -> None:
    """Write down that nobody was told of these rows after all.

    ``first_hint`` is what became of the hint that their admissions owed; where such a hint was taken
    for published, it says so now, unless that is too long ago and counted. Waits for no lock: a row
    that somebody holds is being moved on, or is hinted at by the sweep.
    """
    if not ids:
        return
    connection = connections[using]
    named = sorted(set(ids))
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH free AS MATERIALIZED (
                SELECT id FROM {DELIVERY} WHERE id IN ({marks(named)})
                    AND ((state = 'pending' AND hinted_at IS NOT NULL)
                        OR (%s <> '' AND first_hint = 'published'))
                ORDER BY id {lock_sql(connection, "skip")}
            )
            UPDATE {DELIVERY} SET
                hinted_at = CASE WHEN state = 'pending' THEN NULL ELSE hinted_at END,
                first_hint = CASE WHEN %s <> '' AND first_hint = 'published' AND {_is_new_sql(connection)}
                    THEN %s ELSE first_hint END
            WHERE id IN (SELECT id FROM free)
            """,
            [*named, *[first_hint.value] * 2, -FIRST_HINT_SECONDS, first_hint.value],
        )


def _is_new_sql(connection: BaseDatabaseWrapper) -> str:
    return (
        f"EXISTS (SELECT 1 FROM {INTENT} i WHERE i.id = {DELIVERY}.intent_id "
        f"AND i.created_at > {after_sql(connection)})"
    )


def _deliver_here(by_channel: dict[Channel, list[int]], using: str) -> None:
    # Here and not above: a process that only publishes needs neither transports nor templates.
    from resetdelivery.delivery import deliver

    # No clock ticks in this mode: each request looks for what the last ones left waiting.
    fallback.arm_due(using=using)
    for channel, ids in by_channel.items():
        deliver(channel, ids, using=using)
