"""The lint of message templates: every version and locale, with the longest values there are.

What it finds would otherwise be found by a carrier, a mail client or a reader.
"""

from __future__ import annotations

from notifications.lint.catalogue import locales, versions
from notifications.lint.locale import lint_locale
from notifications.lint.report import Finding, LocaleReport, WorstCase
from notifications.message import MessageKind

__all__ = ["Finding", "LocaleReport", "WorstCase", "lint_locale", "lint_templates"]


def lint_templates(worst: WorstCase) -> list[LocaleReport]:
    """A report for each locale of each version, with everything that is wrong in it; resets first."""
    return [
        lint_locale(version, locale, worst, kind=kind)
        for kind in MessageKind
        for version in versions(kind)
        for locale in locales(kind, version)
    ]
