"""Waiting on a fact: rows, files, processes. A ceiling ends what will never happen."""

from __future__ import annotations

import time
from collections.abc import Callable

CEILING_SECONDS = 40.0
_LOOK_AGAIN_SECONDS = 0.02


def eventually(fact: Callable[[], bool], what: str, *, seconds: float = CEILING_SECONDS) -> None:
    """Return once ``fact()`` holds; ``AssertionError`` with ``what`` if it does not in ``seconds``."""
    give_up_at = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < give_up_at, f"It did not happen in {seconds:g} s: {what}."
        time.sleep(_LOOK_AGAIN_SECONDS)
