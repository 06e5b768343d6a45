from __future__ import annotations

import datetime as dt
import traceback
from typing import Any

import pytest
from django.db import OperationalError
from django.views.debug import ExceptionReporter

from resetdelivery.admission import terms, transaction
from resetdelivery.exceptions import StepFailed
from resetdelivery.models import ResetIntent
from resetdelivery.services import request_reset

MARKED = "marked-account-reference"


def already_over(*_: object, now: dt.datetime, **__: object) -> dt.datetime:
    """An expiry that the table's own constraint refuses."""
    return now - dt.timedelta(seconds=1)


@pytest.mark.django_db(transaction=True)
def test_a_row_that_the_database_refuses_is_not_repeated_to_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(terms, "absolute_expiry", already_over)
    with pytest.raises(StepFailed, match="IntegrityError") as caught:
        request_reset(account_ref=MARKED, channels=["email"])
    assert MARKED not in "".join(traceback.format_exception(caught.value))
    assert not ResetIntent.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_database_would_have_repeated_it(
    monkeypatch: pytest.MonkeyPatch, postgres_only: None, account: Any
) -> None:
    monkeypatch.setattr(terms, "absolute_expiry", already_over)
    monkeypatch.setattr(transaction, "IntegrityError", ZeroDivisionError)
    with pytest.raises(Exception, match=MARKED):
        request_reset(account_ref=MARKED, channels=["email"])


@pytest.mark.django_db(transaction=True)
def test_an_error_report_does_not_show_what_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise OperationalError("the database is away")

    monkeypatch.setattr(transaction, "hold_accounts", away)
    with pytest.raises(OperationalError) as caught:
        request_reset(submitted=f"{MARKED}@example.com", channels=["email"], idempotency_key=MARKED)
    frames = ExceptionReporter(None, caught.type, caught.value, caught.tb).get_traceback_frames()
    shown = repr([frame["vars"] for frame in frames if "resetdelivery" in frame["filename"]])
    assert "transaction.py" in repr([frame["filename"] for frame in frames])
    assert MARKED not in shown
