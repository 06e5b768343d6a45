"""Who sends: the authority that a new delivery gets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from notifications.channels import Channel
from resetdelivery.domain.states import Authority
from resetdelivery.models import ChannelControl
from resetdelivery.models.channel_control import ChannelMode

_BY_MODE = {
    ChannelMode.LEGACY: Authority.LEGACY,
    ChannelMode.SHADOW: Authority.SHADOW,
    ChannelMode.LIVE: Authority.PIPELINE,
}


def authorities(channels: Iterable[Channel], *, using: str) -> Mapping[Channel, Authority]:
    """Today's authority per channel; a channel without a control row is live."""
    wanted = list(channels)
    modes = dict(
        ChannelControl.objects.using(using).filter(channel__in=wanted).values_list("channel", "mode")
    )
    return {c: _BY_MODE[ChannelMode(modes.get(c.value, ChannelMode.LIVE))] for c in wanted}
