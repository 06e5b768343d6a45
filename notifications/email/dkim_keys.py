"""Private keys for DKIM, from settings or files. Nothing here quotes one."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from notifications.email.dkim import Algorithm, SigningKey
from notifications.email.dkim_problems import DkimMisconfigured, DkimProblem

#: RFC 8301 section 3.2: signers SHOULD use 2048 bits at least.
MIN_RSA_BITS = 2048

_SELECTOR = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,61}[A-Za-z0-9])?\Z", re.ASCII)
_OPTIONS = ("algorithm", "key", "key_file", "selector")
_KINDS = [str(algorithm) for algorithm in Algorithm]

PrivateKey = RSAPrivateKey | Ed25519PrivateKey


def read_keys(value: object) -> Sequence[SigningKey]:
    """The keys of ``dkim['keys']``, in order. Raises :class:`DkimMisconfigured`."""
    if not isinstance(value, (list, tuple)) or not value:
        hint = "Add one of 'rsa', one of 'ed25519', or both."
        raise DkimMisconfigured(DkimProblem.KEY, "dkim['keys'] names no key", hint)
    keys = [_read_key(options, f"dkim['keys'][{number}]") for number, options in enumerate(value)]
    if len({key.selector.lower() for key in keys}) < len(keys):
        hint = "Publish each key under a selector of its own."
        raise DkimMisconfigured(DkimProblem.OPTION, "dkim['keys'] uses a selector twice", hint)
    for algorithm in Algorithm:
        if sum(key.algorithm is algorithm for key in keys) > 2:
            what = f"dkim['keys'] has more than two keys of {algorithm.value!r}"
            raise DkimMisconfigured(DkimProblem.OPTION, what, "The first signs and the second waits.")
    return keys


def _read_key(options: object, where: str) -> SigningKey:
    if not isinstance(options, Mapping) or not set(options) <= set(_OPTIONS):
        hint = f"Make it a dict with some of {', '.join(map(repr, _OPTIONS))}."
        raise DkimMisconfigured(DkimProblem.OPTION, f"{where} has an unknown form", hint)
    selector = options.get("selector")
    if not isinstance(selector, str) or not _SELECTOR.match(selector) or ".." in selector:
        hint = "Use a name such as '2026a', under which the key is published."
        raise DkimMisconfigured(DkimProblem.OPTION, f"{where}['selector'] is {selector!r}", hint)
    algorithm = options.get("algorithm")
    if algorithm not in _KINDS:
        hint = f"Use one of {', '.join(map(repr, _KINDS))}."
        raise DkimMisconfigured(DkimProblem.ALGORITHM, f"{where}['algorithm'] is {algorithm!r}", hint)
    key = SigningKey(selector=selector, private=_private_key(_material(options, where), where))
    if key.algorithm != algorithm:
        what = f"{where} says {algorithm!r}, but holds a key of {key.algorithm.value!r}"
        raise DkimMisconfigured(DkimProblem.ALGORITHM, what, "Name the algorithm of the key.")
    return key


def _material(options: Mapping[str, Any], where: str) -> bytes:
    """The key as it is written, from wherever it is."""
    text, file = options.get("key"), options.get("key_file")
    if bool(text) == bool(file):
        hint = "Set exactly one of 'key' (the key itself) and 'key_file' (a file that holds it)."
        raise DkimMisconfigured(DkimProblem.KEY, f"{where} has {'two keys' if text else 'no key'}", hint)
    if text:
        return str(text).replace("\\n", "\n").strip().encode()
    try:
        return Path(str(file)).read_bytes().strip()
    except OSError as error:
        what = f"{where}['key_file'] is {str(file)!r}, which cannot be read ({error.strerror})"
        hint = "Name a file that the workers may read."
        raise DkimMisconfigured(DkimProblem.KEY, what, hint) from None


def _private_key(material: bytes, where: str) -> PrivateKey:
    try:
        private = _parsed(material)
    except (ValueError, TypeError, binascii.Error, UnsupportedAlgorithm):
        # Their texts may quote what they could not read.
        hint = "Write PEM without a passphrase, or for 'ed25519' the 32-byte seed in base64."
        what = f"{where} holds no private key that can be read"
        raise DkimMisconfigured(DkimProblem.KEY, what, hint) from None
    if not isinstance(private, PrivateKey):
        what = f"{where} holds a key of a kind that DKIM does not know"
        raise DkimMisconfigured(DkimProblem.ALGORITHM, what, "Use an RSA or an Ed25519 key.")
    if isinstance(private, RSAPrivateKey) and private.key_size < MIN_RSA_BITS:
        what = f"{where} is an RSA key of {private.key_size} bits, which receivers refuse or soon will"
        hint = f"Make one of {MIN_RSA_BITS} bits: openssl genrsa -out dkim.pem {MIN_RSA_BITS}"
        raise DkimMisconfigured(DkimProblem.KEY_SIZE, what, hint)
    return private


def _parsed(material: bytes) -> object:
    if material.startswith(b"-----BEGIN"):
        return load_pem_private_key(material, password=None)
    return Ed25519PrivateKey.from_private_bytes(base64.b64decode(material, validate=True))
