"""Addresses on their way to the wire."""

from __future__ import annotations

import pytest

from notifications.email.addresses import AddressRefused, ascii_domain, wire_address
from notifications.email.mime import parse_sender


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("a@example.com", "a@example.com"),
        ("A.B+c@Example.COM", "A.B+c@Example.COM"),  # the local part's case is its owner's
        ("o'neil@example.com", "o'neil@example.com"),
        ('"a b"@example.com', '"a b"@example.com'),
        ('"a@b"@example.com', '"a@b"@example.com'),
        ("a@faß.de", "a@xn--fa-hia.de"),  # IDNA 2003 says fass.de, which is somebody else's
        ("a@xn--fa-hia.de", "a@xn--fa-hia.de"),
        ("a@βόλος.com", "a@xn--nxasmm1c.com"),  # with the final sigma that IDNA 2003 loses
        ("a@βόλοσ.com", "a@xn--nxasmq6b.com"),
        ("a@MÜLLER.example", "a@xn--mller-kva.example"),
        ("a@mu\u0308ller.example", "a@xn--mller-kva.example"),  # decomposed
        ("a@パスワード.jp", "a@xn--zck6aw5jtc.jp"),
        ("a@例え。jp", "a@xn--r8jz45g.jp"),  # an ideographic full stop
        ("a@\u212aelvin.example", "a@kelvin.example"),  # the Kelvin sign is a k, as a browser reads it
        ("a@\u017fhop.example", "a@shop.example"),  # and a long s is an s
        ("a@d\u0131l.example", "a@xn--dl-hpa.example"),  # a dotless i is a letter of its own
        ("a@\uff45xample.com", "a@example.com"),  # full width
    ],
)
def test_a_domain_goes_out_as_idna_2008_has_it(address: str, expected: str) -> None:
    assert wire_address(address) == expected


@pytest.mark.parametrize("address", ["a@faß.de", "a@βόλος.com", "a@example.com", "a@例え。jp"])
def test_what_came_out_once_comes_out_the_same_again(address: str) -> None:
    assert wire_address(wire_address(address)) == wire_address(address)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("", "no @"),
        ("nobody", "no @"),
        ("müller@example.com", "SMTPUTF8"),
        ("m\u0131key@example.com", "SMTPUTF8"),  # dotless i
        ("mi\u212aey@example.com", "SMTPUTF8"),  # Kelvin sign
        ("mi\u017fs@example.com", "SMTPUTF8"),  # long s
        ("\u0130@example.com", "SMTPUTF8"),
        ("=?utf-8?q?m=C3=BCller?=@müller@example.com", "SMTPUTF8"),
        ("a@example.com\n", "host name"),
        ("a@example.com\r\nRCPT TO:<b@evil.example>", "host name"),
        ("a\r\nb@example.com", "one bare mailbox"),
        ("a@müller.example\n", "internationalised"),
        ("a@müller.example\r\nBcc: b@evil.example", "SMTPUTF8"),
        ("a@example.com <b@evil.example>", "host name"),
        ("a@x.example, b@y.example", "one bare mailbox"),
        ("a@x.example,b@müller.example", "one bare mailbox"),
        ("a@example.com(b@evil.example)", "host name"),
        ("(note)a@example.com", "one bare mailbox"),
        ("Ann <a@example.com>", "host name"),
        ("a@[127.0.0.1]", "host name"),
        ("a@[IPv6:::1]", "host name"),
        ("a@127.0.0.1", "public DNS"),
        ("a@１２７.０.０.１", "public DNS"),
        ("a@localhost", "public DNS"),
        ("a@münchen", "public DNS"),
        ("a@example.com.", "host name"),
        ("a@example..com", "host name"),
        ("a@ex\u200dample.com", "internationalised"),  # a joiner without its reason
        ("a@☃.example", "internationalised"),  # a symbol: IDNA 2003 took it
        ("a@ü\uff20evil.example", "internationalised"),  # full-width @
        ("a@ü\u2024com.example", "internationalised"),  # one dot leader
        ("a@ü_x.example", "internationalised"),
        ("a@" + "ü" * 60 + ".example", "internationalised"),  # a label of more than 63 octets
        ("a@" + ".".join(["ü" * 20] * 12) + ".example", "internationalised"),
        ("a" * 65 + "@example.com", "one bare mailbox"),
        ("@example.com", "one bare mailbox"),
        ("a@", "host name"),
        ("half\ud83d@example.com", "SMTPUTF8"),
        ("a@half\ud83d.example", "internationalised"),
    ],
)
def test_what_is_no_mailbox_is_refused_by_rule(address: str, words: str) -> None:
    with pytest.raises(AddressRefused, match=words):
        wire_address(address)


@pytest.mark.parametrize("address", ["markéd@example.com", "marked@[127.0.0.1]", "marked@exam ple.com"])
def test_a_refusal_does_not_quote_the_address(address: str) -> None:
    with pytest.raises(AddressRefused) as caught:
        wire_address(address)
    assert "mark" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_an_ascii_domain_is_left_alone_even_where_idna_2008_would_refuse_it() -> None:
    """An emoji domain that was registered long ago still gets its mail."""
    assert ascii_domain("xn--ls8h.la") == "xn--ls8h.la"


def test_a_sender_at_an_internationalised_domain_is_written_as_a_labels() -> None:
    sender = parse_sender("Café <shop@faß.de>")
    assert sender.address == "shop@xn--fa-hia.de"
    assert sender.header == "From: =?utf-8?b?Q2Fmw6k=?= <shop@xn--fa-hia.de>\r\n"


def test_a_domain_of_more_than_253_octets_is_none() -> None:
    with pytest.raises(AddressRefused, match="host name"):
        ascii_domain("x." * 124 + "example")
    assert ascii_domain("x." * 123 + "example")
