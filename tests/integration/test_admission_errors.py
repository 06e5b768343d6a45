from __future__ import annotations

import datetime as dt
import traceback
from typing import Any

import pytest

from resetdelivery import admission
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
    monkeypatch.setattr(admission, "absolute_expiry", already_over)
    with pytest.raises(StepFailed, match="IntegrityError") as caught:
        request_reset(account_ref=MARKED, channels=["email"])
    assert MARKED not in "".join(traceback.format_exception(caught.value))
    assert not ResetIntent.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_database_would_have_repeated_it(
    monkeypatch: pytest.MonkeyPatch, postgres_only: None, account: Any
) -> None:
    monkeypatch.setattr(admission, "absolute_expiry", already_over)
    monkeypatch.setattr(admission, "IntegrityError", ZeroDivisionError)
    with pytest.raises(Exception, match=MARKED):
        request_reset(account_ref=MARKED, channels=["email"])
