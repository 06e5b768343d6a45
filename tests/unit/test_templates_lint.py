"""The lint of templates: each thing that it is there to find."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import notifications
from notifications.brand import Brand
from notifications.channels import Channel
from notifications.lint import LocaleReport, WorstCase, lint_locale, lint_templates
from notifications.sms.segmentation import Encoding
from notifications.sms.typography import Typography

WORST = WorstCase(
    brand=Brand(name="Marketplace", support="support@shop.example"),
    link="https://shop.example/reset/MTIz/".ljust(75, "0"),
    host="shop.example",
    lifetimes={Channel.EMAIL: dt.timedelta(hours=24), Channel.SMS: dt.timedelta(minutes=10)},
    max_segments=3,
)
SHIPPED = Path(notifications.__file__).parent / "templates/notifications/reset"
FRAMES = ("1/_base.html", "../frame_1.html")
SMS = "{% autoescape off %}{{ brand.name }}: password\n{{ link }}\n{{ lifetime }}{% endautoescape %}"

Change = Callable[[str, str, str], list[str]]


@pytest.fixture
def folder(settings: Any, tmp_path: Path) -> Path:
    """The project's own templates."""
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]
    return tmp_path / "notifications/reset"


def put(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def override(folder: Path, shipped: Path, name: str, old: str, new: str) -> None:
    """Put a shipped file among the project's own with ``old`` replaced in it."""
    text = (shipped / name).read_text()
    assert old in text
    put(folder, name, text.replace(old, new, 1))


def problems(report: LocaleReport) -> list[str]:
    return [finding.problem for finding in report.findings]


@pytest.fixture
def change(folder: Path) -> Change:
    """Overrides a shipped English file with one in which something is replaced; what is found then."""

    def run(file: str, old: str, new: str) -> list[str]:
        name = f"1/en/{file}"
        name = next(n for n in (name, *FRAMES) if old in (SHIPPED / n).read_text())
        override(folder, SHIPPED, name, old, new)
        return problems(lint_locale("1", "en", WORST))

    return run


def test_every_shipped_template_is_fine() -> None:
    reports = lint_templates(WORST)
    locales = ["ar", "de", "el", "en", "es", "fr", "ja", "pl", "pt-BR", "tr"]
    assert [(r.kind.value, r.locale) for r in reports] == [
        (kind, locale) for kind in ("reset", "security_notice") for locale in locales
    ]
    assert [finding for report in reports for finding in report.findings] == []


def test_a_report_says_what_a_locale_comes_to() -> None:
    report = lint_locale("1", "pl", WORST)
    assert report.subject_length == len("Marketplace: ustaw nowe hasło")
    assert report.sms is not None
    assert (report.sms.encoding, report.sms.segments, report.sms.forcing) == (Encoding.UCS2, 3, "ł")


@pytest.mark.parametrize(
    ("file", "old", "new", "found"),
    [
        (
            "subject.txt",
            "Reset",
            "Rese\N{COMBINING ACUTE ACCENT}t",
            "is not in Unicode's form NFC at LATIN SMALL",
        ),
        (
            "subject.txt",
            "Reset your",
            "Reset\N{NO-BREAK SPACE}your",
            "NO-BREAK SPACE (U+00A0): write a plain",
        ),
        (
            "subject.txt",
            "Reset",
            "Reset\N{ZERO WIDTH SPACE}",
            "ZERO WIDTH SPACE (U+200B), which is invisible",
        ),
        ("subject.txt", "Reset", "Reset\nBcc: x", "has more than one line"),
        ("subject.txt", "Reset", "Reset\x07", "a control character (U+0007)"),
        ("subject.txt", "Reset", "R" * 44, "is 70 columns wide: 69 fit"),
        ("subject.txt", "Reset your {{ brand.name }} password", " ", "is empty"),
        ("subject.txt", "{% autoescape off %}", "{% autoescape on %}", "put {% autoescape off %}"),
        ("body.txt", "{% autoescape off %}", "{% autoescape on %}", "put {% autoescape off %}"),
        ("body.txt", "{{ link }}", "Link: {{ link }}", "put {{ link }} alone on its line"),
        ("body.txt", "{{ link }}", "{{ link }}.", "put {{ link }} alone on its line"),
        ("body.txt", "{{ link }}", "  {{ link }}", "put {{ link }} alone on its line"),
        ("body.txt", "{{ link }}", "{{ link }}\n{{ link }}", "holds the link 2 times"),
        ("body.txt", "{{ link }}", "", "holds the link 0 times"),
        ("body.txt", "{{ link }}", "{{ link }}\nhttps://evil.example/", "leads to 'evil.example'"),
        ("body.txt", "{{ lifetime }}", "10 minutes", "must show {{ link }} and {{ lifetime }}"),
        ("body.txt", "{{ lifetime }}", "{{ lifetime|upper }}", "without filters"),
        ("body.txt", "Never", "N" * 76 + "\nNever", "columns wide: break it"),
        ("body.txt", "Never", "\x00", "line 11 holds a control character (U+0000)"),
        ("body.txt", "{{ link }}", "{% link %}", "cannot be rendered"),
        ("body.html", 'lang="{{ lang }}" dir="{{ dir }}">', ">", 'lacks <html lang="en" dir="ltr">'),
        ("body.html", '<div class="page" lang="{{ lang }}"', "<div", 'lacks an element with lang="en"'),
        ("body.html", 'role="presentation"', "", "has a <table> without role"),
        ("body.html", "<h1", "<h1>One</h1><h1", "has 2 <h1>"),
        ("body.html", "<h1", '<img src="https://shop.example/x.png"><h1', "has <img>"),
        ("body.html", "<h1", "<script></script><h1", "has <script>"),
        ("body.html", "background:#ffffff", "background:url(x)", "fetches something by its style sheet"),
        ("body.html", "font-size:14px", "font-size:11px", "has text of 11 px"),
        ("body.html", "<h1", "<p>{{ link }}</p><h1", "shows the link in its first 140 characters"),
        ("body.html", ">{{ link }}</a>", ">here</a>", "does not show the whole link as text"),
        (
            "body.html",
            "{% block button %}{% endblock %}",
            "{{ link }}",
            "no link whose text says what it does",
        ),
        (
            "body.html",
            '<a class="button" href="{{ link }}"',
            '<a href="https://evil.example"',
            "links to 'https://evil",
        ),
        ("body.html", "<h1", "<p>https://evil.example</p><h1", "leads to 'evil.example'"),
        ("body.html", "<bdi>{{ brand.name }}", "<bdi>{{ brand.name|safe }}", "does not escape"),
        ("body.html", "../_base.html", "../_gone.html", "does not exist"),
        ("sms.txt", "{% autoescape off %}", "{% autoescape on %}", "put {% autoescape off %}"),
        ("sms.txt", "{{ brand.name }}: ", "", "does not begin with {{ brand.name }}"),
        ("sms.txt", "{{ link }}", "{{ link }} now", "put {{ link }} alone on its line"),
        ("sms.txt", "\nWorks for {{ lifetime }}. Not you? Ignore it.", "", "begins or ends with the link"),
        ("sms.txt", "Not you", "Not\N{NARROW NO-BREAK SPACE}you", "NARROW NO-BREAK SPACE (U+202F): write"),
        ("sms.txt", "Not you", "\N{RIGHT-TO-LEFT MARK}Not you", "RIGHT-TO-LEFT MARK (U+200F), which is inv"),
        ("sms.txt", "Not you", "\N{LOCK}Not you", "LOCK (U+1F512), which not every phone shows"),
        ("sms.txt", "Not you", "Not\tyou", "holds a control character (U+0009)"),
        ("sms.txt", "Not you", "n" * 317, "takes 4 segments (464 units of gsm7)"),
        (
            "sms.txt",
            "Not you",
            "\N{LATIN SMALL LETTER C WITH CEDILLA}" * 60,
            "WITH CEDILLA (U+00E7) forces UCS-2)",
        ),
    ],
)
def test_what_would_go_wrong_is_found(change: Change, file: str, old: str, new: str, found: str) -> None:
    assert any(found in problem for problem in change(file, old, new))


def test_a_missing_file_of_a_message_is_named(folder: Path) -> None:
    put(folder, "1/de-AT/subject.txt", "{{ brand.name }}")
    report = lint_locale("1", "de-AT", WORST)
    missing = [f.template for f in report.findings if "falls back to another locale" in f.problem]
    assert missing == ["notifications/reset/1/de-AT/body.txt", "notifications/reset/1/de-AT/body.html"]


def test_a_locale_may_have_an_sms_alone(folder: Path) -> None:
    put(folder, "1/de-AT/sms.txt", SMS)
    report = lint_locale("1", "de-AT", WORST)
    assert report.findings == ()
    assert report.subject_length is None


def test_english_must_have_everything(folder: Path) -> None:
    put(folder, "2/de/sms.txt", SMS)
    put(folder, "2/en/sms.txt", SMS)
    missing = [f for f in lint_locale("2", "en", WORST).findings if "does not exist" in f.problem]
    assert len(missing) == 3


def test_the_file_that_counts_is_named(folder: Path) -> None:
    put(folder, "1/de/sms.txt", "nothing of use")
    (first, *_) = lint_locale("1", "de", WORST).findings
    assert first.template == "notifications/reset/1/de/sms.txt"
    assert first.path == str(folder / "1/de/sms.txt")


def test_versions_of_the_project_and_of_the_package_are_both_looked_at(folder: Path) -> None:
    put(folder, "2026-12/en/sms.txt", SMS)
    assert {report.version for report in lint_templates(WORST)} == {"1", "2026-12"}


def test_a_language_without_duration_words_is_pointed_out(folder: Path) -> None:
    put(folder, "1/nl/sms.txt", SMS)
    assert "has no words for durations" in problems(lint_locale("1", "nl", WORST))[0]


def test_a_folder_that_no_locale_leads_to_is_pointed_out(folder: Path) -> None:
    put(folder, "1/de-at/sms.txt", SMS)
    assert "name the folder 'de-AT'" in problems(lint_locale("1", "de-at", WORST))[0]


def test_a_channel_that_is_not_used_is_not_looked_at() -> None:
    only_email = dataclasses.replace(WORST, lifetimes={Channel.EMAIL: dt.timedelta(hours=1)}, max_segments=1)
    report = lint_locale("1", "ar", only_email)
    assert report.sms is None
    assert report.findings == ()


def test_the_count_is_of_the_text_that_is_sent(folder: Path) -> None:
    put(folder, "1/fr/sms.txt", SMS.replace("password", "l\N{RIGHT SINGLE QUOTATION MARK}acc\u00e8s"))
    plain = lint_locale("1", "fr", WORST).sms
    written = lint_locale("1", "fr", dataclasses.replace(WORST, typography=Typography.AS_WRITTEN)).sms
    assert plain is not None
    assert written is not None
    assert (plain.encoding, written.encoding) == (Encoding.GSM7, Encoding.UCS2)
    assert written.forcing == "\N{RIGHT SINGLE QUOTATION MARK}"


def test_the_support_page_may_be_on_another_host() -> None:
    brand = Brand(name="Marketplace", support="https://help.example/reset")
    assert lint_locale("1", "en", dataclasses.replace(WORST, brand=brand)).findings == ()


def test_a_right_to_left_language_must_say_so(folder: Path) -> None:
    put(folder, "1/he/body.html", '<html lang="he"><body><div lang="he" dir="ltr">x</div></body></html>')
    found = problems(lint_locale("1", "he", WORST))
    assert any('lacks <html lang="he" dir="rtl">' in problem for problem in found)
    assert any('lacks an element with lang="he" dir="rtl"' in problem for problem in found)
