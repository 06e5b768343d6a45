"""The proof that counts, states and attempts agree, from rows and numbers alone.

No label without a bound and no raw log is read: whoever can query the tables can prove it again.
"""

from __future__ import annotations

from resetdelivery.reconciliation.balance import Balance, Check, Surplus
from resetdelivery.reconciliation.report import Report, reconcile
from resetdelivery.reconciliation.snapshot import InvalidWindow

__all__ = ["Balance", "Check", "InvalidWindow", "Report", "Surplus", "reconcile"]
