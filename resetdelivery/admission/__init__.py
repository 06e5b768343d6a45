"""The one transaction behind ``request_reset``.

Lock the account, look for a replay, count what the limits count, join the account's untaken intent
or store a new one, and leave hints for after the commit. Known and unknown accounts take the same
steps, and so do those whose limits are used up.
"""

from __future__ import annotations

from resetdelivery.admission.answer import Admission
from resetdelivery.admission.transaction import admit

__all__ = ["Admission", "admit"]
