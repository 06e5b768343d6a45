"""AWS Signature Version 4, verified. Standard library only.

Source: "Create a signed AWS API request" in the IAM User Guide. Written from that page and not
from the client's library, so that a mistake of one is seen by the other.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import re
from collections.abc import Mapping

from notifications.testing.provider.form import HttpRequest

SERVICE = "sms-voice"
MAX_SKEW = dt.timedelta(minutes=5)
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<date>[0-9]{8})/(?P<region>[a-z0-9-]+)/"
    r"(?P<service>[a-z0-9-]+)/aws4_request, SignedHeaders=(?P<headers>[a-z0-9;-]+), "
    r"Signature=(?P<signature>[0-9a-f]{64})\Z"
)


class SignatureRefused(Exception):
    """Not signed as it must be: AWS's name for that, and what it says."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error


def verify(request: HttpRequest, credentials: tuple[str, str], now: dt.datetime) -> None:
    """Raise :class:`SignatureRefused` unless ``request`` is signed with ``credentials``."""
    written = request.headers.get("authorization", "")
    if not written:
        raise SignatureRefused("MissingAuthenticationTokenException", "Missing Authentication Token")
    match = _AUTHORIZATION.match(written)
    if match is None:
        raise SignatureRefused("IncompleteSignatureException", "Authorization header is not complete.")
    if match["key"] != credentials[0]:
        raise SignatureRefused("UnrecognizedClientException", "The security token is invalid.")
    _check_scope(match, request.headers.get("x-amz-date", ""), now)
    expected = _signature(request, match, credentials[1])
    if not hmac.compare_digest(expected, match["signature"]):
        raise SignatureRefused(
            "InvalidSignatureException",
            "The request signature we calculated does not match the signature you provided.",
        )


def _check_scope(match: re.Match[str], written: str, now: dt.datetime) -> None:
    if match["service"] != SERVICE:
        raise SignatureRefused("InvalidSignatureException", "Credential should be scoped to correct service.")
    try:
        signed_at = dt.datetime.strptime(written, "%Y%m%dT%H%M%S%z")
    except ValueError:
        raise SignatureRefused(
            "IncompleteSignatureException", "Date must be in ISO-8601 basic format."
        ) from None
    if abs(now - signed_at) > MAX_SKEW or not written.startswith(match["date"]):
        raise SignatureRefused("InvalidSignatureException", "Signature expired.")


def _signature(request: HttpRequest, match: re.Match[str], secret: str) -> str:
    names = match["headers"].split(";")
    if "host" not in names or "x-amz-date" not in names:
        raise SignatureRefused("InvalidSignatureException", "'Host' and the date must be signed.")
    canonical = "\n".join(
        [
            "POST",
            request.path,
            "",
            *(f"{name}:{_value(request.headers, name)}" for name in names),
            "",
            match["headers"],
            hashlib.sha256(request.body).hexdigest(),
        ]
    )
    scope = f"{match['date']}/{match['region']}/{match['service']}/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    to_sign = f"AWS4-HMAC-SHA256\n{request.headers['x-amz-date']}\n{scope}\n{digest}"
    key = f"AWS4{secret}".encode()
    for step in scope.split("/"):
        key = hmac.digest(key, step.encode(), "sha256")
    return hmac.digest(key, to_sign.encode(), "sha256").hex()


def _value(headers: Mapping[str, str], name: str) -> str:
    return " ".join(headers.get(name, "").split())
