from __future__ import annotations

from django.db import models
from django.db.models import Q

from notifications.channels import Channel
from resetdelivery.domain.reasons import PauseReason
from resetdelivery.domain.rollout import ChannelMode as ChannelMode  # also for those who import it here
from resetdelivery.models.choices import choices, values


class ChannelControl(models.Model):
    """One row per channel: its mode, and whether it may send.

    A paused channel marks nothing. After a configuration error it pauses itself and, at
    ``probe_at``, lets one delivery through (``probing``) to see whether the fault is mended.
    """

    channel = models.CharField(max_length=16, primary_key=True, choices=choices(Channel))
    mode = models.CharField(max_length=16, choices=choices(ChannelMode), default=ChannelMode.LIVE)
    slice_per_mille = models.PositiveSmallIntegerField(default=1000)
    paused = models.BooleanField(default=False)
    pause_reason = models.CharField(max_length=32, default="", choices=choices(PauseReason))
    probing = models.BooleanField(default=False)
    probe_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="resetdelivery_control_channel", condition=Q(channel__in=values(Channel))
            ),
            models.CheckConstraint(
                name="resetdelivery_control_mode", condition=Q(mode__in=values(ChannelMode))
            ),
            models.CheckConstraint(
                name="resetdelivery_control_slice", condition=Q(slice_per_mille__lte=1000)
            ),
            models.CheckConstraint(
                name="resetdelivery_control_probe", condition=~Q(probing=True) | Q(paused=False)
            ),
        ]

    def __str__(self) -> str:
        return self.channel
