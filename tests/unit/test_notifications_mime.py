"""An email's bytes."""

from __future__ import annotations

import datetime as dt
import email
import email.policy
from email.message import EmailMessage as ParsedMessage

import pytest

from notifications.email.addresses import is_envelope_address
from notifications.email.mime import build_mime, parse_sender
from notifications.email.transaction import stuff_dots
from notifications.exceptions import InvalidMessage
from notifications.message import EmailMessage
from notifications.outcome import Reason
from tests.wire.samples import MESSAGE_ID, NOW, an_email

NAIVE = NOW.replace(tzinfo=None)
SENDER = parse_sender("Shop <no-reply@shop.example>")

TEXTS = [
    "plain words\n",
    "",
    "no newline at the end",
    "one é\n",
    "ключ для входа\n" * 5,
    "パスワード\n",
    "= equals = signs =3D\n",
    "trailing blanks   \n\tand tabs\t\n",
    "long " * 400 + "\n",
    "x" * 2000 + "\n",
    "é" * 700 + "\n",
    "From the start\n.dot\n..dots\n",
]


def parsed(message: EmailMessage) -> ParsedMessage:
    return email.message_from_bytes(build_mime(message, SENDER), policy=email.policy.default)


def part(message: ParsedMessage, subtype: str) -> str:
    body = message.get_body((subtype,))
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("From", "Shop <no-reply@shop.example>"),
        ("To", "marked.person@example.com"),
        ("Subject", "Reset your Marketplace password"),
        ("Date", "Sun, 29 Nov 2026 12:00:00 +0000"),
        ("Message-ID", MESSAGE_ID),
        ("Expires", "Sun, 29 Nov 2026 12:09:00 +0000"),
        ("Auto-Submitted", "auto-generated"),
        ("X-Auto-Response-Suppress", "All"),
        ("MIME-Version", "1.0"),
    ],
)
def test_each_header_is_there_once(name: str, value: str) -> None:
    assert parsed(an_email()).get_all(name) == [value]


def test_the_parser_finds_no_defect() -> None:
    message = parsed(an_email(text="\n".join(TEXTS)))
    assert [piece.defects for piece in message.walk()] == [[], [], []]


def test_the_text_comes_before_the_html() -> None:
    assert [piece.get_content_type() for piece in parsed(an_email()).walk()] == [
        "multipart/alternative",
        "text/plain",
        "text/html",
    ]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_comes_back_as_it_went(text: str) -> None:
    message = parsed(an_email(text=text, html=f"<p>{text}</p>\n"))
    assert part(message, "plain") == text
    assert part(message, "html") == f"<p>{text}</p>\n"


@pytest.mark.parametrize("text", TEXTS)
def test_the_bytes_are_clean_for_every_relay(text: str) -> None:
    wire = build_mime(an_email(text=text, html=text, subject="Сбросить пароль " * 8), SENDER)
    assert wire.isascii()
    assert wire.count(b"\n") == wire.count(b"\r\n") == wire.count(b"\r")
    assert max(map(len, wire.split(b"\r\n"))) <= 998


def test_a_link_stays_whole_in_the_source_of_an_ascii_message() -> None:
    link = "https://shop.example/reset/" + "a" * 200 + "/"
    assert link.encode() in build_mime(an_email(text=f"{link}\n"), SENDER)


@pytest.mark.parametrize(
    "subject", ["Сбросить пароль", "パスワードを" * 20, "é " * 60, "word " * 30, "x" * 200]
)
def test_a_subject_in_any_script_comes_back(subject: str) -> None:
    assert parsed(an_email(subject=subject))["Subject"].strip() == subject.strip()


def test_the_same_message_gives_the_same_bytes() -> None:
    assert build_mime(an_email(), SENDER) == build_mime(an_email(), SENDER)


def test_a_date_in_another_zone_is_written_in_utc() -> None:
    new_york = dt.timezone(dt.timedelta(hours=-5))
    date = dt.datetime(2026, 11, 29, 7, 0, 0, 999_999, tzinfo=new_york)
    assert parsed(an_email(date=date))["Date"] == "Sun, 29 Nov 2026 12:00:00 +0000"


@pytest.mark.parametrize(
    "poison", ["\r\nBcc: b@example.com", "\nBcc: b", "\rBcc: b", "\0", "\x1b", "\u2028", "\x85"]
)
@pytest.mark.parametrize("field", ["to", "subject", "message_id", "boundary"])
@pytest.mark.parametrize("form", ["{value}{poison}", "{poison}{value}"])
def test_nothing_can_be_injected_into_a_header(poison: str, field: str, form: str) -> None:
    value = form.format(value=getattr(an_email(), field), poison=poison)
    with pytest.raises(InvalidMessage):
        build_mime(an_email(**{field: value}), SENDER)


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": ""},
        {"subject": "   "},
        {"subject": "x" * 201},
        {"subject": "half a pair \ud83d"},
        {"message_id": "no-brackets@example.com"},
        {"message_id": "<no-domain>"},
        {"message_id": "<" + "a" * 200 + "@example.com>"},
        {"boundary": ""},
        {"boundary": "b" * 71},
        {"boundary": 'a"b'},
        {"boundary": "appears", "text": "a line\n--appears\nanother"},
        {"text": "bell \a"},
        {"text": "half a pair \ud83d"},
        {"html": "<p>\r</p>"},
        {"date": NAIVE},
        {"expires_at": NAIVE},
    ],
)
def test_an_unsound_message_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidMessage) as caught:
        build_mime(an_email(**changes), SENDER)
    assert caught.value.reason is Reason.INVALID_MESSAGE


@pytest.mark.parametrize(
    "address",
    [
        "a@example.com",
        "a.b+c@example.com",
        "o'neil@example.com",
        '"a b"@example.com',
        r'"a\"b"@example.com',
        "a@localhost",
        "a@xn--fa-hia.de",
        "a" * 64 + "@example.com",
    ],
)
def test_an_ascii_mailbox_may_go_to_the_wire(address: str) -> None:
    assert is_envelope_address(address)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "a",
        "@example.com",
        "a@",
        "a@@example.com",
        "a b@example.com",
        ".a@example.com",
        "a.@example.com",
        "a..b@example.com",
        "müller@example.com",
        "a@müller.example",
        "a\u0131@example.com",
        "a@example.com\n",
        "a@example.com\r\nRCPT TO:<b@example.com>",
        "a@example.com> SIZE=1",
        "a@x.example, b@y.example",
        "a@example.com <b@evil.example>",
        "a@example.com(b@evil.example)",
        "Ann <a@example.com>",
        "@relay.example:a@example.com",
        "a@[127.0.0.1]",
        "a@-x.example",
        "a@x-.example",
        "a@example..com",
        '"a"b"@example.com',
        '"a\nb"@example.com',
        "a" * 65 + "@example.com",
        "a@" + ".".join(["x" * 60] * 5) + ".example",
    ],
)
def test_anything_else_is_an_invalid_destination(address: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        build_mime(an_email(to=address), SENDER)
    assert caught.value.reason is Reason.INVALID_DESTINATION


def test_the_refusal_of_an_address_does_not_quote_it() -> None:
    with pytest.raises(InvalidMessage) as caught:
        build_mime(an_email(to="marked.person@[127.0.0.1]"), SENDER)
    assert "marked" not in str(caught.value)


@pytest.mark.parametrize(
    ("from_address", "mailbox", "header"),
    [
        ("no-reply@shop.example", "no-reply@shop.example", "From: no-reply@shop.example\r\n"),
        ("Shop <no-reply@shop.example>", "no-reply@shop.example", "From: Shop <no-reply@shop.example>\r\n"),
        ('"Shop, Inc." <a@shop.example>', "a@shop.example", 'From: "Shop, Inc." <a@shop.example>\r\n'),
        ("Café <a@shop.example>", "a@shop.example", "From: =?utf-8?b?Q2Fmw6k=?= <a@shop.example>\r\n"),
    ],
)
def test_a_sender_is_one_mailbox_with_or_without_a_name(from_address: str, mailbox: str, header: str) -> None:
    sender = parse_sender(from_address)
    assert (sender.address, sender.header) == (mailbox, header)


@pytest.mark.parametrize(
    "from_address",
    [
        "",
        "Shop",
        "a@x.example, b@y.example",
        "Shop, Inc <a@x.example>",
        "a@x.example\r\nBcc: b",
        "ü@x.example",
    ],
)
def test_a_sender_that_is_not_one_mailbox_is_refused(from_address: str) -> None:
    with pytest.raises(ValueError, match=r"mailbox|control"):
        parse_sender(from_address)


@pytest.mark.parametrize(
    ("message", "stuffed"),
    [
        (b"a\r\n", b"a\r\n"),
        (b"a", b"a\r\n"),
        (b".\r\n", b"..\r\n"),
        (b"..\r\na.b\r\n.c\r\n", b"...\r\na.b\r\n..c\r\n"),
    ],
)
def test_leading_dots_are_doubled_and_the_end_is_a_line_end(message: bytes, stuffed: bytes) -> None:
    assert stuff_dots(message) == stuffed
