"""DKIM-Signature header fields."""

from __future__ import annotations

import re

import dkim
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from dkim.util import parse_tag_value

from notifications.email.dkim import SIGNED_FIELDS, Algorithm, Signer
from notifications.email.mime import build_mime, parse_sender
from tests.dkim_samples import ED25519, RSA, SIGNER, TEXTS, verdicts, zone
from tests.wire.samples import an_email

AT = 1_796_000_000
MESSAGE = build_mime(an_email(), parse_sender("Shop <no-reply@shop.example>"))


def tags(signature: bytes) -> dict[bytes, bytes]:
    value = re.sub(rb"\r\n[ \t]", b" ", signature.partition(b":")[2])
    return dict(parse_tag_value(value))


def each_field(signatures: bytes) -> list[bytes]:
    return [field for field in re.split(rb"(?=DKIM-Signature:)", signatures) if field]


def signed(message: bytes = MESSAGE, signer: Signer = SIGNER, at: int = AT) -> list[bytes]:
    return each_field(signer.signature_fields(message, signed_at=at))


def test_each_key_signs_in_its_turn() -> None:
    assert [tags(field)[b"a"] for field in signed()] == [b"rsa-sha256", b"ed25519-sha256"]


@pytest.mark.parametrize("key", [RSA, ED25519])
def test_one_key_alone_signs(key: object) -> None:
    signer = Signer(domain="shop.example", keys=[key])  # type: ignore[list-item]  # one of both
    message = signer.signature_fields(MESSAGE, signed_at=AT) + MESSAGE
    assert dkim.DKIM(message).verify(dnsfunc=zone)


@pytest.mark.parametrize("number", [0, 1])
def test_the_tags_are_those_of_the_policy(number: int) -> None:
    found = tags(signed()[number])
    assert set(found) == {b"v", b"a", b"c", b"d", b"s", b"t", b"h", b"bh", b"b"}  # neither l= nor x=
    assert (found[b"v"], found[b"c"], found[b"d"]) == (b"1", b"relaxed/relaxed", b"shop.example")
    assert found[b"s"] == SIGNER.keys[number].selector.encode()
    assert found[b"t"] == str(AT).encode()


@pytest.mark.parametrize(
    "name",
    [
        "From",
        "To",
        "Subject",
        "Date",
        "Message-ID",
        "Reply-To",
        "MIME-Version",
        "Content-Type",
        "Auto-Submitted",
    ],
)
def test_what_may_not_be_added_is_signed_twice(name: str) -> None:
    listed = re.split(rb"\s*:\s*", tags(signed()[0])[b"h"])
    assert listed.count(name.encode()) == 2


@pytest.mark.parametrize(
    "name", ["Return-Path", "Received", "Bcc", "DKIM-Signature", "List-Unsubscribe", "Cc"]
)
def test_what_a_relay_adds_is_not_signed(name: str) -> None:
    assert name not in SIGNED_FIELDS


def test_a_transfer_encoding_of_the_whole_is_signed_once_as_there_is_none() -> None:
    assert SIGNED_FIELDS.count("Content-Transfer-Encoding") == 1


def test_the_fields_are_ascii_lines_of_their_usual_length() -> None:
    fields = SIGNER.signature_fields(MESSAGE, signed_at=AT)
    assert fields.isascii()
    assert fields.count(b"\n") == fields.count(b"\r\n") == fields.count(b"\r")
    assert max(map(len, fields.split(b"\r\n"))) <= 78


def test_the_body_hash_is_the_same_on_each_try() -> None:
    first, second = tags(signed()[0]), tags(signed(at=AT + 60)[0])
    assert first[b"t"] != second[b"t"]
    assert first[b"bh"] == second[b"bh"] == tags(signed()[1])[b"bh"]


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_verifies_under_both_signatures(text: str) -> None:
    message = build_mime(an_email(text=text, html=text), parse_sender("Café <no-reply@shop.example>"))
    assert verdicts(SIGNER.signature_fields(message, signed_at=AT) + message) == [True, True]


def test_signing_unix_lines_gives_the_signature_of_their_wire_form() -> None:
    """What is hashed is the canonical form, so it does not matter who turns LF into CRLF."""
    assert b"".join(signed(MESSAGE.replace(b"\r\n", b"\n"))) == b"".join(signed())


def test_a_key_knows_its_algorithm() -> None:
    assert (RSA.algorithm, ED25519.algorithm) == (Algorithm.RSA, Algorithm.ED25519)
    assert isinstance(RSA.private, RSAPrivateKey)


def test_no_private_key_is_in_a_repr() -> None:
    assert repr(SIGNER) == (
        "Signer(domain='shop.example', keys=(SigningKey(selector='2026a-rsa'), "
        "SigningKey(selector='2026a-ed')))"
    )
