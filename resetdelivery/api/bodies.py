"""Bodies of requests: read within a limit, parsed strictly, and of exactly the fields that exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from django.http import HttpRequest
from django.views.decorators.debug import sensitive_variables
from ninja.params.models import Body, BodyModel
from pydantic import BaseModel, ConfigDict

from resetdelivery.api.problems import ApiProblem, ProblemType
from resetdelivery.api.strict_json import NotStrict, parsed

if TYPE_CHECKING:
    from ninja import NinjaAPI

MAX_BODY_OCTETS = 16 * 1024

T = TypeVar("T", bound=BaseModel)


class StrictFields(BaseModel):
    """Base of every body: no field but those declared, and no value turned into another type."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)


class _StrictBodyModel(BodyModel):
    """How ninja gets at a body; its own way reads all of it and takes whatever ``json`` takes."""

    @classmethod
    @sensitive_variables()
    def get_request_data(
        cls,
        request: HttpRequest,
        api: NinjaAPI,  # noqa: ARG003
        path_params: dict[str, Any],  # noqa: ARG003
    ) -> dict[str, Any]:
        _check_media_type(request)
        try:
            value = parsed(_octets(request))
        except NotStrict as error:
            raise ApiProblem(ProblemType.MALFORMED_BODY, str(error)) from None
        return {cls.__read_from_single_attr__: value}


class _StrictBody(Body):  # type: ignore[misc]
    _model = _StrictBodyModel

    @classmethod
    def _param_source(cls) -> str:
        return "body"


#: The type of an operation's one body argument: ``body: Strict[SomeFields]``.
Strict = Annotated[T, _StrictBody(...)]


def _check_media_type(request: HttpRequest) -> None:
    charset = request.content_params.get("charset", "utf-8") if request.content_params else "utf-8"
    if request.content_type != "application/json" or charset.lower() not in {"utf-8", "utf8"}:
        raise ApiProblem(
            ProblemType.UNSUPPORTED_MEDIA_TYPE, "Send the body with 'Content-Type: application/json'."
        )


def _octets(request: HttpRequest) -> bytes:
    """The raw body, of which no more than the limit is ever read."""
    if _announced(request) > MAX_BODY_OCTETS:
        raise _too_large()
    try:
        raw = request.read(MAX_BODY_OCTETS + 1)
    except OSError:
        raise ApiProblem(ProblemType.MALFORMED_BODY, "The body ended too soon.") from None
    if len(raw) > MAX_BODY_OCTETS:
        raise _too_large()
    if not raw:
        raise ApiProblem(
            ProblemType.MALFORMED_BODY, "There is no body. One without a Content-Length is not read."
        )
    return raw


def _announced(request: HttpRequest) -> int:
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


def _too_large() -> ApiProblem:
    return ApiProblem(ProblemType.BODY_TOO_LARGE, f"A body may have {MAX_BODY_OCTETS} octets.")
