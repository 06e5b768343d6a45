"""Who sends a delivery, ours or an existing sender's, and what that one reports."""

from __future__ import annotations

from resetdelivery.rollout.authority import authorities

__all__ = ["authorities"]
