"""Who may call an operation: a bearer key (RFC 6750) with the operation's scope."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import cast

from django.http import HttpRequest
from django.views.decorators.debug import sensitive_variables
from ninja.security.base import AuthBase

from resetdelivery.api.failures import invalid, unauthorized
from resetdelivery.api.problems import ApiProblem, FieldError, ProblemType, retry_after
from resetdelivery.api_keys import Caller, authenticate
from resetdelivery.domain.api_key import Scope
from resetdelivery.throttles import admit_api_call


class Bearer(AuthBase):
    """What every request goes through before its operation: key, scope, rate, names in the query.

    Not ninja's own bearer class, which logs a whole header while ``DEBUG`` is on.
    """

    openapi_type = "http"
    openapi_scheme = "bearer"

    def __init__(self, scope: Scope | None, query: Iterable[str], *, metered: bool) -> None:
        super().__init__()
        self._scope = scope
        self._query = frozenset(query)
        self._metered = metered

    @sensitive_variables()
    def __call__(self, request: HttpRequest) -> Caller:
        """The caller, or the :class:`ApiProblem` that says why not."""
        caller = authenticate(_credential(request))
        if caller is None:
            raise unauthorized()
        if self._scope is not None and self._scope not in caller.scopes:
            raise ApiProblem(
                ProblemType.MISSING_SCOPE, f"This needs a key with the scope {self._scope.value!r}."
            )
        if self._metered:
            _check_rate(caller)
        self._check_query(request)
        return caller

    def _check_query(self, request: HttpRequest) -> None:
        if set(request.GET) - self._query:
            raise invalid(f"The query may hold {_listed(self._query)} and nothing else.")
        for name in self._query & set(request.GET):
            if len(request.GET.getlist(name)) > 1:
                raise invalid(
                    "A query parameter is repeated.", FieldError(pointer=f"#/{name}", detail="is repeated.")
                )


def requires(scope: Scope | None, *, query: Iterable[str] = (), metered: bool = True) -> Bearer:
    """The ``auth`` of an operation: any valid key where ``scope`` is ``None``.

    Where it is not ``metered``, calls count for no rate and none is too many.
    """
    return Bearer(scope, query, metered=metered)


def caller_of(request: HttpRequest) -> Caller:
    """Who makes the request that an operation is answering."""
    return cast("Caller", request.auth)  # type: ignore[attr-defined]


@sensitive_variables()
def _credential(request: HttpRequest) -> str:
    """What follows ``Bearer``; nothing for any other scheme. The scheme's case says nothing."""
    scheme, _, credential = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    return credential.strip(" ") if scheme.lower() == "bearer" else ""


def _check_rate(caller: Caller) -> None:
    seconds = admit_api_call(caller.client)
    if seconds > 0:
        raise ApiProblem(
            ProblemType.TOO_MANY_REQUESTS,
            "Wait as long as Retry-After says.",
            headers=retry_after(math.ceil(seconds)),
        )


def _listed(names: frozenset[str]) -> str:
    return ", ".join(repr(name) for name in sorted(names)) or "no parameter"
