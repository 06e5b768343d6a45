"""``manage.py explain``: what happened to one reset, and why it was not sent."""

from __future__ import annotations

import json
import uuid
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import router
from django.db.models import QuerySet

from resetdelivery.conf import get_settings
from resetdelivery.models import Attempt, Delivery, ResetIntent
from resetdelivery.services import explain
from resetdelivery.timeline import Timeline
from resetdelivery.timeline.answers import lasting


class Command(BaseCommand):
    """Prints the answer and the timeline of an intent; a delivery's or an attempt's name leads to it."""

    help = "Say of one password reset whether it was sent, why not, and what happened in order."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "reference",
            nargs="?",
            help="the reference of the intent, or of one of its deliveries or attempts, as logs name them",
        )
        parser.add_argument("--latest", action="store_true", help="the intent that was stored last")
        parser.add_argument("--json", action="store_true", help="for programs")
        parser.add_argument("--database", help="the alias of the database, where it is not the usual one")

    def handle(self, *_: Any, **options: Any) -> None:
        alias = options["database"] or router.db_for_read(ResetIntent)
        timeline = explain(_intent(options, alias), using=alias)
        for line in _as_json(timeline) if options["json"] else _as_text(timeline):
            self.stdout.write(line)


def _intent(options: dict[str, Any], alias: str) -> uuid.UUID:
    intents = ResetIntent.objects.using(alias)
    if options["reference"]:
        found = _named(_reference(options["reference"]), intents, alias)
    elif options["latest"]:
        found = intents.order_by("pk").values_list("reference", flat=True).last()
    else:
        raise CommandError("Name an intent by its reference, or ask for --latest.")
    if found is None:
        raise CommandError(_nothing())
    return found


def _reference(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        # Not the text itself: somebody may have pasted an address.
        raise CommandError(
            f"A reference looks like 1b4e28ba-2fa1-41d2-883f-0016d3cca427; this is none ({len(text)} "
            "characters). Logs, the admin and the API's answers name intents by it."
        ) from None


def _named(reference: uuid.UUID, intents: QuerySet[ResetIntent], alias: str) -> uuid.UUID | None:
    """The intent that bears ``reference``, or of which a delivery or an attempt does."""
    ways: list[QuerySet[Any, uuid.UUID]] = [
        intents.filter(reference=reference).values_list("reference", flat=True),
        Delivery.objects.using(alias).filter(reference=reference).values_list("intent__reference", flat=True),
        Attempt.objects.using(alias)
        .filter(reference=reference)
        .values_list("delivery__intent__reference", flat=True),
    ]
    return next((found for way in ways if (found := way.first()) is not None), None)


def _nothing() -> str:
    settings = get_settings()
    return (
        "Nothing stored has this reference. Either it is from another system, or the intent is deleted: "
        f"they are kept for {lasting(settings.keep_intents)} after their end, those of unknown accounts for "
        f"{lasting(settings.keep_decoys)}, attempts for {lasting(settings.keep_attempts)}."
    )


def _as_text(timeline: Timeline) -> Iterator[str]:
    for one in timeline.answers:
        yield one.text
    yield ""
    yield f"intent {timeline.reference} ({timeline.state})"
    yield from timeline.lines()


def _as_json(timeline: Timeline) -> Iterator[str]:
    yield json.dumps(
        {
            "reference": str(timeline.reference),
            "kind": timeline.kind,
            "state": timeline.state,
            "created_at": timeline.created_at.isoformat(),
            "expires_at": timeline.expires_at.isoformat(),
            "scrubbed_at": timeline.scrubbed_at and timeline.scrubbed_at.isoformat(),
            "cancel_reason": timeline.cancel_reason,
            "answers": [
                {"channel": one.channel, "state": one.state, "reason": one.reason, "text": one.text}
                for one in timeline.answers
            ],
            "events": [
                {"at": event.at.isoformat(), "channel": event.channel, "text": event.text}
                for event in timeline.events
            ],
        },
        indent=2,
    )
