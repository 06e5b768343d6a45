"""What the web processes do with the database, each as the first argument says.

``python -m tests.acceptance.harness.web_process`` with ``admit ACCOUNT_REF``, ``notice ACCOUNT_REF`` or
``receipt ATTEMPT_REFERENCE``; on the private listener with ``claim KEY``.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable
from typing import Any

import django


def admit(account_ref: str) -> None:
    """Admit, be asked again, join, stop, take what nobody has, and admit what is there to deliver."""
    from notifications.channels import Channel
    from resetdelivery.services import cancel_resets, explain, request_reset

    both = [Channel.EMAIL, Channel.SMS]
    for key in ("first", "first", "second"):
        request_reset(account_ref=account_ref, channels=[Channel.EMAIL], idempotency_key=key)
    cancel_resets(account_ref=account_ref)
    request_reset(submitted="nobody@example.com", channels=both)
    admitted = request_reset(account_ref=account_ref, channels=both, idempotency_key="last")
    explain(admitted.reference)


def notice(account_ref: str) -> None:
    """Tell an account that its password was changed."""
    from resetdelivery.services import notify_password_changed

    notify_password_changed(account_ref=account_ref)


def receipt(attempt_reference: str) -> None:
    """Take a provider's word that a message arrived."""
    from notifications.receipts.receipt import Receipt, ReceiptVerdict
    from resetdelivery.receipts import record

    record(Receipt(attempt_reference=uuid.UUID(attempt_reference), verdict=ReceiptVerdict.DELIVERED))


def claim(key: str) -> None:
    """Hold every due email, give one back and send another, as a worker outside would."""
    held = asked(key, "claim", worker_id="w1", limit=10, lease_seconds=20, channel="email")["deliveries"]
    first, second = ((one["reference"], {"lease_token": one["lease_token"]}) for one in held[:2])
    asked(key, f"{first[0]}/renew", **first[1], lease_seconds=20)
    asked(key, f"{first[0]}/release", **first[1])
    asked(key, f"{second[0]}/message", **second[1])
    asked(key, f"{second[0]}/outcome", **second[1], outcome="accepted")


def asked(key: str, path: str, **body: Any) -> Any:
    """What the private listener answers to a POST that came over TLS."""
    from django.test import RequestFactory

    from config.wsgi_internal import application

    headers = {"Authorization": f"Bearer {key}", "Host": "localhost"}
    request = RequestFactory().post(
        f"/internal/delivery-work/{path}",
        body,
        content_type="application/json",
        secure=True,
        headers=headers,
    )
    statuses: list[str] = []

    def start_response(status: str, *_: object) -> Callable[[bytes], object]:
        statuses.append(status)
        return bytes

    answer = b"".join(application(request.environ, start_response))
    assert statuses == ["200 OK"], answer
    return json.loads(answer)


if __name__ == "__main__":
    django.setup()
    {"admit": admit, "receipt": receipt, "notice": notice, "claim": claim}[sys.argv[1]](sys.argv[2])
