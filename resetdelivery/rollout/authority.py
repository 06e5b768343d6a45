"""Who sends: the authority that a new delivery gets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from notifications.channels import Channel
from resetdelivery.domain.rollout import EVERYBODY, ChannelMode
from resetdelivery.domain.slices import in_slice, slice_of
from resetdelivery.domain.states import Authority
from resetdelivery.models import ChannelControl
from resetdelivery.pseudonyms import lasting_key

#: How a channel without a control row stands: mode, and slice per mille.
_AS_NEW = (ChannelMode.LIVE.value, EVERYBODY)


def authorities(
    channels: Iterable[Channel], *, refs: Collection[str], in_turn: bool, using: str
) -> Mapping[Channel, Authority]:
    """Today's authority per channel for a request that means the accounts ``refs``, known or not.

    Accounts that share a typed address go by one slice, that of the smallest reference: their
    existing sender, told of a channel, sends to all of them. ``in_turn``: the channels are used one
    after the other, and then one sender has all of them.
    """
    wanted = list(channels)
    rows = ChannelControl.objects.using(using).filter(channel__in=wanted)
    stand = {channel: (mode, size) for channel, mode, size in rows.values_list(*_COLUMNS)}
    number = slice_of(lasting_key().secret, min(refs))
    found = {channel: _authority(*stand.get(channel.value, _AS_NEW), number) for channel in wanted}
    return _undivided(found) if in_turn else found


_COLUMNS = ("channel", "mode", "slice_per_mille")
_BY_MODE = {ChannelMode.LEGACY: Authority.LEGACY, ChannelMode.SHADOW: Authority.SHADOW}


def _authority(mode: str, slice_per_mille: int, number: int) -> Authority:
    if mode == ChannelMode.LIVE and in_slice(number, slice_per_mille):
        return Authority.PIPELINE
    # Out of the slice an account has what all had one step before.
    return _BY_MODE.get(ChannelMode(mode), Authority.SHADOW)


def _undivided(found: Mapping[Channel, Authority]) -> Mapping[Channel, Authority]:
    """The existing sender's, all of them, if any is.

    Neither sender learns whether the other's message arrived, so neither could know when the next
    channel's turn has come.
    """
    if set(found.values()) == {Authority.PIPELINE}:
        return found
    return {c: Authority.SHADOW if own is Authority.PIPELINE else own for c, own in found.items()}
