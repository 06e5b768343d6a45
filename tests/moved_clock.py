"""Time that passes at a word: the clocks of the database and of links, set forward as a test says.

What is stored stays as it was stored, and every moment that the code asks for is later.
"""

from __future__ import annotations

import datetime as dt

import pytest

from resetdelivery import clock
from resetdelivery.links import ResetTokenGenerator, utc_now


class Clock:
    """How far the clocks are set forward in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self._ahead = dt.timedelta(0)
        monkeypatch.setattr(ResetTokenGenerator, "_now", lambda _: utc_now() + self._ahead)

    def pass_by(self, time: dt.timedelta) -> None:
        """Let ``time`` pass."""
        self._ahead += time
        ahead = f"{self._ahead.total_seconds():.6f}"
        later = f"clock_timestamp() + interval '{ahead} seconds'"
        self._patch.setitem(clock._NOW, "postgresql", f"({later})")
        self._patch.setitem(clock._AFTER, "postgresql", f"({later} + %s * interval '1 second')")
        form = f"strftime('%%Y-%%m-%%d %%H:%%M:%%f','now', '+{ahead} seconds'"
        self._patch.setitem(clock._NOW, "sqlite", f"({form}) || '000')")
        self._patch.setitem(clock._AFTER, "sqlite", f"({form}, %s || ' seconds') || '000')")


@pytest.fixture
def moved_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The database's clock, in this process's hands; right again after the test."""
    return Clock(monkeypatch)
