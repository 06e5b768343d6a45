"""How many resets may be asked for, and how long a request may wait for another one."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.core.checks import CheckMessage, register

from resetdelivery.checks.messages import TAG, error, settings_if_valid, warning

#: PostgreSQL counts in these, and takes zero for "wait for ever".
SHORTEST_WAIT = dt.timedelta(milliseconds=1)
#: More than this in an hour floods a mailbox, whoever asks.
MANY_PER_HOUR = 20


@register(TAG)
def check_limits(**_: Any) -> list[CheckMessage]:
    """E080, and W080 for each limit that a shorter window never lets come into use."""
    settings = settings_if_valid()
    if settings is None:
        return []
    found: list[CheckMessage] = []
    if settings.admission_lock_timeout < SHORTEST_WAIT:
        text = (
            "RESETDELIVERY['ADMISSION_LOCK_TIMEOUT'] is less than a millisecond, which means no limit at all."
        )
        found.append(
            error(80, text, "Set it to a few seconds: a request that waits longer may be sent again.")
        )
    for kind, limit in settings.limits().items():
        if limit.per_day < limit.per_hour:
            name = kind.name
            text = f"{name}_PER_DAY is {limit.per_day}: {name}_PER_HOUR, {limit.per_hour}, is never reached."
            hint = f"Raise RESETDELIVERY['{name}_PER_DAY'], or lower RESETDELIVERY['{name}_PER_HOUR']."
            found.append(warning(80, text, hint))
    return found


@register(TAG, deploy=True)
def check_limits_are_low(**_: Any) -> list[CheckMessage]:
    """W081, one for each limit that keeps nobody from flooding a mailbox or a telephone."""
    settings = settings_if_valid()
    if settings is None:
        return []
    hint = f"OWASP asks for a limit that keeps a mailbox from being flooded: {MANY_PER_HOUR} or less."
    return [
        warning(81, f"RESETDELIVERY['{kind.name}_PER_HOUR'] is {limit.per_hour}.", hint)
        for kind, limit in settings.limits().items()
        if limit.per_hour > MANY_PER_HOUR
    ]
