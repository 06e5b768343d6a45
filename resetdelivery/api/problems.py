"""What a caller is told when something is wrong: ``application/problem+json`` (RFC 9457).

No text repeats anything that was sent: no account, key, credential or name of an unknown field.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.http import HttpResponse

from resetdelivery.exceptions import ResetDeliveryError

MEDIA_TYPE = "application/problem+json"


class ProblemType(enum.Enum):
    """A kind of problem: the last part of its ``type``, its status and its title.

    ``docs/http-api.md`` has a section for each.
    """

    MALFORMED_REQUEST = ("malformed-request", 400, "The request is malformed.")
    MALFORMED_BODY = ("malformed-body", 400, "The body is no strict JSON in UTF-8.")
    IDEMPOTENCY_KEY_MISSING = ("idempotency-key-missing", 400, "The header Idempotency-Key is missing.")
    IDEMPOTENCY_KEY_MALFORMED = ("idempotency-key-malformed", 400, "The header Idempotency-Key is malformed.")
    UNAUTHORIZED = ("unauthorized", 401, "This needs a valid key.")
    MISSING_SCOPE = ("missing-scope", 403, "The key does not allow this.")
    NOT_FOUND = ("not-found", 404, "There is nothing here.")
    METHOD_NOT_ALLOWED = ("method-not-allowed", 405, "This method is not offered here.")
    IDEMPOTENCY_IN_PROGRESS = (
        "idempotency-in-progress",
        409,
        "A request with this idempotency key is still running.",
    )
    STALE_LEASE = ("stale-lease", 409, "This lease is over.")
    ALREADY_MARKED = ("already-marked", 409, "The message of this attempt was handed out before.")
    NOT_SENDABLE = ("not-sendable", 409, "This delivery must not be sent any more.")
    OUTCOME_CONFLICT = ("outcome-conflict", 409, "Another outcome was reported before.")
    BODY_TOO_LARGE = ("body-too-large", 413, "The body is too large.")
    UNSUPPORTED_MEDIA_TYPE = ("unsupported-media-type", 415, "The body must be application/json in UTF-8.")
    INVALID_REQUEST = ("invalid-request", 422, "The request cannot be accepted as it is.")
    IDEMPOTENCY_CONFLICT = (
        "idempotency-conflict",
        422,
        "This idempotency key was used before, for a different request.",
    )
    TOO_MANY_REQUESTS = ("too-many-requests", 429, "This client makes too many requests.")
    INTERNAL_ERROR = ("internal-error", 500, "Something failed on this side.")
    NOT_INSTALLED = ("not-installed", 501, "This is not installed here.")
    UNAVAILABLE = ("unavailable", 503, "This cannot be answered at the moment.")

    def __init__(self, slug: str, status: int, title: str) -> None:
        self.slug = slug
        self.status = status
        self.title = title

    @property
    def uri(self) -> str:
        """The problem's ``type``: a URI reference."""
        return f"/problems/{self.slug}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldError:
    """What is wrong with one part: a JSON pointer as a URI fragment (RFC 6901, section 6), and words."""

    pointer: str
    detail: str


class ApiProblem(ResetDeliveryError):
    """Raise it anywhere in an operation, and it is the answer.

    ``detail`` is one sentence for this occurrence; ``members`` are further members of the object
    (RFC 9457, section 3.2), with values from closed sets.
    """

    def __init__(
        self,
        kind: ProblemType,
        detail: str,
        *,
        errors: Iterable[FieldError] = (),
        headers: Mapping[str, str] | None = None,
        members: Mapping[str, str | int] | None = None,
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        self.members = dict(members or {})


def retry_after(seconds: int) -> dict[str, str]:
    """The header that says when to try again (RFC 9110, 10.2.3)."""
    return {"Retry-After": str(seconds)}


def problem_response(problem: ApiProblem) -> HttpResponse:
    """The answer that a problem is."""
    content: dict[str, object] = {
        "type": problem.kind.uri,
        "title": problem.kind.title,
        "status": problem.kind.status,
        "detail": problem.detail,
        **problem.members,
    }
    if problem.errors:
        content["errors"] = [{"pointer": e.pointer, "detail": e.detail} for e in problem.errors]
    return HttpResponse(
        json.dumps(content), status=problem.kind.status, content_type=MEDIA_TYPE, headers=problem.headers
    )
