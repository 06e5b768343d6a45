"""A TLS server in front of a plain one on this machine, and certificates for it."""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import select
import socket
import ssl
import threading
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from examples.demo.ports import LOOPBACK


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """A certification authority; ``file`` is what whoever trusts it names."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    file: Path

    @classmethod
    def new(cls, file: Path) -> Signer:
        """A fresh one, written to ``file``."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("a CA for tests")
        builder = _builder(name, name, key).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        usage = dict.fromkeys(_USES, False) | {"key_cert_sign": True, "crl_sign": True}
        builder = builder.add_extension(x509.KeyUsage(**usage), critical=True)
        builder = builder.add_extension(
            x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
        )
        certificate = builder.sign(key, hashes.SHA256())
        file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return cls(key=key, certificate=certificate, file=file)

    def issue(self, folder: Path, host: str) -> Path:
        """A server's certificate for ``host`` with its key, in one PEM file."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(host), self.certificate.subject, key)
        builder = builder.add_extension(x509.SubjectAlternativeName([_alternative(host)]), critical=False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False
        )
        certificate = builder.sign(self.key, hashes.SHA256())
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        file = folder / f"{host}.pem"
        file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
        return file


#: What a certificate may be used for: every one has to be given.
_USES = [
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
]


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
    )


class TlsDoor:
    """Listens with ``certificate`` and passes on what comes in to ``port``; a context manager.

    ``received`` is how many octets clients sent once their handshake was done.
    """

    def __init__(self, certificate: Path, port: int) -> None:
        self.received = 0
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate)
        self._behind = port
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port = int(self._listener.getsockname()[1])
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> TlsDoor:
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._listener, *self._open):
            # Not the TLS object's own: a thread in the middle of reading would find that object gone.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(one, socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with (
            contextlib.suppress(OSError),
            connection,
            self._context.wrap_socket(connection, server_side=True) as inside,
            socket.create_connection((LOOPBACK, self._behind)) as behind,
        ):
            self._open += [inside, behind]
            while self._pass_on(inside, behind):
                pass

    def _pass_on(self, inside: ssl.SSLSocket, behind: socket.socket) -> bool:
        """One thread for both directions, as OpenSSL wants it; ``False`` at the end of either."""
        sources = [inside] if inside.pending() else select.select([inside, behind], [], [])[0]
        for source in sources:
            if not (data := source.recv(65536)):
                return False
            self.received += len(data) if source is inside else 0
            (behind if source is inside else inside).sendall(data)
        return True
