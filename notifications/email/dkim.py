"""DKIM signatures over the final bytes of a message: RFC 6376, with Ed25519 of RFC 8463.

The canonicalisation is dkimpy's; the arithmetic is OpenSSL's, which signs by RSA some ten times
faster than dkimpy does. Needs the extra ``resetdelivery[dkim]``.
"""

from __future__ import annotations

import base64
import enum
import hashlib
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

import dkim
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from dkim.canonicalization import Relaxed

#: Signed once more often than they occur, so that a second one breaks the signature.
OVERSIGNED = (
    "From",
    "To",
    "Subject",
    "Date",
    "Message-ID",
    "Reply-To",
    "MIME-Version",
    "Content-Type",
    "Auto-Submitted",
)
#: What a relay may add or change (Received, Return-Path, List-*) stays out. A multipart message
#: has no Content-Transfer-Encoding of its own; signed once, none can be given to it.
SIGNED_FIELDS = (*OVERSIGNED, *OVERSIGNED, "Content-Transfer-Encoding")

_FIELD_NAMES = [name.lower().encode("ascii") for name in SIGNED_FIELDS]
_LINE_CHARACTERS = 74
_FOLD = "\r\n "
_PREHASHED = Prehashed(SHA256())


class Algorithm(enum.StrEnum):
    """The two that are safe to use (RFC 8301, RFC 8463)."""

    RSA = "rsa"
    ED25519 = "ed25519"

    @property
    def tag(self) -> str:
        """The value of ``a=``."""
        return f"{self.value}-sha256"


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A private key, and the selector under which its public half is published."""

    selector: str
    private: RSAPrivateKey | Ed25519PrivateKey = field(repr=False)

    @property
    def algorithm(self) -> Algorithm:
        """What ``private`` signs by."""
        return Algorithm.RSA if isinstance(self.private, RSAPrivateKey) else Algorithm.ED25519

    def sign(self, digest: bytes) -> bytes:
        """The signature of a SHA-256 digest: PKCS #1 v1.5, or PureEdDSA of the digest itself."""
        if isinstance(self.private, RSAPrivateKey):
            return self.private.sign(digest, PKCS1v15(), _PREHASHED)
        return self.private.sign(digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Signs for ``domain`` (A-labels) by each of ``keys``; safe between threads."""

    domain: str
    keys: Sequence[SigningKey]

    def signature_fields(self, message: bytes, *, signed_at: int) -> bytes:
        """The DKIM-Signature header fields to put before ``message``, one for each key, in order.

        ``message`` has CRLF line ends and goes over the wire as it is. ``signed_at`` is in seconds
        since 1970.
        """
        headers, body = dkim.rfc822_parse(message)
        canonical = Relaxed.canonicalize_headers(headers)
        signed = b"".join(b"%s:%s" % pair for pair in dkim.select_headers(canonical, _FIELD_NAMES))
        body_hash = _base64(hashlib.sha256(Relaxed.canonicalize_body(body)).digest())
        return b"".join(self._field(key, signed, body_hash, signed_at) for key in self.keys)

    def _field(self, key: SigningKey, signed: bytes, body_hash: str, signed_at: int) -> bytes:
        value = _FOLD.join(
            (
                f" v=1; a={key.algorithm.tag}; c=relaxed/relaxed; d={self.domain};",
                f"s={key.selector}; t={signed_at};",
                f"h={_folded(':'.join(SIGNED_FIELDS), after=':')};",
                f"bh={body_hash};",
                "b=",
            )
        )
        ((name, canonical),) = Relaxed.canonicalize_headers([(b"DKIM-Signature", value.encode("ascii"))])
        # RFC 6376 section 3.7: the field itself comes last, with an empty b= and without its CRLF.
        digest = hashlib.sha256(signed + name + b":" + canonical.rstrip()).digest()
        return f"DKIM-Signature:{value}{_folded(_base64(key.sign(digest)))}\r\n".encode("ascii")


def _base64(octets: bytes) -> str:
    return base64.b64encode(octets).decode("ascii")


def _folded(text: str, after: str = "") -> str:
    """``text`` in lines, broken behind ``after`` or anywhere: both are white space to a verifier."""
    if not after:
        return _FOLD.join(textwrap.wrap(text, _LINE_CHARACTERS))
    words = text.replace(after, f"{after} ")
    lines = textwrap.wrap(words, _LINE_CHARACTERS, break_on_hyphens=False)
    return _FOLD.join(line.replace(f"{after} ", after) for line in lines)
