"""The seam between deciding and sending: one method, one value back."""

from __future__ import annotations

from typing import ClassVar, Protocol

from notifications.deadline import Deadline
from notifications.message import EmailMessage, Message, SmsMessage
from notifications.outcome import Outcome


class Transport(Protocol):
    """Submits one message at a time; called from several threads at once.

    An implementation reuses connections, never retries by itself, never sends after
    ``deadline`` (checked again right before the point of no return), and never raises for
    what a provider did. ``name`` is a short constant that is safe as a metric label.
    Options arrive as keyword arguments of the constructor; a wrong one is
    :class:`~notifications.exceptions.TransportMisconfigured`.
    """

    name: ClassVar[str]

    def submit(self, message: Message, deadline: Deadline) -> Outcome:
        """Submit ``message`` before ``deadline`` and report what happened."""
        ...

    def close(self) -> None:
        """Close idle connections. The transport can be used again afterwards."""
        ...


__all__ = ["EmailMessage", "Message", "Outcome", "SmsMessage", "Transport"]
