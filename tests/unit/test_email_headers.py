"""Headers with words in them, as another program reads them."""

from __future__ import annotations

import email.policy
from email.header import decode_header, make_header
from email.parser import BytesParser
from email.utils import parseaddr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifications.email.headers import from_header, subject_header

# Printable text without the white space at its ends that no template leaves.
WORDS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=30)
SUBJECTS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


def read(header: str) -> str:
    name = header.partition(":")[0]
    return str(BytesParser(policy=email.policy.SMTP).parsebytes(header.encode("ascii"))[name])


@pytest.mark.parametrize(
    "subject",
    [
        "Reset your Marketplace password",
        "Marketplace: επαναφορά κωδικού πρόσβασης",
        "【Marketplace】パスワード再設定のご案内",
        "إعادة تعيين كلمة المرور لحسابك في Marketplace",
        "Marketplace: ustaw nowe hasło",
        "=?utf-8?q?not_encoded?= but plain",
        "a word " * 20 + "more",
    ],
)
def test_a_subject_is_read_back_as_it_was_written(subject: str) -> None:
    assert read(subject_header(subject)) == subject


def test_a_plain_subject_stays_plain() -> None:
    assert subject_header("Reset it") == "Subject: Reset it\r\n"


@given(SUBJECTS)
def test_every_line_is_short_and_every_word_stands_apart(subject: str) -> None:
    lines = subject_header(subject).removesuffix("\r\n").split("\r\n")
    if not subject.isascii():
        # RFC 2047, section 2 and section 5 (1).
        assert all(len(line) <= 76 for line in lines)
        assert all(line.count("=?utf-8?") == 1 for line in lines)
    assert all(line.startswith(" ") for line in lines[1:])


@given(SUBJECTS.filter(lambda subject: not subject.isascii()))
def test_any_subject_survives_its_encoding(subject: str) -> None:
    assert read(subject_header(subject)) == subject


@pytest.mark.parametrize(
    "name",
    [
        "Shop",
        "Shop, Inc.",
        "Café",
        "=?utf-8?q?not_encoded?=",
        "Ελληνικό Κατάστημα Βιβλίων και Δίσκων της Αθήνας και του Πειραιά",
        "株式会社マーケットプレイス・カスタマーサポートセンター東京本社",
    ],
)
def test_a_shop_name_and_its_address_are_read_back_as_they_were_written(name: str) -> None:
    header = from_header(name, "no-reply@shop.example")
    phrase, mailbox = parseaddr(header.removeprefix("From: ").replace("\r\n", ""))
    # Not by the header classes: on 3.11 they put a space between the words of one name.
    assert (str(make_header(decode_header(phrase))), mailbox) == (name, "no-reply@shop.example")


@given(SUBJECTS.filter(lambda name: not name.isascii()))
def test_a_line_of_a_mailbox_header_is_short_and_begins_with_a_space(name: str) -> None:
    lines = from_header(name, "no-reply@shop.example").removesuffix("\r\n").split("\r\n")
    assert all(len(line) <= 76 for line in lines)
    assert all(line.startswith(" ") for line in lines[1:])
