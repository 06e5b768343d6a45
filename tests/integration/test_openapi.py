"""The committed document is what is served, and what is served is what is enforced."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from jsonschema_rs import validator_for

from resetdelivery.api import access
from resetdelivery.api.document import PREFIX, openapi_document
from resetdelivery.api.routes import api
from resetdelivery.domain.api_key import Scope
from tests.internal_api import Service, problem, service

REFERENCE = "00000000-0000-4000-8000-000000000000"
#: Answers that are no JSON.
TEXTS = {f"{PREFIX}metrics": "text/plain; version=0.0.4; charset=utf-8"}
COMMITTED = Path(__file__).parents[2] / "docs" / "openapi.json"


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(openapi_document(api)))
    return found


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


ALL = [pytest.param(*one, id=one[2]["operationId"]) for one in operations()]


def test_the_committed_document_is_the_one_that_is_served() -> None:
    printed = StringIO()
    call_command("openapi", stdout=printed)
    assert COMMITTED.read_text() == printed.getvalue(), "run: python manage.py openapi > docs/openapi.json"


@pytest.mark.django_db
@pytest.mark.parametrize("scope", list(Scope))
def test_any_key_may_read_the_document(scope: Scope) -> None:
    answer = service(scopes=[scope]).get(f"{PREFIX}openapi.json")
    assert answer.status_code == 200
    assert answer.get_json() == document()


@pytest.mark.django_db
def test_nobody_else_may() -> None:
    assert problem(Service().get(f"{PREFIX}openapi.json")) == "unauthorized"


def test_it_is_made_the_same_twice() -> None:
    assert json.dumps(openapi_document(api)) == json.dumps(openapi_document(api))


def test_it_is_openapi_3_1_with_schemas_that_are_schemas() -> None:
    whole = document()
    assert whole["openapi"] == "3.1.0"
    for schema in whole["components"]["schemas"].values():
        validator_for({**schema, "components": whole["components"]})


@pytest.mark.parametrize(("path", "method", "operation"), ALL)
def test_every_operation_names_its_scope_and_its_problems(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    assert path.startswith(PREFIX)
    assert operation["x-scope"] in list(Scope)
    assert operation["security"] == [{"Bearer": []}]
    answers = operation["responses"]
    assert {"400", "401", "403", "422", "500", "503"} <= set(answers)
    if "requestBody" in operation:
        assert {"413", "415"} <= set(answers)
    if "{" in path:
        assert {"404", "409"} & set(answers)
    for status, answer in answers.items():
        good = TEXTS.get(path, "application/json")
        assert list(answer["content"]) == [good if status < "400" else "application/problem+json"]
    assert "WWW-Authenticate" in answers["401"]["headers"]
    assert all("Retry-After" in answers[status]["headers"] for status in {"429", "503"} & set(answers))


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "method", "operation"), ALL)
def test_an_operation_is_metered_if_it_says_so(
    monkeypatch: pytest.MonkeyPatch, path: str, method: str, operation: dict[str, Any]
) -> None:
    monkeypatch.setattr(access, "admit_api_call", lambda _: 7.0)
    answer = service().call(method.upper(), path.replace("{reference}", REFERENCE))
    assert (answer.status_code == 429) is ("429" in operation["responses"])


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "method", "operation"), ALL)
def test_an_operation_asks_for_the_scope_that_it_names(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    without = service(scopes=set(Scope) - {Scope(operation["x-scope"])})
    assert problem(without.call(method.upper(), path.replace("{reference}", REFERENCE))) == "missing-scope"


@pytest.mark.parametrize(("path", "method", "operation"), ALL)
def test_every_body_is_closed_and_takes_no_contact_point(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    if "requestBody" not in operation:
        return
    (content,) = operation["requestBody"]["content"].values()
    schema = document()["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
    assert schema["additionalProperties"] is False
    words = " ".join(schema["properties"])
    assert not any(
        word in words for word in ("email", "phone", "address", "number", "url", "host", "redirect")
    )
