"""Published DKIM keys: the TXT record of RFC 6376 section 3.6.1, and whether it is that of a key."""

from __future__ import annotations

import base64
import binascii
import re

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from notifications.email.dkim import Algorithm, SigningKey

_QUOTED = re.compile(r'"([^"]*)"')
_OWNER = re.compile(r"^\s*([A-Za-z0-9.-]+)\._domainkey\b", re.ASCII)


def record_name(selector: str, domain: str) -> str:
    """Where the key of ``selector`` is published."""
    return f"{selector}._domainkey.{domain}"


def record_text(key: SigningKey) -> str:
    """What to publish for ``key``, as one string (a DNS server cuts it into strings of 255)."""
    return f"v=DKIM1; k={key.algorithm.value}; p={base64.b64encode(_public_forms(key)[0]).decode('ascii')}"


def read_record(text: str) -> tuple[str, str]:
    """The selector that ``text`` itself names (``""`` if none) and the record's value.

    ``text`` is the bare value or a zone-file entry, as key makers write them:
    ``2026a._domainkey IN TXT ( "v=DKIM1; k=rsa; " "p=MII..." )``.
    """
    owner = _OWNER.match(text)
    strings = _QUOTED.findall(text)
    return (owner[1] if owner else "", "".join(strings) if strings else text.strip())


def record_problem(record: str, key: SigningKey) -> str:
    """Why ``record`` does not vouch for what ``key`` signs, as a phrase; ``""`` where it does."""
    tags = _tags(record)
    if tags is None or tags.get("v", "DKIM1") != "DKIM1":
        return "it is no DKIM key record"
    if tags.get("k", Algorithm.RSA) != key.algorithm:
        return f"it is for k={tags.get('k', Algorithm.RSA)}, and the key is {key.algorithm.value}"
    if "sha256" not in _listed(tags.get("h", "sha256")):
        return "its h= does not allow sha256"
    if not {"*", "email"} & _listed(tags.get("s", "*")):
        return "its s= does not allow email"
    if not tags.get("p"):
        return "its p= is empty: the key is revoked"
    if _decoded(tags["p"]) not in _public_forms(key):
        return "its p= is another key"
    return ""


def _tags(record: str) -> dict[str, str] | None:
    pairs = [part.partition("=") for part in record.split(";") if part.strip()]
    if not pairs or not all(equals for _, equals, _ in pairs):
        return None
    return {name.strip(): "".join(value.split()) for name, _, value in pairs}


def _listed(value: str) -> set[str]:
    return set(value.split(":"))


def _decoded(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (ValueError, binascii.Error):
        return b""


def _public_forms(key: SigningKey) -> tuple[bytes, ...]:
    """The public half in each form that a record may hold, the usual one first."""
    public = key.private.public_key()
    if isinstance(key.private, RSAPrivateKey):
        # The RFC's text says RSAPublicKey (PKCS #1); SubjectPublicKeyInfo is what everybody publishes.
        forms = (PublicFormat.SubjectPublicKeyInfo, PublicFormat.PKCS1)
        return tuple(public.public_bytes(Encoding.DER, form) for form in forms)
    return (public.public_bytes(Encoding.Raw, PublicFormat.Raw),)
