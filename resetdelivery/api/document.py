"""The OpenAPI 3.1 document: what each operation answers, and what its answers look like."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from ninja import NinjaAPI
from pydantic import BaseModel

from resetdelivery.api.access import requires
from resetdelivery.api.problems import MEDIA_TYPE, ProblemType
from resetdelivery.domain.api_key import Scope

#: Where the boundary is mounted.
PREFIX = "/internal/"

#: What any operation may answer.
ALWAYS = (
    ProblemType.MALFORMED_REQUEST,
    ProblemType.UNAUTHORIZED,
    ProblemType.MISSING_SCOPE,
    ProblemType.INVALID_REQUEST,
    ProblemType.TOO_MANY_REQUESTS,
    ProblemType.INTERNAL_ERROR,
    ProblemType.UNAVAILABLE,
)
#: What an operation with a body may answer besides.
WITH_BODY = (ProblemType.MALFORMED_BODY, ProblemType.BODY_TOO_LARGE, ProblemType.UNSUPPORTED_MEDIA_TYPE)

_HEADERS: Mapping[str, dict[str, Any]] = {
    "WWW-Authenticate": {"required": True, "schema": {"type": "string", "const": "Bearer"}},
    "Retry-After": {
        "required": True,
        "description": "Seconds to wait.",
        "schema": {"type": "string", "pattern": "^[0-9]+$"},
    },
    "Location": {
        "required": True,
        "description": "Where to ask about it.",
        "schema": {"type": "string", "format": "uri-reference"},
    },
    "Idempotency-Replayed": {
        "description": "Present where this key had asked for just this before.",
        "schema": {"type": "string", "const": "true"},
    },
}
_PROBLEM_HEADERS = {401: ["WWW-Authenticate"], 429: ["Retry-After"], 503: ["Retry-After"]}

_PROBLEM_SCHEMA = {
    "type": "object",
    "description": "RFC 9457.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "format": "uri-reference", "enum": [kind.uri for kind in ProblemType]},
        "title": {"type": "string"},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["pointer", "detail"],
                "properties": {"pointer": {"type": "string"}, "detail": {"type": "string"}},
            },
        },
    },
}


def operation(
    scope: Scope | None,
    *,
    answers: Mapping[int, type[BaseModel]] | None = None,
    text: str = "",
    problems: Iterable[ProblemType] = (),
    query: Iterable[str] = (),
    headers: Mapping[int, Iterable[str]] | None = None,
    parameters: Iterable[Mapping[str, Any]] = (),
    metered: bool = True,
) -> dict[str, Any]:
    """Keyword arguments of a router's method, so that what is enforced and documented is one thing.

    ``scope`` a key must have; ``answers`` the models of good answers by status, or ``text`` the media
    type of the only one, where that is no JSON; ``problems`` those beyond :data:`ALWAYS`; ``query`` the
    only names that the query may hold; ``headers`` names of headers by status; ``parameters`` OpenAPI
    parameters that the function reads by itself. What is not ``metered`` is never one call too many.
    """
    always = [kind for kind in ALWAYS if metered or kind is not ProblemType.TOO_MANY_REQUESTS]
    told: dict[int, dict[str, Any]] = _problem_answers([*always, *problems])
    if text:
        told[200] = {"description": "OK", "content": {text: {"schema": {"type": "string"}}}}
    for status, names in (headers or {}).items():
        told.setdefault(status, {}).setdefault("headers", {}).update({n: _HEADERS[n] for n in names})
    extra: dict[str, Any] = {"responses": told, "parameters": list(parameters)}
    if scope is not None:
        extra["x-scope"] = scope.value
    return {
        "auth": requires(scope, query=query, metered=metered),
        "response": dict(answers or {}) or {200: None},
        "openapi_extra": extra,
    }


def _problem_answers(problems: Iterable[ProblemType]) -> dict[int, dict[str, Any]]:
    by_status: dict[int, list[str]] = defaultdict(list)
    for kind in problems:
        by_status[kind.status].append(kind.slug)
    return {status: _problem_answer(status, slugs) for status, slugs in sorted(by_status.items())}


def _problem_answer(status: int, slugs: Iterable[str]) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "description": ", ".join(slugs),
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    names = _PROBLEM_HEADERS.get(status)
    return {**answer, "headers": {name: _HEADERS[name] for name in names}} if names else answer


def openapi_document(api: NinjaAPI) -> dict[str, Any]:
    """The whole document, the same in every process."""
    document: dict[str, Any] = dict(api.get_openapi_schema(path_prefix=PREFIX))
    document["components"]["schemas"]["Problem"] = _PROBLEM_SCHEMA
    return document
