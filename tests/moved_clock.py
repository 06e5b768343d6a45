"""Time that passes at a word: the clocks of the database and of links, set forward as a test says.

What is stored stays as it was stored, and every moment that the code asks for is later. As a test
begins, the clocks are set forward to the same second of a minute, so that what it does one after
another falls into one minute; from there on time goes by as ever.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import pytest

from resetdelivery import clock
from resetdelivery.links import ResetTokenGenerator, utc_now

#: As far behind the beginning of a minute as a test needs, which may look a few seconds back, and the
#: longer part of the minute before its end.
BEGINS_AT_SECOND = 20


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


@pytest.fixture(autouse=True)
def moved_clock() -> Iterator[Clock]:
    """The database's clock, in this process's hands; right again after the test.

    Of every test of a module that imports it, and before anything else that a test stores.
    """
    # Not the test's own, which it may undo.
    with pytest.MonkeyPatch.context() as patch:
        moved, now = Clock(patch), utc_now()
        begins = now.replace(second=BEGINS_AT_SECOND, microsecond=0)
        moved.pass_by(begins - now if begins >= now else begins - now + dt.timedelta(minutes=1))
        yield moved
