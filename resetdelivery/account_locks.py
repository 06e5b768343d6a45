"""What an admission locks, in the order in which everybody does; all of it until the commit."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connections
from django.views.decorators.debug import sensitive_variables

from resetdelivery.domain.request import ResetRequest
from resetdelivery.domain.states import IntentState
from resetdelivery.models import ResetIntent
from resetdelivery.pseudonyms import lock_numbers


@sensitive_variables()
def hold_request(request: ResetRequest, refs: Sequence[str], *, using: str) -> None:
    """Lock the request's key, then its accounts, known or not; on SQLite the transaction does it."""
    key = lock_numbers("key lock", request.client, request.idempotency_key)
    accounts = sorted(number for ref in refs for number in lock_numbers("account lock", ref))
    connection = connections[using]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for number in (*key, *accounts):
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])


@sensitive_variables()
def hold_open_intents(refs: Sequence[str], *, using: str) -> None:
    """Lock the accounts' open intents, ascending over all accounts at once, as everywhere.

    One account after the other could deadlock with a settling wave, and PostgreSQL might pick the
    wave to fail: submissions that were accepted would then be made again.
    """
    wanted = ResetIntent.objects.using(using).filter(account_ref__in=refs, state=IntentState.OPEN)
    list(wanted.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
