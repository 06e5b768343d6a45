"""Which countries text messages go to."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, register

from notifications.channels import Channel
from notifications.sms.phone import unknown_regions
from resetdelivery.checks.messages import TAG, error, settings_if_valid


@register(TAG)
def check_regions(**_: Any) -> list[CheckMessage]:
    """E032, one for each region that there is none of."""
    settings = settings_if_valid()
    if settings is None or Channel.SMS not in settings.channels:
        return []
    where = "RESETDELIVERY['CHANNELS']['sms']['REGIONS']"
    hint = "Use two-letter ISO 3166 codes in capitals, such as 'GB'."
    return [
        error(32, f"{where} names {region!r}, which is no region with phone numbers of its own.", hint)
        for region in unknown_regions(settings.channels[Channel.SMS].regions)
    ]
