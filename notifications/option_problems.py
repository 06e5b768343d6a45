"""What can be wrong with the options of a provider's transport."""

from __future__ import annotations

import enum

from notifications.exceptions import TransportMisconfigured


class OptionProblem(enum.Enum):
    """One member for each kind of fix."""

    CREDENTIALS = "credentials"
    REGION = "region"
    BACKEND = "backend"
    PACKAGE = "package"
    SENDER = "sender"
    CALLBACK = "callback"
    #: A number, a unit or a range.
    VALUE = "value"


class OptionMisconfigured(TransportMisconfigured):
    """A transport's option cannot be used. ``hint`` is the fix; neither text quotes a secret."""

    def __init__(self, problem: OptionProblem, what: str, hint: str) -> None:
        super().__init__(f"{what} {hint}")
        self.problem = problem
        self.what = what
        self.hint = hint
