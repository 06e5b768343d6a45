"""What can be wrong with the settings of a receiver."""

from __future__ import annotations

import datetime as dt
import enum

from django.core.exceptions import ImproperlyConfigured

#: A window longer than that keeps no replay out.
MAX_WINDOW = dt.timedelta(hours=24)


class ReceiverProblem(enum.Enum):
    """One member for each fix."""

    #: What signatures are checked with is missing or of a wrong form.
    SECRET = "secret"  # noqa: S105  # a word  # nosec B105
    #: There is no such provider or option, or its packages are missing.
    PROVIDER = "provider"
    TOPIC = "topic"
    WINDOW = "window"


class ReceiverMisconfigured(ImproperlyConfigured):
    """A receiver cannot be made. ``what`` is a sentence and ``hint`` the fix; neither has a secret."""

    def __init__(self, problem: ReceiverProblem, what: str, hint: str) -> None:
        super().__init__(f"{what} {hint}")
        self.problem = problem
        self.what = what
        self.hint = hint


def checked_secret(value: object, option: str, hint: str) -> str:
    """``value``, if it is a text that is not empty; :class:`ReceiverMisconfigured` otherwise."""
    if isinstance(value, str) and value.strip():
        return value
    raise ReceiverMisconfigured(ReceiverProblem.SECRET, f"{option!r} is missing or empty.", hint)


def checked_window(value: object) -> dt.timedelta:
    """``value``, if it is a replay window; :class:`ReceiverMisconfigured` otherwise."""
    if isinstance(value, dt.timedelta) and dt.timedelta(0) < value <= MAX_WINDOW:
        return value
    shown = str(value) if isinstance(value, dt.timedelta) else type(value).__name__
    hint = "Set a datetime.timedelta of at most 24 hours, such as timedelta(minutes=10)."
    raise ReceiverMisconfigured(ReceiverProblem.WINDOW, f"'window' is no replay window ({shown}).", hint)
