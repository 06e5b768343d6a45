from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from resetdelivery.domain.reasons import CancelReason
from resetdelivery.domain.states import IntentKind, IntentState, Strategy
from resetdelivery.models.choices import choices, values


class ResetIntent(models.Model):
    """One reset request: whose, until when, over which channels.

    ``reference`` is the only name of an intent that leaves the database. ``account_digest`` is a
    keyed digest of what made the link and the destinations what they were at admission. A
    ``security_notice`` says that the password was changed, and holds no link.
    """

    reference = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    # Defaults of the database's own: a worker that runs the last version's code inserts without them.
    kind = models.CharField(
        max_length=16,
        default=IntentKind.RESET,
        db_default=IntentKind.RESET.value,
        choices=choices(IntentKind),
    )
    account_ref = models.CharField(max_length=255)
    account_digest = models.CharField(max_length=80)
    strategy = models.CharField(max_length=16, choices=choices(Strategy), default=Strategy.ALL)
    template_version = models.CharField(max_length=16)
    locale = models.CharField(max_length=16)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    cancel_requested_at = models.DateTimeField(null=True)
    cancel_reason = models.CharField(max_length=32, default="", choices=choices(CancelReason))
    state = models.CharField(max_length=16, choices=choices(IntentState), default=IntentState.OPEN)
    closed_at = models.DateTimeField(null=True)
    # Empty where nothing is traced; else the span that admitted it (W3C Trace Context, 3.2).
    traceparent = models.CharField(max_length=55, default="")
    trace_parent_span = models.CharField(max_length=16, default="", db_default="")
    admission_seconds = models.FloatField(null=True)
    traced_at = models.DateTimeField(null=True)
    scrubbed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="resetdelivery_intent_state", condition=Q(state__in=values(IntentState))
            ),
            models.CheckConstraint(
                name="resetdelivery_intent_kind", condition=Q(kind__in=values(IntentKind))
            ),
            models.CheckConstraint(
                name="resetdelivery_intent_strategy", condition=Q(strategy__in=values(Strategy))
            ),
            models.CheckConstraint(
                name="resetdelivery_intent_closed_at",
                condition=Q(state=IntentState.OPEN.value, closed_at=None)
                | Q(state=IntentState.CLOSED.value, closed_at__isnull=False),
            ),
            models.CheckConstraint(
                name="resetdelivery_intent_cancel_reason",
                condition=Q(cancel_requested_at=None, cancel_reason="")
                | Q(cancel_requested_at__isnull=False, cancel_reason__in=values(CancelReason)),
            ),
            models.CheckConstraint(
                name="resetdelivery_intent_lives", condition=Q(expires_at__gt=models.F("created_at"))
            ),
            # The account lock keeps this; the constraint keeps the account lock honest.
            models.UniqueConstraint(
                name="resetdelivery_intent_one_wanted",
                fields=["account_ref"],
                condition=Q(
                    kind=IntentKind.RESET.value, state=IntentState.OPEN.value, cancel_requested_at=None
                ),
            ),
        ]
        indexes = [
            models.Index(
                name="resetdelivery_intent_open",
                fields=["account_ref"],
                condition=Q(state=IntentState.OPEN.value),
            ),
            models.Index(name="resetdelivery_intent_created", fields=["created_at"]),
            models.Index(
                name="resetdelivery_intent_scrub",
                fields=["closed_at", "id"],
                condition=Q(state=IntentState.CLOSED.value, scrubbed_at=None),
            ),
            models.Index(
                name="resetdelivery_intent_trace",
                fields=["id"],
                condition=Q(state=IntentState.CLOSED.value, traced_at=None) & ~Q(traceparent=""),
            ),
        ]

    def __str__(self) -> str:
        return str(self.reference)
