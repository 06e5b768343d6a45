"""Which one setting, changed to what, would make the rule hold."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from notifications.channels import Channel
from resetdelivery.conf import Dispatch, Recovery, Settings
from resetdelivery.decision_rule.measured import NOTHING, Measured
from resetdelivery.decision_rule.terms import way_of
from resetdelivery.decision_rule.way import Way
from resetdelivery.domain.decision_rule import largest, smallest

#: NIST SP 800-63B-4, 4.2.1.2: how long a secret sent over a channel may live.
LONGEST_BY_POLICY = {Channel.EMAIL: dt.timedelta(hours=24), Channel.SMS: dt.timedelta(minutes=10)}

#: Durations that may be lowered, to no less than so many seconds.
_LOWER_FOR_ALL = {"lease": 1, "sweep_interval": 1, "poll_interval": 1, "min_useful": 1}
_LOWER_FOR_CHANNEL = {"send_budget": 1, "backoff_cap": 1, "outage_pause_cap": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mend:
    """A setting as it is named in ``RESETDELIVERY``, its value, and the one that would fit alone.

    Without ``bound`` it is that very value; with it, that value at most or at least.
    """

    setting: str
    now: str
    fits: str
    bound: str = ""

    def sentence(self) -> str:
        """As a line."""
        return f"{self.setting} is {self.now}; {self.fits}{self.bound and ' '}{self.bound} would fit"


def mends(
    settings: Settings,
    channel: Channel,
    boundary: Dispatch,
    measured: Measured = NOTHING,
    *,
    fits: Callable[[Way], bool] = lambda way: way.holds,
) -> tuple[Mend, ...]:
    """What would help ``channel``, each alone; nothing where one change is not enough."""
    test = _Test(settings, channel, boundary, measured, fits)
    return tuple(mend for mend in _all(test) if mend)


class _Test:
    """Whether the rule would hold with one setting changed."""

    def __init__(
        self,
        settings: Settings,
        channel: Channel,
        boundary: Dispatch,
        measured: Measured,
        fits: Callable[[Way], bool],
    ) -> None:
        self.settings, self.channel, self.boundary = settings, channel, boundary
        self._measured, self._fits = measured, fits
        self.options = settings.channel(channel)
        self.where = f"CHANNELS[{channel.value!r}]"

    def way(self) -> Way:
        return way_of(self.settings, self.channel, self.boundary, self._measured)

    def of_all(self, name: str, value: Any) -> bool:
        changed = replace(self.settings, **{name: value})
        return self._fits(way_of(changed, self.channel, self.boundary, self._measured))

    def of_channel(self, name: str, value: Any) -> bool:
        return self._of(self.channel, name, value)

    def fallback_after(self, other: Channel, seconds: int) -> bool:
        return self._of(other, "fallback_after", dt.timedelta(seconds=seconds))

    def _of(self, channel: Channel, name: str, value: Any) -> bool:
        options = replace(self.settings.channel(channel), **{name: value})
        return self.of_all("channels", {**self.settings.channels, channel: options})

    def at(self, boundary: Dispatch) -> bool:
        changed = replace(self.settings, dispatch=boundary)
        return self._fits(way_of(changed, self.channel, boundary, self._measured))

    def seconds_of_all(self, name: str, seconds: int) -> bool:
        return self.of_all(name, dt.timedelta(seconds=seconds))

    def seconds_of_channel(self, name: str, seconds: int) -> bool:
        return self.of_channel(name, dt.timedelta(seconds=seconds))


def _all(test: _Test) -> Iterator[Mend | None]:
    if test.boundary is Dispatch.INLINE:
        others = [other for other in Dispatch if other is not Dispatch.INLINE and test.at(other)]
        yield Mend(setting="DISPATCH", now=Dispatch.INLINE, fits=" or ".join(others)) if others else None
    if test.settings.recovery is not Recovery.ON and test.of_all("recovery", Recovery.ON):
        yield Mend(setting="RECOVERY", now=test.settings.recovery, fits=Recovery.ON)
    yield _longer(test)
    yield _fewer(test)
    for name, least in _LOWER_FOR_ALL.items():
        yield _lower(name.upper(), getattr(test.settings, name), least, partial(test.seconds_of_all, name))
    for name, least in _LOWER_FOR_CHANNEL.items():
        key = f"{test.where}[{name.upper()!r}]"
        yield _lower(key, getattr(test.options, name), least, partial(test.seconds_of_channel, name))
    for other in test.settings.channels:
        if other is not test.channel:
            now = test.settings.channel(other).fallback_after
            yield _lower(
                f"CHANNELS[{other.value!r}]['FALLBACK_AFTER']", now, 1, partial(test.fallback_after, other)
            )


def _longer(test: _Test) -> Mend | None:
    """The setting that bounds the life from below, raised as far as the channel's policy allows."""
    name = {"LIFETIME": "lifetime", "MAX_LIFETIME": "max_lifetime"}.get(
        test.way().life.source, "min_lifetime"
    )
    of_channel = name == "max_lifetime"
    now: dt.timedelta = getattr(test.options if of_channel else test.settings, name)
    seconds_of = test.seconds_of_channel if of_channel else test.seconds_of_all
    # A request that asks for no life must be admitted still.
    bound = test.settings.lifetime if name == "min_lifetime" else test.settings.max_lifetime
    longest = int(min(LONGEST_BY_POLICY[test.channel], bound).total_seconds())
    found = smallest(partial(seconds_of, name), math.ceil(now.total_seconds()), longest)
    if found is None:
        return None
    key = f"{test.where}['MAX_LIFETIME']" if of_channel else name.upper()
    return Mend(setting=key, now=_said(now), fits=f"{found} s", bound="or more")


def _fewer(test: _Test) -> Mend | None:
    now = test.options.max_attempts
    found = largest(partial(test.of_channel, "max_attempts"), 1, now - 1)
    key = f"{test.where}['MAX_ATTEMPTS']"
    return None if found is None else Mend(setting=key, now=str(now), fits=str(found), bound="or fewer")


def _lower(key: str, now: dt.timedelta, least: int, fits: Callable[[int], bool]) -> Mend | None:
    found = largest(fits, least, math.ceil(now.total_seconds()) - 1)
    return None if found is None else Mend(setting=key, now=_said(now), fits=f"{found} s", bound="or less")


def _said(duration: dt.timedelta) -> str:
    return f"{duration.total_seconds():g} s"
