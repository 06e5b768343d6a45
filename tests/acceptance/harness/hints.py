"""Hints as the broker carries them, and messages that no sender of ours would write."""

from __future__ import annotations

import base64
import json

from resetdelivery import broker
from resetdelivery.dispatch import DELIVER_TASK


def send(queue: str, *args: object) -> None:
    """A well-formed message for the delivering task, with whatever arguments."""
    broker.publish(DELIVER_TASK, args, queue=queue)


def with_body(message: bytes, body: object) -> bytes:
    """``message`` with another body: its arguments, keywords and options."""
    envelope = json.loads(message)
    envelope["body"] = base64.b64encode(json.dumps(body).encode()).decode()
    return json.dumps(envelope).encode()
