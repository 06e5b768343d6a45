"""An account that is forgotten while somebody asks for it, sends for it, or settles it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from resetdelivery.erasure import NOBODY, ErasureReceipt
from resetdelivery.exceptions import AccountBusy
from resetdelivery.models import Delivery, IdempotencyKey, LimitUse, ResetIntent
from resetdelivery.pseudonyms import lock_numbers
from resetdelivery.reconciliation import reconcile
from resetdelivery.services import Admission, forget_account, request_reset
from resetdelivery.telemetry.rollup import roll_up
from tests.interleavings.racing import CEILING_SECONDS, alone, behind, holding, wait_until, waiting
from tests.rolled import counts, displayed, truth
from tests.steps import ACCEPTED, answer, record, seconds, take

ADVISORY = "SELECT pg_advisory_xact_lock(%s)"
INTENT = f"SELECT 1 FROM {ResetIntent._meta.db_table} WHERE id = %s FOR UPDATE"


def ask(ref: str) -> Admission:
    return request_reset(account_ref=ref, channels=["email"])


def test_a_request_at_the_same_moment_is_forgotten_whole_or_stored_whole(account: Any) -> None:
    ref = str(account.pk)
    ask(ref)
    lock = lock_numbers("account lock", ref)
    answers: list[Admission | ErasureReceipt] = behind(
        ADVISORY, lock, partial(ask, ref), partial(forget_account, account_ref=ref), partial(ask, ref)
    )
    assert sum(isinstance(one, ErasureReceipt) for one in answers) == 1
    intents = ResetIntent.objects.count()
    # Whoever came after it has all of its rows, whoever came before it none.
    assert intents in {0, 1}
    assert (Delivery.objects.count(), LimitUse.objects.count() // 2) == (
        intents,
        IdempotencyKey.objects.count(),
    )


def test_a_request_waits_for_the_account_to_be_forgotten(account: Any) -> None:
    ref = str(account.pk)
    first = ask(ref)
    intent = ResetIntent.objects.get()
    with ThreadPoolExecutor(2) as pool, holding() as cursor:
        cursor.execute(INTENT, [intent.pk])
        forgotten = pool.submit(alone, partial(forget_account, account_ref=ref))
        wait_until(lambda: waiting() == 1)
        asked = pool.submit(alone, partial(ask, ref))
        wait_until(lambda: waiting() == 2)
        cursor.execute("COMMIT")
        cursor.execute("BEGIN")
        assert forgotten.result(CEILING_SECONDS).deleted.intents == 1
        again = asked.result(CEILING_SECONDS)
    assert (again.coalesced, again.reference != first.reference) == (False, True)
    assert ResetIntent.objects.get().reference == again.reference


def test_what_settles_at_the_same_moment_is_deleted_or_unlinked(account: Any) -> None:
    ask(str(account.pk))
    marked = record(take())
    intent = ResetIntent.objects.get()
    behind(
        INTENT,
        [intent.pk],
        partial(answer, marked, ACCEPTED),
        partial(forget_account, account_ref=str(account.pk)),
    )
    left = ResetIntent.objects.filter(pk=intent.pk).values_list("account_ref", "state").first()
    assert left in {None, (NOBODY, "closed")}
    roll_up()
    assert counts(displayed())["finished", "email", "accepted"] == 1
    assert reconcile(seconds(60)).ok


def test_a_rollup_at_the_same_moment_counts_everything_once(account: Any) -> None:
    ask(str(account.pk))
    answer(record(take()), ACCEPTED)
    rows = counts(truth())
    intent = ResetIntent.objects.get()
    with ThreadPoolExecutor(2) as pool, holding() as cursor:
        cursor.execute(INTENT, [intent.pk])
        forgotten = pool.submit(alone, partial(forget_account, account_ref=str(account.pk)))
        wait_until(lambda: waiting() == 1)
        alone(roll_up)
        cursor.execute("COMMIT")
        cursor.execute("BEGIN")
        assert forgotten.result(CEILING_SECONDS).deleted.attempts == 1
    assert counts(displayed()) == rows
    roll_up()
    assert counts(displayed()) == rows


def test_an_account_whose_lock_is_not_to_be_had_is_left_as_it_is(account: Any, settings: Any) -> None:
    ref = str(account.pk)
    ask(ref)
    settings.RESETDELIVERY = {**settings.RESETDELIVERY, "ADMISSION_LOCK_TIMEOUT": seconds(0.05)}
    with holding() as cursor:
        cursor.execute(ADVISORY, lock_numbers("account lock", ref))
        with CaptureQueriesContext(connection) as captured, pytest.raises(AccountBusy):
            forget_account(account_ref=ref)
    # The connection's own bound is another one, and may be none.
    assert any("'lock_timeout', '50ms'" in query["sql"] for query in captured.captured_queries)
    assert ResetIntent.objects.get().state == "open"


def test_other_accounts_are_not_waited_for(make_account: Any, db: None) -> None:
    mine, other = (str(make_account().pk) for _ in range(2))
    ask(mine)
    with holding() as cursor:
        cursor.execute(ADVISORY, lock_numbers("account lock", other))
        assert forget_account(account_ref=mine).deleted.intents == 1
