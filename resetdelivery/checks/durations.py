"""Durations that must fit each other: the decision rule, from what is set alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

from django.core.checks import CheckMessage, register

from notifications.channels import Channel
from resetdelivery.checks.messages import TAG, error, settings_if_valid, warning
from resetdelivery.conf import ChannelSettings, Settings
from resetdelivery.decision_rule import mends, way_of
from resetdelivery.decision_rule.mends import LONGEST_BY_POLICY
from resetdelivery.decision_rule.way import Way

_SEE = "'manage.py delivery_budget --configured-only' shows each term."


@register(TAG)
def check_lifetimes(**_: Any) -> list[CheckMessage]:
    """E013, E014, E121, W002, W005, W121 and W122."""
    settings = settings_if_valid()
    if settings is None:
        return []
    found: list[CheckMessage] = []
    if settings.lifetime > settings.max_lifetime:
        text = "RESETDELIVERY['LIFETIME'] is longer than RESETDELIVERY['MAX_LIFETIME']."
        found.append(error(13, text, f"Set it to {settings.max_lifetime} or less."))
    if settings.lifetime < settings.min_lifetime:
        text = (
            f"RESETDELIVERY['LIFETIME'] is {settings.lifetime}, shorter than RESETDELIVERY['MIN_LIFETIME']."
        )
        hint = f"No request is admitted that asks for none: set it to {settings.min_lifetime} or more."
        found.append(error(121, text, hint))
    for channel, options in settings.channels.items():
        found.extend(_channel_problems(settings, channel, options))
    return found


def _channel_problems(
    settings: Settings, channel: Channel, options: ChannelSettings
) -> Iterator[CheckMessage]:
    where = f"RESETDELIVERY['CHANNELS'][{channel.value!r}]"
    shortest = min(settings.lifetime, options.max_lifetime)
    useful = options.expected_queue_delay + options.expected_latency + settings.min_useful
    one_send = options.send_budget + settings.lease_margin
    if shortest < useful:
        text = f"A reset on {channel.value!r} lives {shortest}, but takes {useful} to be of any use."
        yield error(13, text, f"Raise RESETDELIVERY['LIFETIME'] or {where}['MAX_LIFETIME'].")
    else:
        yield from _rule_problems(settings, way_of(settings, channel, settings.dispatch))
    if settings.lease < one_send:
        text = f"RESETDELIVERY['LEASE'] is {settings.lease}, shorter than one send on {channel.value!r}."
        hint = f"It is raised to {one_send} (SEND_BUDGET and LEASE_MARGIN): set it so."
        yield warning(2, text, hint)
    if options.max_lifetime > LONGEST_BY_POLICY[channel]:
        text = f"{where}['MAX_LIFETIME'] is {options.max_lifetime}."
        hint = f"NIST SP 800-63B-4 allows {LONGEST_BY_POLICY[channel]} on this channel."
        yield warning(5, text, hint)


def _rule_problems(settings: Settings, way: Way) -> Iterator[CheckMessage]:
    """E014; where that has nothing to say, W121 and W122."""
    life, needed = _seconds(way.life.seconds), _seconds(way.worst.needed_seconds(1))
    lives = f"A reset on {way.channel.value!r} may live no longer than {life} ({way.life.source})"
    if not way.worst.fits(1):
        dead = "after a worker that died with it, " if way.recovers else ""
        useful = _seconds(way.worst.useful_seconds)
        text = f"{lives}, {useful} of it useful; {dead}its first attempt takes until {needed}."
        yield error(14, text, _hint(settings, way, lambda changed: changed.worst.fits(1)))
        return
    if way.worst.fitting < way.worst.tries:
        dead = " after a worker died with it" if way.recovers else ""
        text = f"{lives}: only {way.worst.fitting} of {way.max_attempts} attempts fit{dead}."
        yield warning(121, text, _hint(settings, way, lambda changed: changed.worst.all_fit))
    if way.recovers and way.lost_hint_seconds is not None and not _hint_is_told_again(way):
        text = (
            f"{lives}: no attempt fits after a hint was lost, which costs {_seconds(way.lost_hint_seconds)}."
        )
        yield warning(122, text, f"Lower SWEEP_GRACE, sweep more often, or raise {way.life.source}. {_SEE}")


def _hint_is_told_again(way: Way) -> bool:
    after, _ = way.after_lost_hint()
    return after > 0


def _hint(settings: Settings, way: Way, fits: Callable[[Way], bool]) -> str:
    found = mends(settings, way.channel, way.boundary, fits=fits)
    each = " ".join(f"{mend.sentence()}." for mend in found)
    return f"{each or 'No single setting is enough.'} {_SEE}"


def _seconds(number: float) -> dt.timedelta:
    return dt.timedelta(seconds=number)
