"""The internal API, as a worker calls it: JSON over HTTP with a key."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any

TIMEOUT_SECONDS = 10.0
AWAY_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A status and the object that came with it, a problem (RFC 9457) from 400 on."""

    status: int
    content: dict[str, Any] = field(repr=False)

    @property
    def problem(self) -> str:
        """Which problem it is; empty if it is none."""
        return str(self.content.get("type", "")).rpartition("/")[2] if self.status >= 400 else ""


class TryAgain(Exception):
    """No whole answer came (the request may have been heard all the same), or one that says "later"."""

    def __init__(self, wait_seconds: float, why: str = "") -> None:
        super().__init__(f"{why}again in {wait_seconds:g} s")
        self.wait_seconds = wait_seconds


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The boundary sends nobody elsewhere, and urllib would take the key along."""

    def redirect_request(self, *_: object) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """``url`` is where the private listener is, ``key`` has the scope ``work:claim``."""

    url: str
    key: str = field(repr=False)

    def post(self, path: str, **fields: object) -> Answer:
        """Call ``/internal/delivery-work/{path}``; :class:`TryAgain` if that does not work out."""
        request = urllib.request.Request(
            f"{self.url}/internal/delivery-work/{path}",
            data=json.dumps(fields).encode(),
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"},
        )
        try:
            with _opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                return Answer(status=response.status, content=json.load(response))
        except urllib.error.HTTPError as error:
            with error:
                if error.code < 400:
                    raise TryAgain(AWAY_SECONDS, "sent elsewhere, which is not followed; ") from None
                if error.code == 429 or error.code >= 500:
                    raise TryAgain(_wait_seconds(error.headers.get("Retry-After"))) from None
                return Answer(status=error.code, content=_problem(error.read()))
        except (OSError, ValueError):
            # Its text may repeat the address or what was sent.
            raise TryAgain(AWAY_SECONDS) from None


def _wait_seconds(retry_after: str | None) -> float:
    return float(retry_after) if retry_after and retry_after.isdecimal() else AWAY_SECONDS


def _problem(body: bytes) -> dict[str, Any]:
    """A proxy between us may answer with something else."""
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
