"""One locale of one version of a message: its files found, rendered and looked at."""

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
from notifications.message import MessageKind
from notifications.skeletons import EMAIL_FILES, SMS_FILES, fill, has_its_places, skeleton, template_name

_FILES = {Channel.EMAIL: EMAIL_FILES, Channel.SMS: SMS_FILES}
#: Everything that HTML escapes; a plain text must show it as it is.
_AWKWARD = "A&B <'\">"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rendered:
    """A file as a reader would get it, and as it is with a brand that HTML would escape."""

    text: str
    probe: str
    place_problem: str


def lint_locale(
    version: str, locale: str, worst: WorstCase, *, kind: MessageKind = MessageKind.RESET
) -> LocaleReport:
    """Everything that is wrong with the files of ``locale``, and what they come to."""
    findings = [_finding(f"{version}/{locale}", problem) for problem in _folder_problems(kind, locale)]
    texts: dict[str, str] = {}
    for channel in worst.lifetimes:
        lifetime = duration_words(locale).longest(worst.lifetimes[channel])
        for file, name in _expected(kind, version, locale, _FILES[channel]).items():
            try:
                rendered = _rendered(kind, name, locale, lifetime, worst)
            except (TemplateDoesNotExist, TemplateSyntaxError) as error:
                findings.append(_finding(name, _unusable(error)))
                continue
            texts[file] = rendered.text
            found = _file_problems(file, locale, rendered, worst.of(kind))
            findings += [_finding(name, problem) for problem in found]
    return LocaleReport(
        kind=kind,
        version=version,
        locale=locale,
        subject_length=columns(texts["subject.txt"]) if "subject.txt" in texts else None,
        sms=segmentation(texts["sms.txt"], worst.typography) if "sms.txt" in texts else None,
        findings=tuple(findings),
    )


def _folder_problems(kind: MessageKind, locale: str) -> Iterator[str]:
    if canonical(locale) != locale:
        yield f"is never looked for: name the folder {canonical(locale)!r} (RFC 5646, 2.1.1)"
    if kind is MessageKind.RESET and not has_duration_words(locale):
        yield "has no words for durations: call notifications.durations.add_duration_words at start"


def _expected(kind: MessageKind, version: str, locale: str, files: tuple[str, ...]) -> Mapping[str, str]:
    """A channel's files and their names: all where there is one, none where the message falls back."""
    names = {file: template_name(kind, version, locale, file) for file in files}
    return names if locale == DEFAULT_LOCALE or any(map(_path, names.values())) else {}


def _rendered(kind: MessageKind, name: str, locale: str, lifetime: str, worst: WorstCase) -> _Rendered:
    text = skeleton(name, locale, worst.brand)
    return _Rendered(
        text=fill(text, link=worst.link, lifetime=lifetime),
        probe=skeleton(name, locale, Brand(name=_AWKWARD, support=worst.brand.support)),
        place_problem="" if _is_well_placed(kind, name, text) else _PLACES[kind],
    )


_PLACES = {
    MessageKind.RESET: "must show {{ link }} and {{ lifetime }}, both without filters",
    MessageKind.SECURITY_NOTICE: "shows {{ link }} or {{ lifetime }}: a notice has neither",
}


def _is_well_placed(kind: MessageKind, name: str, text: str) -> bool:
    is_subject = name.endswith("/subject.txt")
    return has_its_places(kind, text) or (is_subject and kind is MessageKind.RESET)


def _unusable(error: TemplateDoesNotExist | TemplateSyntaxError) -> str:
    if isinstance(error, TemplateDoesNotExist):
        return f"does not exist, so that the whole message falls back to another locale: add {error}"
    return f"cannot be rendered: {error}"


def _file_problems(file: str, locale: str, rendered: _Rendered, worst: WorstCase) -> Iterator[str]:
    if rendered.place_problem:
        yield rendered.place_problem
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
