"""The shipped texts, as people get them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from email import policy
from email.parser import BytesParser
from pathlib import Path
from typing import Any

import pytest

from notifications.email.mime import build_mime, parse_sender
from notifications.message import EmailMessage, ResetContent
from notifications.rendering import Brand, render_email, render_sms
from notifications.sms.segmentation import Encoding, segment
from tests.wire.samples import NOW

LOCALES = ["ar", "de", "el", "en", "es", "fr", "ja", "pl", "pt-BR", "tr"]
TEN_MINUTES = dt.timedelta(minutes=10)
LINK = "https://shop.example/reset/MTIz/".ljust(75, "0")
BRAND = Brand(name="Marketplace", support="support@shop.example")

Write = Callable[[str, str], None]


def content(remaining: dt.timedelta = TEN_MINUTES) -> ResetContent:
    return ResetContent(link=LINK, expires_at=NOW + remaining, remaining=remaining)


def email(locale: str, version: str = "1", brand: Brand = BRAND) -> EmailMessage:
    return render_email(
        to="ann@example.com",
        content=content(),
        version=version,
        locale=locale,
        brand=brand,
        message_id="<id@shop.example>",
        date=NOW,
        boundary="b",
    )


def sms(locale: str, version: str = "1", remaining: dt.timedelta = TEN_MINUTES) -> str:
    return render_sms(
        to="+447911123456",
        content=content(remaining),
        version=version,
        locale=locale,
        brand=BRAND,
        reference="r",
    ).text


@pytest.fixture
def write(settings: Any, tmp_path: Path) -> Write:
    """Puts a template into the project's own folder, which Django asks first."""
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]

    def put(name: str, text: str) -> None:
        file = tmp_path / "notifications/reset" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return put


@pytest.mark.parametrize(
    ("locale", "encoding", "segments"),
    [
        ("de", Encoding.GSM7, 1),
        ("en", Encoding.GSM7, 1),
        ("es", Encoding.GSM7, 1),
        ("fr", Encoding.GSM7, 1),
        ("pt-BR", Encoding.GSM7, 1),
        ("ja", Encoding.UCS2, 2),
        ("ar", Encoding.UCS2, 3),
        ("el", Encoding.UCS2, 3),
        ("pl", Encoding.UCS2, 3),
        ("tr", Encoding.UCS2, 3),
    ],
)
@pytest.mark.parametrize("remaining", [dt.timedelta(seconds=45), TEN_MINUTES])
def test_an_sms_takes_no_more_segments_than_its_language_needs(
    locale: str, encoding: Encoding, segments: int, remaining: dt.timedelta
) -> None:
    cost = segment(sms(locale, remaining=remaining))
    assert (cost.encoding, cost.segments) == (encoding, segments)


@pytest.mark.parametrize("locale", LOCALES)
def test_a_message_is_in_the_language_that_was_asked_for(locale: str) -> None:
    assert f'<html lang="{locale}"' in email(locale).html
    assert len({email(other).text for other in LOCALES}) == len(LOCALES)


@pytest.mark.parametrize("locale", LOCALES)
def test_a_message_is_read_from_its_bytes_as_it_was_written(locale: str) -> None:
    message = email(locale)
    assert read_back(message) == (message.subject, message.text, message.html)


def read_back(message: EmailMessage) -> tuple[str, str, str]:
    """Subject, text and HTML as a reader's client takes them out of the bytes, which are ASCII alone."""
    raw = build_mime(message, parse_sender("no-reply@shop.example"))
    assert raw.isascii()
    parsed = BytesParser(policy=policy.SMTP).parsebytes(raw)
    plain, html = (str(part.get_content()).replace("\r\n", "\n") for part in parsed.iter_parts())
    return str(parsed["Subject"]), plain, html


@pytest.mark.parametrize(("locale", "way"), [("ar", "rtl"), ("de", "ltr"), ("ja", "ltr")])
def test_a_page_says_its_direction_where_clients_keep_it(locale: str, way: str) -> None:
    assert email(locale).html.count(f'lang="{locale}" dir="{way}"') == 2


def test_the_address_reads_from_left_to_right_in_arabic_too() -> None:
    assert re.search(rf'<a [^>]*dir="ltr" href="{LINK}"[^>]*>{LINK}</a>', email("ar").html)


@pytest.mark.parametrize(
    ("asked", "served"),
    [("de-AT", "de"), ("pt", "pt-BR"), ("pt-PT", "pt-BR"), ("pt-br", "pt-BR"), ("zz", "en"), ("fr_CA", "fr")],
)
def test_the_nearest_locale_is_served(asked: str, served: str) -> None:
    assert email(asked) == email(served)
    assert sms(asked) == sms(served)


@pytest.mark.parametrize("locale", LOCALES)
def test_without_a_support_address_nobody_is_sent_to_it(locale: str) -> None:
    message = email(locale, brand=Brand(name="Marketplace", support=""))
    assert message.text.endswith("\n\nMarketplace\n")
    assert message.html.count("<td") == 1


def test_a_project_overrides_one_file_and_keeps_the_others(write: Write) -> None:
    write(
        "1/de/sms.txt",
        "{% autoescape off %}{{ brand.name }} sagt:\n{{ link }}\n{{ lifetime }}.{% endautoescape %}",
    )
    assert sms("de") == f"Marketplace sagt:\n{LINK}\n10 Minuten."
    assert email("de").subject == "Marketplace: Passwort zurücksetzen"


def test_a_project_overrides_the_frame_of_every_language_at_once(write: Write) -> None:
    write("1/_base.html", "{{ lang }} {{ link }} {{ lifetime }} {% block heading %}{% endblock %}")
    assert email("ja").html == f"ja {LINK} 10分 新しいパスワードの設定\n"


def test_a_locale_that_has_not_all_files_of_a_message_is_passed_over(write: Write) -> None:
    write("1/de-AT/subject.txt", "Servus")
    write("1/de-AT/sms.txt", "Servus\n{{ link }}\n{{ lifetime }}")
    assert email("de-AT").subject == email("de").subject
    assert sms("de-AT").startswith("Servus")


def test_a_retired_version_is_rendered_as_long_as_its_files_are_there(write: Write) -> None:
    before = sms("en")
    write("2/en/sms.txt", "{{ brand.name }} two\n{{ link }}\n{{ lifetime }}")
    assert sms("en", version="2").startswith("Marketplace two")
    assert sms("en", version="1") == before


def test_every_colour_has_the_contrast_that_wcag_asks_for() -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1, on the page and on the card, by day and by night."""
    by_day = [("#1f2328", "#ffffff"), ("#565d66", "#ffffff"), ("#565d66", "#f3f4f6"), ("#0b57d0", "#ffffff")]
    by_night = [
        ("#f1f3f5", "#22252c"),
        ("#b9c0ca", "#22252c"),
        ("#b9c0ca", "#16181d"),
        ("#a8c7fa", "#22252c"),
    ]
    pairs = [*by_day, *by_night, ("#ffffff", "#0b57d0"), ("#10233f", "#a8c7fa")]
    borders = {"#d8dce2", "#3a3f4a"}
    assert set(re.findall(r"#[0-9a-f]{6}", email("en").html)) - borders == {c for pair in pairs for c in pair}
    assert min(contrast(*pair) for pair in pairs) >= 4.5


def contrast(ink: str, paper: str) -> float:
    lighter, darker = sorted((luminance(ink), luminance(paper)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
