"""What can be wrong with the SMTP transport's option ``dkim``."""

from __future__ import annotations

import enum

from notifications.exceptions import TransportMisconfigured


class DkimProblem(enum.Enum):
    """One member for each fix."""

    #: The option's own form, or a package that it needs.
    OPTION = "option"
    #: A key is missing, cannot be read, or is none.
    KEY = "key"
    ALGORITHM = "algorithm"
    KEY_SIZE = "key size"
    ALIGNMENT = "alignment"


class DkimMisconfigured(TransportMisconfigured):
    """The option cannot be used. ``hint`` is the fix; neither it nor the text quotes a key."""

    def __init__(self, problem: DkimProblem, what: str, hint: str) -> None:
        super().__init__(f"The SMTP option {what}. {hint}")
        self.problem = problem
        self.what = f"The SMTP option {what}."
        self.hint = hint
