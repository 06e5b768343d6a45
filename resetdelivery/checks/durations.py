"""Durations that must fit each other."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, register

from notifications.channels import Channel
from resetdelivery.checks.messages import TAG, error, settings_if_valid, warning
from resetdelivery.conf import ChannelSettings, Dispatch, Settings
from resetdelivery.domain.retry import backoff_seconds

#: NIST SP 800-63B-4, 4.2.1.2: how long a secret sent over a channel may live.
LONGEST_BY_POLICY = {Channel.EMAIL: dt.timedelta(hours=24), Channel.SMS: dt.timedelta(minutes=10)}


@register(TAG)
def check_lifetimes(**_: Any) -> list[CheckMessage]:
    """E013, E014, W002 and W005."""
    settings = settings_if_valid()
    if settings is None:
        return []
    found: list[CheckMessage] = []
    if settings.lifetime > settings.max_lifetime:
        text = "RESETDELIVERY['LIFETIME'] is longer than RESETDELIVERY['MAX_LIFETIME']."
        found.append(error(13, text, f"Set it to {settings.max_lifetime} or less."))
    for channel, options in settings.channels.items():
        found.extend(_channel_problems(settings, channel, options))
    return found


def _channel_problems(
    settings: Settings, channel: Channel, options: ChannelSettings
) -> Iterator[CheckMessage]:
    where = f"RESETDELIVERY['CHANNELS'][{channel.value!r}]"
    shortest = min(settings.lifetime, options.max_lifetime)
    useful = options.expected_queue_delay + options.expected_latency + settings.min_useful
    first_retry = dt.timedelta(seconds=backoff_seconds(settings.policy(channel), 1))
    one_send = options.send_budget + settings.lease_margin
    polled = settings.poll_interval + max(settings.lease, one_send) + first_retry + useful
    if shortest < useful:
        text = f"A reset on {channel.value!r} lives {shortest}, but takes {useful} to be of any use."
        yield error(13, text, f"Raise RESETDELIVERY['LIFETIME'] or {where}['MAX_LIFETIME'].")
    elif settings.dispatch is Dispatch.DATABASE and shortest < polled:
        text = f"A reset on {channel.value!r} lives {shortest}, but polling may take {polled} to recover it."
        yield error(14, text, "Lower POLL_INTERVAL, LEASE or MIN_USEFUL, or raise LIFETIME.")
    if settings.lease < one_send:
        text = f"RESETDELIVERY['LEASE'] is {settings.lease}, shorter than one send on {channel.value!r}."
        hint = f"It is raised to {one_send} (SEND_BUDGET and LEASE_MARGIN): set it so."
        yield warning(2, text, hint)
    if options.max_lifetime > LONGEST_BY_POLICY[channel]:
        text = f"{where}['MAX_LIFETIME'] is {options.max_lifetime}."
        hint = f"NIST SP 800-63B-4 allows {LONGEST_BY_POLICY[channel]} on this channel."
        yield warning(5, text, hint)
