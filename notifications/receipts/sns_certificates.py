"""The certificates that Amazon SNS signs with: where they may come from, and keeping them.

The file at ``SigningCertURL`` holds the leaf alone, so what makes it authentic is the verified TLS
connection to SNS's own host, and nothing else: the host is strictly that of the topic's region
(docs.aws.amazon.com/sns, "Verifying the signatures of Amazon SNS messages").
"""

from __future__ import annotations

import datetime as dt
import re
import threading
from collections import OrderedDict
from collections.abc import Callable

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.x509.oid import NameOID

from notifications.receipts.callback import CallbackPostponed, CallbackRefused
from notifications.receipts.https_get import GetFailed

#: Given an https address, its body; :class:`GetFailed` where there is none.
Fetch = Callable[[str], bytes]

MIN_BITS = 2048
MAX_KEPT = 8

_PATH = re.compile(r"/SimpleNotificationService-[0-9A-Za-z]{1,64}\.pem\Z", re.ASCII)


def sns_host(region: str) -> str:
    """SNS's host in ``region``; China's regions have a domain of their own."""
    return f"sns.{region}.amazonaws.com" + (".cn" if region.startswith("cn-") else "")


def check_address(url: str, region: str) -> None:
    """Raise :class:`CallbackRefused` unless ``url`` is a certificate's address on the region's host."""
    prefix = f"https://{sns_host(region)}"
    if not url.startswith(prefix + "/") or not _PATH.match(url.removeprefix(prefix)):
        raise CallbackRefused


class Certificates:
    """Public keys by address. A certificate is fetched once; one fetch at a time, for whoever asks.

    Anybody can send an unsigned message that names an address which is not kept, so a fetch must
    not hold up all of a process's threads: whoever comes during one is told to come again.
    """

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._fetching = threading.Lock()
        self._kept: OrderedDict[str, x509.Certificate] = OrderedDict()

    def public_key(self, url: str, region: str, now: dt.datetime) -> RSAPublicKey:
        """The key of the certificate at ``url``, valid at ``now``.

        Raises :class:`CallbackRefused` for an address or a certificate that is not SNS's, and
        :class:`CallbackPostponed` where it cannot be had.
        """
        check_address(url, region)
        certificate = self._kept.get(url) or self._fetched(url, region)
        key = certificate.public_key()
        if not isinstance(key, RSAPublicKey) or not _is_valid(certificate, now):
            raise CallbackRefused
        return key

    def _fetched(self, url: str, region: str) -> x509.Certificate:
        if not self._fetching.acquire(blocking=False):
            raise CallbackPostponed
        try:
            certificate = _parsed(self._fetch(url), region)
            self._kept[url] = certificate
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        except GetFailed:
            raise CallbackPostponed from None
        finally:
            self._fetching.release()
        return certificate


def _parsed(pem: bytes, region: str) -> x509.Certificate:
    try:
        certificate = x509.load_pem_x509_certificate(pem)
        key = certificate.public_key()
        names = _names(certificate)
    except ValueError:
        raise CallbackRefused from None
    if not names & {sns_host(region), "sns.amazonaws.com"}:
        raise CallbackRefused
    if not isinstance(key, RSAPublicKey) or key.key_size < MIN_BITS:
        raise CallbackRefused
    return certificate


def _names(certificate: x509.Certificate) -> set[str]:
    names = {str(a.value) for a in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)}
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return names
    return names | set(extension.value.get_values_for_type(x509.DNSName))


def _is_valid(certificate: x509.Certificate, now: dt.datetime) -> bool:
    return certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc
