"""Errors that a caller's mistake raises; expected results are return values.

    ResetDeliveryError
    ├── InvalidRequest           the request can never be admitted; nothing was stored
    │   ├── InvalidChannels
    │   ├── InvalidExpiry
    │   ├── InvalidAccountRef
    │   ├── InvalidIdempotencyKey
    │   └── InvalidOption
    ├── IdempotencyConflict      this key was used for another request
    ├── AccountBusy              somebody else holds what the request needs; nothing was stored
    └── StepFailed               something else failed; its class and place, not its text

No text names an account, an address or a key: only lengths and configured values.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import PurePath
from typing import Literal, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


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


class AccountBusy(ResetDeliveryError):
    """A lock was not to be had within ``ADMISSION_LOCK_TIMEOUT``; nothing was stored.

    ``of`` is "key" where a request with the same idempotency key is still being stored, and
    "account" where it is another one's account or destination, or SQLite's one writer.
    """

    def __init__(self, *, of: Literal["key", "account"]) -> None:
        held = "A request with this idempotency key" if of == "key" else "Another request for this account"
        super().__init__(f"{held} is being stored just now. Nothing was stored of this one: send it again.")
        self.of = of


class StepFailed(ResetDeliveryError):
    """A step was interrupted by an error of another kind.

    The text is that error's class and where it arose. Its own text may name an address or repeat
    a provider, and Celery, Flower and error reports would carry it on.
    """

    def __init__(self, cause: Exception) -> None:
        place = traceback.extract_tb(cause.__traceback__)[-1]
        super().__init__(
            f"{type(cause).__name__} in {place.name} ({PurePath(place.filename).name}:{place.lineno})"
        )


def without_text(step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What ``step`` returns; what it raises is left behind, and :class:`StepFailed` comes instead."""
    try:
        return step(*args, **kwargs)
    except Exception as error:
        failure = StepFailed(error)
    # Out here the new error has no context: nothing leads from it to the old one.
    raise failure
