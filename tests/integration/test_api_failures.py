from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404

from resetdelivery.api import health, intents
from resetdelivery.api.problems import ProblemType
from resetdelivery.exceptions import AccountBusy
from resetdelivery.models import ResetIntent
from resetdelivery.pseudonyms import lock_numbers
from tests.interleavings.racing import holding
from tests.internal_api import Service, problem, reset_fields, service
from tests.steps import seconds

HEALTH = "/internal/delivery-health"
ADVISORY = "SELECT pg_advisory_xact_lock(%s)"


def failing(error: BaseException) -> Any:
    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    return fail


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("error", "status", "word"),
    [
        (RuntimeError("marked text 31415"), 500, "internal-error"),
        (KeyError("marked text 31415"), 500, "internal-error"),
        (OperationalError("marked text 31415"), 503, "unavailable"),
        (InterfaceError("marked text 31415"), 503, "unavailable"),
        (RecursionError("marked text 31415"), 500, "internal-error"),
        (PermissionDenied("marked text 31415"), 500, "internal-error"),
        (Http404("marked text 31415"), 404, "not-found"),
        (SuspiciousOperation("marked text 31415"), 400, "malformed-request"),
        (RequestDataTooBig("marked text 31415"), 413, "body-too-large"),
    ],
)
def test_what_nobody_expected_is_a_problem_without_its_text(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    status: int,
    word: str,
) -> None:
    monkeypatch.setattr(health, "delivery_health", failing(error))
    answer = service().get(HEALTH)
    assert (answer.status_code, problem(answer)) == (status, word)
    assert ("Retry-After" in answer.headers) is (status == 503)
    assert "31415" not in answer.text + caplog.text
    if status >= 500:
        assert type(error).__name__ in caplog.text


@pytest.mark.django_db
def test_a_failure_while_the_key_is_looked_up_is_a_problem_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from resetdelivery.api import access

    monkeypatch.setattr(access, "authenticate", failing(OperationalError("marked")))
    assert problem(Service(key="any").get(HEALTH)) == "unavailable"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("of", "status", "word", "seconds_to_wait"),
    [("key", 409, "idempotency-in-progress", "1"), ("account", 503, "unavailable", "2")],
)
def test_a_lock_that_was_not_to_be_had_says_when_to_try_again(
    monkeypatch: pytest.MonkeyPatch, account: Any, of: Any, status: int, word: str, seconds_to_wait: str
) -> None:
    monkeypatch.setattr(intents, "request_reset", failing(AccountBusy(of=of)))
    answer = service().ask(reset_fields(account))
    assert (answer.status_code, problem(answer)) == (status, word)
    assert answer.headers["Retry-After"] == seconds_to_wait


@pytest.mark.usefixtures("postgres_only", "transactional_db")
@pytest.mark.parametrize(
    ("purpose", "parts", "word"),
    [
        ("key lock", ("shop", "key-1"), "idempotency-in-progress"),
        ("account lock", ("somebody",), "unavailable"),
    ],
)
def test_a_request_that_waits_too_long_for_another_one_stores_nothing_and_works_later(
    change: Any, purpose: str, parts: tuple[str, ...], word: str
) -> None:
    change(ADMISSION_LOCK_TIMEOUT=seconds(0.05))
    shop = service()
    with holding() as cursor:
        cursor.execute(ADVISORY, lock_numbers(purpose, *parts))
        assert problem(shop.ask(reset_fields("somebody"))) == word
        assert not ResetIntent.objects.exists()
    assert shop.ask(reset_fields("somebody")).status_code == 202


def test_every_kind_of_problem_is_explained() -> None:
    text = Path("docs/http-api.md").read_text()
    assert [kind.slug for kind in ProblemType if f"### `{kind.slug}`" not in text] == []
