"""Filters over closed sets; none asks the database which values there are."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from notifications.channels import Channel
from notifications.outcome import Reason
from resetdelivery.domain.reasons import DeliveryReason
from resetdelivery.models.choices import choices


class IntentChannelFilter(admin.SimpleListFilter):
    """Intents that have a delivery on a channel."""

    title = "channel"
    parameter_name = "channel"

    def lookups(self, *_: object) -> Iterable[tuple[str, str]]:
        return choices(Channel)

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        wanted = self.value()
        return queryset.filter(deliveries__channel=wanted) if wanted else queryset


class AttemptReasonFilter(admin.SimpleListFilter):
    """Attempts by what the transport said."""

    title = "reason"
    parameter_name = "reason"

    def lookups(self, *_: object) -> Iterable[tuple[str, str]]:
        return choices(Reason)

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        wanted = self.value()
        return queryset.filter(reason=wanted) if wanted else queryset


class DeliveryReasonFilter(AttemptReasonFilter):
    """Deliveries by the transport's last word or by ours."""

    def lookups(self, *_: object) -> Iterable[tuple[str, str]]:
        reasons = {**dict(choices(Reason)), **dict(choices(r for r in DeliveryReason if r))}
        return sorted(reasons.items())
