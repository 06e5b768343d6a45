"""A worker outside this project, one HTTP request per step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from werkzeug.test import TestResponse

from resetdelivery.domain.api_key import Scope
from tests.internal_api import Service, service

CLAIM = {"worker_id": "mailer-1", "limit": 10, "lease_seconds": 30}
#: What a step needs besides the token.
NEEDED: dict[str, dict[str, object]] = {"outcome": {"outcome": "accepted"}, "renew": {"lease_seconds": 60}}
STEPS = ["message", "outcome", "renew", "release"]


def mailer() -> Service:
    """A client that may claim and nothing else."""
    return service("mailer", [Scope.WORK_CLAIM])


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One claimed delivery, as its worker sees it."""

    by: Service
    reference: str
    token: str

    def ask(self, step: str, *, by: Service | None = None, **fields: object) -> TestResponse:
        body = {"lease_token": self.token, **NEEDED.get(step, {}), **fields}
        return (by or self.by).post(f"/internal/delivery-work/{self.reference}/{step}", body)


def claim(by: Service, **fields: object) -> TestResponse:
    return by.post("/internal/delivery-work/claim", {**CLAIM, **fields})


def held(by: Service, **fields: object) -> Held:
    """The one delivery that is due, claimed."""
    (found,) = claim(by, **fields).get_json()["deliveries"]
    return Held(by=by, reference=found["reference"], token=found["lease_token"])


def moment(value: Any) -> str:
    """As JSON has it: to the millisecond, downwards."""
    return str(value.isoformat(timespec="milliseconds").replace("+00:00", "Z")).replace(".000Z", "Z")
