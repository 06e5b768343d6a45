"""Take out of rows what leads to a person, as soon as it is of no more use."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence

from django.db.backends.utils import CursorWrapper

from resetdelivery.claims.sql import ATTEMPT, DELIVERY, INTENT, marks
from resetdelivery.clock import now_sql
from resetdelivery.retention.policy import IS_DECOY, IS_SHADOW
from resetdelivery.retention.rounds import Round, Walk, walk


def shadow_refs(round_: Round) -> Iterator[int]:
    """Of resets that an existing sender sends: nothing of them was ours to send."""
    return _scrub(round_, round_.before(round_.settings.keep_shadows), f"NOT {IS_DECOY} AND {IS_SHADOW}")


def account_refs(round_: Round) -> Iterator[int]:
    """Of all that are closed. Decoys go as a whole."""
    return _scrub(round_, round_.before(round_.settings.keep_account_refs), f"NOT {IS_DECOY}")


def _scrub(round_: Round, before: dt.datetime, whose: str) -> Iterator[int]:
    def take(cursor: CursorWrapper, ids: Sequence[int]) -> int:
        cursor.execute(
            f"UPDATE {INTENT} SET account_ref = '', account_digest = '', "
            f"scrubbed_at = {now_sql(round_.connection)} WHERE id IN ({marks(ids)})",
            list(ids),
        )
        return int(cursor.rowcount)

    closed = f"state = 'closed' AND scrubbed_at IS NULL AND {whose}"
    return walk(round_, Walk(table=INTENT, by="closed_at", before=before, where=closed), take)


def provider_references(round_: Round) -> Iterator[int]:
    """The provider's names for messages, once nobody will ask it about them."""
    told = [channel.value for channel, one in round_.settings.channels.items() if one.gives_receipts]
    of_no_use = (
        "NOT (provider_reference = '') AND outcome <> '' "
        f"AND (started_at < %s OR receipt IN ('delivered', 'failed') OR NOT EXISTS ("
        f"SELECT 1 FROM {DELIVERY} d WHERE d.id = delivery_id AND d.channel IN ({marks(told)})))"
    )
    oldest = round_.moments(round_.before(round_.settings.keep_provider_references))
    found = Walk(table=ATTEMPT, by="started_at", before=round_.now, where=of_no_use, params=[*oldest, *told])
    return walk(round_, found, _forget_provider)


def _forget_provider(cursor: CursorWrapper, ids: Sequence[int]) -> int:
    cursor.execute(f"UPDATE {ATTEMPT} SET provider_reference = '' WHERE id IN ({marks(ids)})", list(ids))
    return int(cursor.rowcount)
