"""The message templates, with the longest values that this project puts into them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.checks import CheckMessage, register
from django.core.exceptions import ImproperlyConfigured
from django.urls import NoReverseMatch

from notifications.channels import Channel
from notifications.lint import LocaleReport, lint_templates
from notifications.locales import DEFAULT_LOCALE, language_of, locale_candidates
from notifications.message import MessageKind
from resetdelivery.checks.messages import TAG, error, settings_if_valid, warning
from resetdelivery.checks.worst_case import worst_case
from resetdelivery.conf import Settings
from resetdelivery.template_choice import has_templates


@register(TAG)
def check_message_templates(**_: Any) -> list[CheckMessage]:
    """E030, E031 and W030; silent while others say why there is no link or no template."""
    settings = settings_if_valid()
    if settings is None or not has_templates(settings.template_version):
        return []
    try:
        reports = lint_templates(worst_case(settings))
    except (ImproperlyConfigured, NoReverseMatch):
        return []
    current = {
        report.locale: report
        for report in reports
        if report.kind is MessageKind.RESET and report.version == settings.template_version
    }
    return [*_locale_problems(settings, current), *_lint_problems(reports)]


def _locale_problems(settings: Settings, reports: Mapping[str, LocaleReport]) -> Iterator[CheckMessage]:
    candidates = [tag for tag in locale_candidates(settings.locale) if tag in reports]
    served = candidates[0] if candidates else DEFAULT_LOCALE
    if served == DEFAULT_LOCALE != language_of(settings.locale):
        text = f"RESETDELIVERY['LOCALE'] is {settings.locale!r}, of which there are no templates."
        yield error(30, text, f"Messages would be in English. There are {', '.join(map(repr, reports))}.")
    yield from _segment_problems(settings, reports.get(served))


def _segment_problems(settings: Settings, report: LocaleReport | None) -> Iterator[CheckMessage]:
    options = settings.channels.get(Channel.SMS)
    if options is None or report is None or report.sms is None:
        return
    if report.sms.segments > options.max_segments:
        where = "RESETDELIVERY['CHANNELS']['sms']['MAX_SEGMENTS']"
        text = (
            f"{where} is {options.max_segments}, but an SMS in {report.locale!r} "
            f"may take {report.sms.segments}: it would not be sent."
        )
        yield error(31, text, f"Set it to {report.sms.segments}, or shorten the template or the link.")


def _lint_problems(reports: list[LocaleReport]) -> Iterator[CheckMessage]:
    for report in reports:
        for finding in report.findings:
            text = f"The template {finding.template} {finding.problem}."
            yield warning(30, text, f"Mend {finding.path or 'it'}; manage.py lint_templates shows them all.")
