"""The security notice: its shipped texts, and what its lint is there to find."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import notifications
from notifications.channels import Channel
from notifications.exceptions import InvalidMessage
from notifications.lint import lint_locale
from notifications.message import EmailMessage, MessageKind, NoticeContent
from notifications.rendering import Brand, render_email, render_sms
from notifications.sms.segmentation import Encoding, segment
from tests.unit.test_templates_lint import WORST, override, problems, put
from tests.unit.test_templates_texts import LOCALES, read_back
from tests.wire.samples import NOW

BRAND = Brand(name="Marketplace", support="support@shop.example")
NAMELESS = Brand(name="Marketplace", support="")
SHIPPED = Path(notifications.__file__).parent / "templates/notifications/security_notice"


def email(locale: str, *, brand: Brand = BRAND, version: str = "1") -> EmailMessage:
    return render_email(
        to="ann@example.com",
        content=NoticeContent(expires_at=NOW),
        version=version,
        locale=locale,
        brand=brand,
        message_id="<id@shop.example>",
        date=NOW,
        boundary="b",
    )


def sms(locale: str, *, brand: Brand = BRAND) -> str:
    return render_sms(
        to="+447911123456",
        content=NoticeContent(expires_at=NOW),
        version="1",
        locale=locale,
        brand=brand,
        reference="r",
    ).text


@pytest.mark.parametrize("brand", [BRAND, NAMELESS], ids=["support", "no support"])
@pytest.mark.parametrize("locale", LOCALES)
def test_a_notice_holds_no_link_and_nothing_to_fill_in(locale: str, brand: Brand) -> None:
    message = email(locale, brand=brand)
    for text in (message.subject, message.text, message.html, sms(locale, brand=brand)):
        assert not any(mark in text for mark in ("http", "href", "goes-here", "{{", "{%"))


@pytest.mark.parametrize("locale", LOCALES)
def test_a_notice_says_where_to_turn(locale: str) -> None:
    message = email(locale)
    assert all("support@shop.example" in text for text in (message.text, message.html, sms(locale)))


@pytest.mark.parametrize("locale", LOCALES)
def test_a_notice_is_in_the_language_that_was_asked_for(locale: str) -> None:
    assert f'<html lang="{locale}"' in email(locale).html
    assert len({email(other).text for other in LOCALES} | {sms(other) for other in LOCALES}) == 2 * len(
        LOCALES
    )


@pytest.mark.parametrize("brand", [BRAND, NAMELESS], ids=["support", "no support"])
@pytest.mark.parametrize(
    ("locale", "encoding"),
    [
        *((locale, Encoding.GSM7) for locale in ("de", "en", "es", "fr", "pt-BR")),
        *((locale, Encoding.UCS2) for locale in ("ar", "el", "ja", "pl", "tr")),
    ],
)
def test_an_sms_takes_one_segment_in_every_script(locale: str, encoding: Encoding, brand: Brand) -> None:
    cost = segment(sms(locale, brand=brand))
    assert (cost.encoding, cost.segments) == (encoding, 1)


@pytest.mark.parametrize("locale", LOCALES)
def test_a_notice_is_read_from_its_bytes_as_it_was_written(locale: str) -> None:
    message = email(locale)
    assert read_back(message) == (message.subject, message.text, message.html)


def test_a_brand_is_escaped_in_html_and_left_alone_in_text() -> None:
    message = email("en", brand=Brand(name="Tom & <b>'s", support="a&b"))
    assert "Tom &amp; &lt;b&gt;&#x27;s" in message.html
    assert "<bdi>a&amp;b</bdi>" in message.html
    assert message.subject == "Your Tom & <b>'s password was changed"


def test_a_version_without_templates_is_an_invalid_message() -> None:
    with pytest.raises(InvalidMessage):
        email("en", version="2")


# The lint.


@pytest.fixture
def folder(settings: Any, tmp_path: Path) -> Path:
    """The project's own templates."""
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]
    return tmp_path / "notifications/security_notice"


Change = Callable[[str, str, str], list[str]]


@pytest.fixture
def change(folder: Path) -> Change:
    """Overrides a shipped English file with one in which something is replaced; what is found then."""

    def run(file: str, old: str, new: str) -> list[str]:
        override(folder, SHIPPED, f"1/en/{file}", old, new)
        return problems(lint_locale("1", "en", WORST, kind=MessageKind.SECURITY_NOTICE))

    return run


@pytest.mark.parametrize(
    ("file", "old", "new", "found"),
    [
        ("subject.txt", "was changed", "was changed {{ lifetime }}", "a notice has neither"),
        ("subject.txt", "was changed", "was\nchanged", "has more than one line"),
        ("body.txt", "If that", "{{ link }}\nIf that", "a notice has neither"),
        ("body.txt", "If that", "Within {{ lifetime }}\nIf that", "a notice has neither"),
        ("body.txt", "If that", "https://shop.example/account/\nIf that", "a notice has no link"),
        ("body.txt", "If that", "i" * 76 + "\nIf that", "columns wide: break it"),
        ("body.html", "If that", "<a href='https://shop.example/'>x</a>If that", "in a notice no link"),
        ("body.html", "If that", "https://shop.example/ If that", "a notice has no link"),
        ("body.html", "If that", "<img src='x'>If that", "has <img>"),
        ("sms.txt", "{{ brand.name }}: your", "Your", "does not begin with {{ brand.name }}"),
        ("sms.txt", "Not you", "https://shop.example/ Not you", "a notice has no link"),
        ("sms.txt", "Not you", "n" * 500, "takes 4 segments"),
    ],
)
def test_what_a_notice_must_not_hold_is_found(
    change: Change, file: str, old: str, new: str, found: str
) -> None:
    assert any(found in problem for problem in change(file, old, new))


@pytest.mark.parametrize(("file", "mark"), [("body.txt", "{{ link }}"), ("sms.txt", "{{ lifetime }}")])
def test_a_notice_with_a_place_for_a_link_or_a_lifetime_is_not_sent(
    folder: Path, file: str, mark: str
) -> None:
    put(folder, f"1/en/{file}", f"{{{{ brand.name }}}} {mark}")
    render: Callable[[str], object] = sms if file == "sms.txt" else email
    with pytest.raises(InvalidMessage):
        render("en")


def test_a_support_page_may_be_named() -> None:
    brand = Brand(name="Marketplace", support="https://help.example/")
    worst = dataclasses.replace(WORST, brand=brand, lifetimes={Channel.EMAIL: dt.timedelta(hours=1)})
    assert lint_locale("1", "en", worst, kind=MessageKind.SECURITY_NOTICE).findings == ()


def test_a_language_without_duration_words_may_have_a_notice(folder: Path) -> None:
    put(folder, "1/nl/sms.txt", "{% autoescape off %}{{ brand.name }}: gewijzigd{% endautoescape %}")
    assert lint_locale("1", "nl", WORST, kind=MessageKind.SECURITY_NOTICE).findings == ()
