"""Templates to messages."""

from __future__ import annotations

import datetime as dt

import pytest

from notifications import skeletons
from notifications.exceptions import InvalidMessage
from notifications.message import EmailMessage, ResetContent, SmsMessage
from notifications.rendering import Brand, render_email, render_sms
from tests.wire.samples import LINK, NOW

BRAND = Brand(name="Marketplace", support="support@shop.example")


def content(link: str = LINK, remaining: dt.timedelta = dt.timedelta(minutes=9)) -> ResetContent:
    return ResetContent(link=link, expires_at=NOW + remaining, remaining=remaining)


def email(
    reset: ResetContent | None = None, version: str = "1", locale: str = "en", brand: Brand = BRAND
) -> EmailMessage:
    return render_email(
        to="ann@example.com",
        content=reset or content(),
        version=version,
        locale=locale,
        brand=brand,
        message_id="<id@shop.example>",
        date=NOW,
        boundary="b",
    )


def sms(
    reset: ResetContent | None = None, version: str = "1", locale: str = "en", brand: Brand = BRAND
) -> SmsMessage:
    return render_sms(
        to="+447911123456",
        content=reset or content(),
        version=version,
        locale=locale,
        brand=brand,
        reference="r",
    )


@pytest.mark.parametrize("text", [email().text, sms().text])
def test_the_link_is_alone_on_its_line(text: str) -> None:
    assert LINK in text.splitlines()


def test_the_html_links_to_the_link_and_shows_it() -> None:
    assert email().html.count(f'href="{LINK}"') == 2
    assert f">{LINK}</a>" in email().html


def test_the_html_says_its_language_where_clients_keep_it() -> None:
    assert email().html.count('lang="en" dir="ltr"') == 2


@pytest.mark.parametrize("text", [email().text, email().html, sms().text])
def test_the_lifetime_is_a_duration(text: str) -> None:
    assert "orks for 9 minutes" in text


def test_the_subject_is_one_line_and_names_the_brand() -> None:
    assert email().subject == "Reset your Marketplace password"


def test_no_template_mark_is_left_over() -> None:
    message = email()
    for text in (message.subject, message.text, message.html, sms().text):
        assert "goes-here" not in text
        assert "{" not in text.partition("<style")[0]


def test_an_english_sms_fits_one_segment_of_ascii() -> None:
    link = "https://m.example.test/r/" + "x" * 50
    text = sms(content(link, dt.timedelta(hours=9, minutes=59))).text
    assert len(link) == 75
    assert text.isascii()
    assert len(text) <= 160


def test_values_are_escaped_in_html_and_left_alone_in_text() -> None:
    message = email(brand=Brand(name="Tom & <b>'s", support="x"))
    assert "Tom &amp; &lt;b&gt;&#x27;s" in message.html
    assert "Tom & <b>'s" in message.text
    assert message.subject == "Reset your Tom & <b>'s password"


def test_the_same_arguments_give_the_same_message() -> None:
    assert email() == email()


def test_each_message_has_its_own_link_though_the_skeleton_is_shared() -> None:
    other = LINK.replace("MTIz", "OTg3")
    assert LINK in email(content(LINK)).text
    assert LINK not in email(content(other)).text


@pytest.mark.parametrize(
    "link",
    [
        "",
        "/reset/relative/",
        "ftp://shop.example/",
        "javascript:alert(1)",
        "https://shop.example/a b",
        "https://shop.example/a\nBcc: b",
        "https://shop.example/\r\n",
        'https://shop.example/"onclick=x',
        "https://shop.example/'x",
        "https://shop.example/<b>",
        "https://shop.example/?a=1&b=2",
        "https://user@shop.example/",
        "https://shop.exämple/",
        "https://shop.example/" + "a" * 900,
    ],
)
def test_a_link_that_could_break_out_of_its_place_is_refused(link: str) -> None:
    with pytest.raises(InvalidMessage):
        email(content(link))


@pytest.mark.parametrize(
    "link",
    ["http://127.0.0.1:8000/reset/x/", "http://[::1]:8000/x", "https://shop.example/r/Mg/x-1_a~/?n=%20#top"],
)
def test_a_link_to_this_machine_or_with_a_query_is_fine(link: str) -> None:
    assert link in email(content(link)).text


def test_a_locale_without_templates_is_served_in_english() -> None:
    assert email(locale="zz") == email()


@pytest.mark.parametrize("version", ["2", "", "..", "1/en", "1\n", "./1", "1/en/.."])
def test_a_version_that_does_not_exist_is_an_invalid_message(version: str) -> None:
    with pytest.raises(InvalidMessage):
        email(version=version)
    with pytest.raises(InvalidMessage):
        sms(version=version)


def test_a_subject_of_two_lines_is_an_invalid_message() -> None:
    with pytest.raises(InvalidMessage):
        email(brand=Brand(name="two\nlines", support="x"))


def test_a_second_message_renders_no_template(monkeypatch: pytest.MonkeyPatch) -> None:
    first = email()

    def fail(name: str) -> None:
        raise AssertionError(name)

    monkeypatch.setattr(skeletons, "get_template", fail)
    assert email() == first
