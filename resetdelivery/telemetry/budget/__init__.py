"""What telemetry costs, measured and multiplied out, against ceilings from the settings."""

from __future__ import annotations

from resetdelivery.telemetry.budget.figures import as_json
from resetdelivery.telemetry.budget.reckoning import Budget, reckon
from resetdelivery.telemetry.budget.table import report

__all__ = ["Budget", "as_json", "reckon", "report"]
