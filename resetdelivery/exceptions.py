"""Errors that a caller's mistake raises; expected results are return values.

    ResetDeliveryError
    ├── InvalidRequest           the request can never be admitted; nothing was stored
    │   ├── InvalidChannels
    │   ├── InvalidExpiry
    │   ├── InvalidAccountRef
    │   ├── InvalidIdempotencyKey
    │   └── InvalidOption
    └── IdempotencyConflict      this key was used for another request

No text names an account, an address or a key: only lengths and configured values.
"""

from __future__ import annotations


class ResetDeliveryError(Exception):
    """Base of everything this package raises on purpose."""


class InvalidRequest(ResetDeliveryError, ValueError):
    """The request can never be admitted; nothing was stored."""


class InvalidChannels(InvalidRequest):
    """No channel, an unknown one, or one that is not configured."""


class InvalidExpiry(InvalidRequest):
    """The expiry is naive, past, too near to be of use, or too far away."""


class InvalidAccountRef(InvalidRequest):
    """The account reference, or what a person typed, has no usable form."""


class InvalidIdempotencyKey(InvalidRequest):
    """The idempotency key or the client's name has no usable form."""


class InvalidOption(InvalidRequest):
    """A locale, template version or strategy that does not exist."""


class IdempotencyConflict(ResetDeliveryError):
    """This idempotency key was used before, for a different request."""

    def __init__(self) -> None:
        super().__init__(
            "This idempotency key was used before, for a different request. "
            "Send the first request unchanged, or use a new key."
        )
