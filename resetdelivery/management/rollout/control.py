"""``rollout status|set|pause|resume|history``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resetdelivery.management.rollout import Step

STEPS: Mapping[str, Step] = {}


def add(steps: Any) -> None:
    """Add the sub-parsers to ``steps``."""
