"""Which problem an exception is. Whatever nobody expected is logged by class and place, never by text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404
from django.views.decorators.debug import sensitive_variables
from ninja.errors import HttpError, ValidationError

from resetdelivery.api.problems import ApiProblem, FieldError, ProblemType, retry_after
from resetdelivery.exceptions import StepFailed
from resetdelivery.logs import get_logger

log = get_logger("resetdelivery.api")

UNAVAILABLE_SECONDS = 2

_BY_STATUS = {
    400: ProblemType.MALFORMED_REQUEST,
    401: ProblemType.UNAUTHORIZED,
    404: ProblemType.NOT_FOUND,
    405: ProblemType.METHOD_NOT_ALLOWED,
    413: ProblemType.BODY_TOO_LARGE,
}

#: What pydantic found, in words that repeat nothing of what was sent.
_FOUND = {
    "missing": "is missing",
    "string_type": "must be a string",
    "list_type": "must be a list",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "string_too_short": "has fewer than {min_length} characters",
    "string_too_long": "has more than {max_length} characters",
    "too_short": "has fewer than {min_length} entries",
    "too_long": "has more than {max_length} entries",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "greater_than": "must be more than {gt}",
    "less_than": "must be less than {lt}",
    "finite_number": "must be a finite number",
    "literal_error": "must be one of {expected}",
    "enum": "must be one of {expected}",
    # Of our own validators; no other raises one.
    "value_error": "{error}",
    "extra_forbidden": "has a field that does not exist here",
}


def problem_of(error: Exception) -> ApiProblem:
    """The problem that ``error`` is for the caller."""
    if isinstance(error, ApiProblem):
        return error
    if isinstance(error, ValidationError):
        return _invalid(error.errors)
    if isinstance(error, Http404):
        return not_found()
    if isinstance(error, RequestDataTooBig):
        return problem_for_status(413)
    if isinstance(error, SuspiciousOperation):
        return problem_for_status(400)
    if isinstance(error, HttpError):
        return problem_for_status(error.status_code)
    return _failure(error)


def not_found() -> ApiProblem:
    """The one answer for what does not exist, and for what exists but is not the caller's."""
    return ApiProblem(ProblemType.NOT_FOUND, "No such thing is known to this client.")


def unauthorized() -> ApiProblem:
    """The one answer for a missing, malformed, unknown or revoked key (RFC 6750, section 3)."""
    return ApiProblem(
        ProblemType.UNAUTHORIZED,
        "Send a valid key as 'Authorization: Bearer <key>'.",
        headers={"WWW-Authenticate": "Bearer"},
    )


def problem_for_status(status: int) -> ApiProblem:
    """The problem for a status that something else than this package answered with."""
    if status == ProblemType.UNAUTHORIZED.status:
        return unauthorized()
    kind = _BY_STATUS.get(
        status, ProblemType.MALFORMED_REQUEST if status < 500 else ProblemType.INTERNAL_ERROR
    )
    return ApiProblem(kind, kind.title)


@sensitive_variables()
def _failure(error: Exception) -> ApiProblem:
    log.error("api_failed", failure=str(StepFailed(error)))
    if isinstance(error, OperationalError | InterfaceError):
        return unavailable()
    return ApiProblem(ProblemType.INTERNAL_ERROR, "The request may be tried again.")


def unavailable() -> ApiProblem:
    """The database did not answer, or not in time."""
    return ApiProblem(
        ProblemType.UNAVAILABLE, "Try the same request again soon.", headers=retry_after(UNAVAILABLE_SECONDS)
    )


def invalid(detail: str, *errors: FieldError) -> ApiProblem:
    """A 422 for a request of the right form that cannot be accepted."""
    return ApiProblem(ProblemType.INVALID_REQUEST, detail, errors=errors)


def _invalid(found: Sequence[Mapping[str, Any]]) -> ApiProblem:
    errors = [_field_error(one) for one in found]
    return invalid("See 'errors' for what is wrong with which part.", *errors)


def _field_error(found: Mapping[str, Any]) -> FieldError:
    source, *place = found["loc"]
    if source == "body":
        place = place[1:]
    if found["type"] == "extra_forbidden":
        # Its name is whatever the caller wrote.
        place = place[:-1]
    return FieldError(pointer="#" + "".join(f"/{part}" for part in place), detail=_words(found))


def _words(found: Mapping[str, Any]) -> str:
    known = {
        name: value for name, value in found.get("ctx", {}).items() if isinstance(value, str | int | float)
    }
    return _FOUND.get(found["type"], "is not as documented").format(**known) + "."
