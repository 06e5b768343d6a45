"""One locale of one version: its files found, rendered and looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from django.template import TemplateDoesNotExist, TemplateSyntaxError
from django.template.loader import get_template

from notifications.brand import Brand
from notifications.channels import Channel
from notifications.durations import duration_words, has_duration_words
from notifications.lint.characters import columns
from notifications.lint.letter import letter_text_problems
from notifications.lint.page import page_problems
from notifications.lint.report import Finding, LocaleReport, WorstCase
from notifications.lint.sms import segmentation, sms_problems
from notifications.lint.subject import subject_problems
from notifications.lint.text import escaping_problems, host_problems
from notifications.locales import DEFAULT_LOCALE, canonical
from notifications.skeletons import (
    EMAIL_FILES,
    SMS_FILES,
    fill,
    says_when_and_where,
    skeleton,
    template_name,
)

_FILES = {Channel.EMAIL: EMAIL_FILES, Channel.SMS: SMS_FILES}
#: Everything that HTML escapes; a plain text must show it as it is.
_AWKWARD = "A&B <'\">"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rendered:
    """A file as a reader would get it, and as it is with a brand that HTML would escape."""

    text: str
    probe: str
    has_places: bool


def lint_locale(version: str, locale: str, worst: WorstCase) -> LocaleReport:
    """Everything that is wrong with the files of ``locale``, and what they come to."""
    findings = [_finding(f"{version}/{locale}", problem) for problem in _folder_problems(locale)]
    texts: dict[str, str] = {}
    for channel in worst.lifetimes:
        lifetime = duration_words(locale).longest(worst.lifetimes[channel])
        for file in _expected(version, locale, _FILES[channel]):
            name = template_name(version, locale, file)
            try:
                rendered = _rendered(name, locale, lifetime, worst)
            except (TemplateDoesNotExist, TemplateSyntaxError) as error:
                findings.append(_finding(name, _unusable(error)))
                continue
            texts[file] = rendered.text
            findings += [_finding(name, problem) for problem in _file_problems(file, locale, rendered, worst)]
    return LocaleReport(
        version=version,
        locale=locale,
        subject_length=columns(texts["subject.txt"]) if "subject.txt" in texts else None,
        sms=segmentation(texts["sms.txt"], worst.typography) if "sms.txt" in texts else None,
        findings=tuple(findings),
    )


def _folder_problems(locale: str) -> Iterator[str]:
    if canonical(locale) != locale:
        yield f"is never looked for: name the folder {canonical(locale)!r} (RFC 5646, 2.1.1)"
    if not has_duration_words(locale):
        yield "has no words for durations: call notifications.durations.add_duration_words at start"


def _expected(version: str, locale: str, files: tuple[str, ...]) -> tuple[str, ...]:
    """A channel's files: all of them where there is one, none where the whole message falls back."""
    has_any = any(_path(template_name(version, locale, file)) for file in files)
    return files if has_any or locale == DEFAULT_LOCALE else ()


def _rendered(name: str, locale: str, lifetime: str, worst: WorstCase) -> _Rendered:
    text = skeleton(name, locale, worst.brand)
    return _Rendered(
        text=fill(text, link=worst.link, lifetime=lifetime),
        probe=skeleton(name, locale, Brand(name=_AWKWARD, support=worst.brand.support)),
        has_places=says_when_and_where(text),
    )


def _unusable(error: TemplateDoesNotExist | TemplateSyntaxError) -> str:
    if isinstance(error, TemplateDoesNotExist):
        return f"does not exist, so that the whole message falls back to another locale: add {error}"
    return f"cannot be rendered: {error}"


def _file_problems(file: str, locale: str, rendered: _Rendered, worst: WorstCase) -> Iterator[str]:
    if file != "subject.txt" and not rendered.has_places:
        yield "must show {{ link }} and {{ lifetime }}, both without filters"
    if file == "body.html":
        yield from page_problems(rendered.text, locale, worst)
        yield from host_problems(rendered.text, worst)
        if _AWKWARD in rendered.probe:
            yield "does not escape {{ brand.name }}: leave autoescape on"
    else:
        yield from escaping_problems(rendered.probe)
        yield from _PLAIN_CHECKS[file](rendered.text, worst)


def _subject(text: str, _: WorstCase) -> Iterator[str]:
    yield from subject_problems(text)


_PLAIN_CHECKS: Mapping[str, Callable[[str, WorstCase], Iterator[str]]] = {
    "subject.txt": _subject,
    "body.txt": letter_text_problems,
    "sms.txt": sms_problems,
}


def _finding(template: str, problem: str) -> Finding:
    return Finding(template=template, path=_path(template), problem=problem)


def _path(name: str) -> str:
    """The file that the loaders find for ``name``; empty if there is none."""
    try:
        origin = getattr(get_template(name), "origin", None)
    except TemplateDoesNotExist:
        return ""
    except TemplateSyntaxError:
        return name
    return str(getattr(origin, "name", name))
