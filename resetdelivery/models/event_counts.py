from __future__ import annotations

from django.db import models

from notifications.channels import Channel
from resetdelivery.domain.telemetry import CountedEvent
from resetdelivery.models.choices import choices


class EventCounts(models.Model):
    """How often something happened on one channel; ``label`` is from the event's own closed set."""

    event = models.CharField(max_length=20, choices=choices(CountedEvent))
    channel = models.CharField(max_length=16, choices=choices(Channel))
    label = models.CharField(max_length=32, default="")
    count = models.BigIntegerField(default=0)

    class Meta:
        abstract = True


class EventMinute(EventCounts):
    """What happened within one minute.

    Counted anew from rows until the minute is closed; ``kept`` rows, which are only added to, count
    what leaves no row (:data:`~resetdelivery.domain.telemetry.AS_THEY_HAPPEN`) and rows that were
    deleted before that.
    """

    minute = models.DateTimeField()
    kept = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="resetdelivery_event_minute", fields=["minute", "event", "channel", "label", "kept"]
            )
        ]

    def __str__(self) -> str:
        return f"{self.minute:%Y-%m-%d %H:%M} {self.event} {self.channel}"


class EventTotal(EventCounts):
    """The same of all closed minutes, ever: what retention never lowers."""

    class Meta:
        constraints = [
            models.UniqueConstraint(name="resetdelivery_event_total", fields=["event", "channel", "label"])
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.channel}"
