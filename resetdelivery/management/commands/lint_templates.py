"""``manage.py lint_templates``: every message template, with the longest values there are."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.urls import NoReverseMatch

from notifications.lint import Finding, LocaleReport, WorstCase, lint_templates
from notifications.lint.characters import described
from notifications.rendering import LINK
from resetdelivery.checks.worst_case import worst_case
from resetdelivery.conf import get_settings

HEADINGS = (
    "message",
    "version",
    "locale",
    "subject",
    "encoding",
    "units",
    "segments",
    "forced by",
    "verdict",
)
NOTHING = "-"
#: Quoted-printable breaks longer lines (RFC 2045, section 6.7); some clients then break the link.
SAFE_LINK_CHARACTERS = 75


class Command(BaseCommand):
    """Prints a table of all locales of all versions, and what is wrong with which file."""

    help = "Render every message template with the longest values there are, and check what comes out."

    # It shows what W030 shows, and more.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--link", help="the longest link there is, where it is known better")

    def handle(self, *_: Any, **options: Any) -> None:
        if options["link"] and not LINK.match(options["link"]):
            raise CommandError("--link is no link that a message may hold: give a whole https:// address.")
        try:
            worst = worst_case(get_settings(), link=options["link"])
        except (ImproperlyConfigured, NoReverseMatch) as error:
            raise CommandError(f"No link can be made ({error}); run manage.py check first.") from error
        reports = lint_templates(worst)
        if not reports:
            raise CommandError("There are no templates: have 'notifications' in INSTALLED_APPS.")
        for line in [*_table(reports), "", *_notes(worst)]:
            self.stdout.write(line)
        findings = [finding for report in reports for finding in report.findings]
        for finding in findings:
            self.stdout.write(f"{_place(finding)} {finding.problem}")
        if findings:
            raise CommandError(f"{len(findings)} of the above must be mended.")


def _table(reports: Sequence[LocaleReport]) -> Iterator[str]:
    rows = [HEADINGS, *map(_row, reports)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(report: LocaleReport) -> tuple[str, ...]:
    sms = report.sms
    costs = (sms.encoding.value, str(sms.units), str(sms.segments)) if sms else (NOTHING,) * 3
    return (
        report.kind.value,
        report.version,
        report.locale,
        NOTHING if report.subject_length is None else str(report.subject_length),
        *costs,
        described(sms.forcing) if sms and sms.forcing else NOTHING,
        "wrong" if report.findings else "fine",
    )


def _notes(worst: WorstCase) -> Iterator[str]:
    yield f"The longest link has {len(worst.link)} characters; an SMS may take {worst.max_segments} segments."
    if len(worst.link) > SAFE_LINK_CHARACTERS:
        yield (
            f"Lines of up to {SAFE_LINK_CHARACTERS} are never broken on the way: "
            "a shorter host, or a shorter path in the URLconf, would keep every link whole."
        )


def _place(finding: Finding) -> str:
    """The file, from here where it is below here; the template's name where there is no file."""
    if not finding.path:
        return f"{finding.template}:"
    path = Path(finding.path)
    return f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}:"
