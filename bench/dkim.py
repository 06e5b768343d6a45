"""How fast mail is signed: ``python -m bench.dkim [SECONDS]``.

One message, one thread, each way of signing in turn for SECONDS (2), three rounds; the best round
counts. Ratios of one run mean something, rates of two machines do not.
"""

from __future__ import annotations

import base64
import datetime as dt
import sys
import time
from collections.abc import Callable, Mapping

import dkim
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from notifications.email.dkim import SIGNED_FIELDS, Signer, SigningKey
from notifications.email.mime import build_mime, parse_sender
from notifications.message import EmailMessage

ROUNDS = 3
AT = dt.datetime(2026, 11, 29, 12, 0, tzinfo=dt.UTC)

Way = Callable[[], object]


def main(seconds: float) -> None:
    """Measure, and print a table."""
    message = build_mime(_message(), parse_sender("Shop <no-reply@shop.example>"))
    ways = _ways(message)
    best = dict.fromkeys(ways, 0.0)
    for _ in range(ROUNDS):
        for name, way in ways.items():
            best[name] = max(best[name], _rate(way, seconds / ROUNDS))
    slowest = min(best.values())
    print(
        f"{'one message of ' + str(len(message)) + ' bytes':<38}{'per second':>11}{'ms each':>9}{'ratio':>8}"
    )
    for name, rate in best.items():
        print(f"{name:<38}{rate:>11.0f}{1000 / rate:>9.3f}{rate / slowest:>7.1f}x")


def _ways(message: bytes) -> Mapping[str, Way]:
    rsa = generate_private_key(public_exponent=65537, key_size=2048)
    ed25519 = Ed25519PrivateKey.generate()
    pem = rsa.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    seed = base64.b64encode(ed25519.private_bytes_raw())
    keys = (SigningKey(selector="r", private=rsa), SigningKey(selector="e", private=ed25519))
    return {
        "dkimpy alone, RSA-2048": lambda: _dkimpy(message, pem, b"rsa-sha256"),
        "dkimpy alone, Ed25519 (PyNaCl)": lambda: _dkimpy(message, seed, b"ed25519-sha256"),
        "ours, RSA-2048 by OpenSSL": _ours(message, keys[:1]),
        "ours, Ed25519 by OpenSSL": _ours(message, keys[1:]),
        "ours, both signatures": _ours(message, keys),
    }


def _ours(message: bytes, keys: tuple[SigningKey, ...]) -> Way:
    signer = Signer(domain="shop.example", keys=keys)
    return lambda: signer.signature_fields(message, signed_at=int(AT.timestamp()))


def _dkimpy(message: bytes, key: bytes, algorithm: bytes) -> object:
    return dkim.DKIM(message).sign(
        b"s",
        b"shop.example",
        key,
        signature_algorithm=algorithm,
        canonicalize=(b"relaxed", b"relaxed"),
        include_headers=[name.encode("ascii") for name in SIGNED_FIELDS],
    )


def _rate(way: Way, seconds: float) -> float:
    way()
    count, started = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - started) < seconds:
        way()
        count += 1
    return count / elapsed


def _message() -> EmailMessage:
    link = "https://shop.example/reset/MTIzNDU2Nzg/c0ffee-0123456789abcdef0123456789abcdef/"
    return EmailMessage(
        to="someone@example.com",
        subject="Reset your Marketplace password",
        text=f"Open this link:\n\n{link}\n\nIt works for 9 minutes.\n" * 3,
        html=f'<p>Open this link: <a href="{link}">reset</a></p>\n' * 30,
        message_id="<5f0c1c9e7d5b4a0f8f3f3f0a2b1c4d5e@shop.example>",
        date=AT,
        boundary="=_5f0c1c9e",
        expires_at=AT + dt.timedelta(minutes=9),
    )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0)
