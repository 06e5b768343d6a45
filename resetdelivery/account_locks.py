"""What an admission locks, in the order in which everybody does; all of it until the commit.

The request's key, its accounts, their destinations, their open intents: each kind after the one
before it, and ascending within a kind. Workers lock intents and never wait for the others, and so
no circle can close.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from django.db import OperationalError, connections
from django.views.decorators.debug import sensitive_variables

from resetdelivery.conf import get_settings
from resetdelivery.domain.idempotency import lock_number
from resetdelivery.domain.request import ResetRequest
from resetdelivery.domain.states import IntentKind, IntentState
from resetdelivery.exceptions import AccountBusy
from resetdelivery.limits import LimitKey
from resetdelivery.models import ResetIntent
from resetdelivery.pseudonyms import lock_numbers

#: PostgreSQL's lock_not_available and deadlock_detected (its manual, appendix A).
_SQLSTATES = frozenset({"55P03", "40P01"})
#: SQLITE_BUSY and SQLITE_LOCKED; what stands above the lowest byte only says more of the same.
_SQLITE_CODES = frozenset({5, 6})


@contextmanager
def bounded_waits(*, using: str, seconds: float | None = None) -> Iterator[None]:
    """Wait for no lock longer than ``seconds`` inside; then as long as before.

    ``None`` is ``ADMISSION_LOCK_TIMEOUT``.

    For the inside of a transaction, which may be a part of the caller's own: what is set here must
    not outlive it. Where it ends by an exception the database takes it back with everything else.
    SQLite waits for its one writer when the transaction begins, as long as its own ``timeout`` says.
    """
    connection = connections[using]
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        # OFFSET keeps the planner from merging the two: what was before is read first.
        cursor.execute(
            "SELECT before, set_config('lock_timeout', %s, true) "
            "FROM (SELECT current_setting('lock_timeout') AS before OFFSET 0) AS held",
            [f"{_milliseconds(seconds)}ms"],
        )
        before, _ = cursor.fetchone()
    yield
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [before])


def _milliseconds(seconds: float | None) -> int:
    wait = get_settings().admission_lock_timeout.total_seconds() if seconds is None else seconds
    # Zero would mean for ever.
    return max(1, round(wait * 1000))


def is_lock_timeout(error: OperationalError) -> bool:
    """Whether a lock was not to be had, and not something else wrong."""
    cause = error.__cause__
    state = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)
    return state in _SQLSTATES or getattr(cause, "sqlite_errorcode", 0) & 0xFF in _SQLITE_CODES


@sensitive_variables()
def hold_key(request: ResetRequest, *, using: str) -> None:
    """Lock the request's idempotency key; on SQLite the transaction does it, here and below.

    :class:`~resetdelivery.exceptions.AccountBusy` of a "key" while the same request is being stored.
    """
    try:
        _hold(lock_numbers("key lock", request.client, request.idempotency_key), using)
    except OperationalError as error:
        if not is_lock_timeout(error):
            raise
    else:
        return
    raise AccountBusy(of="key")


@sensitive_variables()
def hold_accounts(refs: Iterable[str], *, using: str) -> None:
    """Lock the accounts, known or not."""
    _hold([number for ref in refs for number in lock_numbers("account lock", ref)], using)


@sensitive_variables()
def hold_destinations(keys: Iterable[LimitKey], *, using: str) -> None:
    """Lock what limits count by over all accounts, so that no two requests are both the last one."""
    digests = [name.partition(":")[2] for key in keys for name in key.names]
    _hold(map(lock_number, digests), using)


def _hold(numbers: Iterable[int], using: str) -> None:
    connection = connections[using]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for number in sorted(set(numbers)):
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])


@sensitive_variables()
def hold_open_intents(refs: Collection[str], *, using: str) -> None:
    """Lock the accounts' open intents, ascending over all accounts at once, as everywhere.

    One account after the other could deadlock with a settling wave, and PostgreSQL might pick the
    wave to fail: submissions that were accepted would then be made again.
    """
    wanted = ResetIntent.objects.using(using).filter(
        account_ref__in=refs, kind=IntentKind.RESET, state=IntentState.OPEN
    )
    list(wanted.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
