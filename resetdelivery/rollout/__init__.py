"""Who sends a delivery, ours or an existing sender's, and what that one reports."""

from __future__ import annotations

from resetdelivery.rollout.authority import authorities
from resetdelivery.rollout.legacy_outcome import InvalidReport, OutcomeConflict

__all__ = ["InvalidReport", "OutcomeConflict", "authorities"]
