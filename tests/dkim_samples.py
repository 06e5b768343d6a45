"""Keys made for one test run, a zone that publishes them, and what a receiver says."""

from __future__ import annotations

import functools

import dkim
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from notifications.email.dkim import Signer, SigningKey
from notifications.email.dkim_records import record_name, record_text

DOMAIN = "shop.example"

#: Bodies of every transfer encoding, and those that canonicalisation is about.
TEXTS = [
    "plain words\n",
    "",
    "no newline at the end",
    "one é\n",
    "ключ для входа\n" * 5,
    "パスワード\n" * 9,
    "trailing blanks   \n\tand   tabs\t\n\n\n\n",
    "x" * 2000 + "\n",
    ".dot\n..dots\n.\n",
    "From the start\n",
]


@functools.cache
def rsa_key(bits: int) -> RSAPrivateKey:
    return generate_private_key(public_exponent=65537, key_size=bits)


def pem(key: RSAPrivateKey | Ed25519PrivateKey, form: PrivateFormat = PrivateFormat.PKCS8) -> str:
    return key.private_bytes(Encoding.PEM, form, NoEncryption()).decode("ascii")


RSA = SigningKey(selector="2026a-rsa", private=rsa_key(2048))
ED25519 = SigningKey(selector="2026a-ed", private=Ed25519PrivateKey.generate())
SIGNER = Signer(domain=DOMAIN, keys=(RSA, ED25519))
_PUBLISHED = {record_name(key.selector, DOMAIN): record_text(key) for key in SIGNER.keys}


def zone(name: bytes, timeout: int = 5) -> bytes | None:
    """The DNS, as dkimpy asks for it."""
    record = _PUBLISHED.get(name.decode("ascii").rstrip("."))
    return None if record is None else record.encode("ascii")


def verdicts(message: bytes) -> list[bool]:
    """What dkimpy says of the first and of the second signature; an exception is a no."""
    return [_verify(message, number) for number in (0, 1)]


def _verify(message: bytes, number: int) -> bool:
    try:
        return bool(dkim.DKIM(message).verify(idx=number, dnsfunc=zone))
    except dkim.ValidationError:
        return False
