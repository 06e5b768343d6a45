"""Errors of this package.

NotificationError
└── InvalidMessage         a rendered message that must not be submitted
TransportMisconfigured     outside the tree: a mistake in settings, for whoever starts the process
"""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured

from notifications.outcome import Reason


class NotificationError(Exception):
    """A notification could not be built."""


class InvalidMessage(NotificationError):
    """The message or its destination cannot be submitted on any try."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(f"The message cannot be submitted: {reason.value}.")
        self.reason = reason


class TransportMisconfigured(ImproperlyConfigured):
    """A transport's options are wrong; the text names the option, the value and the fix."""
