"""Which email addresses go to the wire, and in which form. Pure: the standard library and ``idna``."""

from __future__ import annotations

import re

import idna

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_DOT_ATOM = rf"{_ATOM}(?:\.{_ATOM})*"
_QUOTED = r'"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])+"'
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DOMAIN = rf"{_LABEL}(?:\.{_LABEL})*"
_ADDRESS = re.compile(rf"(?P<local>{_DOT_ATOM}|{_QUOTED})@(?P<domain>{_DOMAIN})\Z", re.ASCII)
_HOST = re.compile(rf"{_DOMAIN}\Z", re.ASCII)
MAX_DOMAIN_OCTETS = 253


class AddressRefused(ValueError):
    """No mailbox that can be written to. The text gives the rule, never the address."""


def is_envelope_address(address: str) -> bool:
    """Whether ``address`` is one bare ASCII mailbox: RFC 5321 section 4.1.2, sizes of 4.5.3.1.

    A non-ASCII local part would need SMTPUTF8 and is refused; a domain arrives as A-labels.
    Display names, comments, lists, source routes and address literals are refused.
    """
    match = _ADDRESS.match(address)
    return match is not None and len(address) <= 254 and len(match["local"]) <= 64


def wire_address(address: str) -> str:
    """``address`` as it goes into RCPT and To: its domain as A-labels; its own result unchanged.

    Raises :class:`AddressRefused` for what is not one mailbox at a public domain. A local part
    outside ASCII is refused for good: it has no ASCII form (RFC 6532), and SMTPUTF8 would have
    to be spoken by every relay up to the mailbox.
    """
    local, at, domain = address.rpartition("@")
    if not at:
        raise AddressRefused("it has no @")
    if not local.isascii():
        raise AddressRefused("what stands before the @ is not ASCII, which would need SMTPUTF8")
    mailbox = f"{local}@{ascii_domain(domain)}"
    if not is_envelope_address(mailbox):
        raise AddressRefused("it is not one bare mailbox")
    if not _is_public(mailbox.rpartition("@")[2]):
        raise AddressRefused("what stands after the @ is no domain of the public DNS")
    return mailbox


def ascii_domain(domain: str) -> str:
    """``domain`` as A-labels: IDNA 2008 (RFC 5891) after the mapping of UTS 46, not transitional.

    What is ASCII already stays as it is, so that what is stored today means the same tomorrow.
    Raises :class:`AddressRefused` for what is no domain name.
    """
    try:
        encoded = domain if domain.isascii() else _encoded(domain)
    except UnicodeError:
        raise AddressRefused("its domain is no valid internationalised name") from None
    if len(encoded) > MAX_DOMAIN_OCTETS or not _HOST.match(encoded):
        raise AddressRefused("its domain is no host name")
    return encoded


def _encoded(domain: str) -> str:
    # The standard library's codec is IDNA 2003: it would send faß.de to fass.de, a stranger's.
    return idna.encode(domain, uts46=True, std3_rules=True, transitional=False).decode("ascii")


def _is_public(domain: str) -> bool:
    """Two labels or more, and no top-level domain of digits, as in a bare IP address (RFC 3696, 2)."""
    _, dot, top = domain.rpartition(".")
    return bool(dot) and not top.isdigit()
