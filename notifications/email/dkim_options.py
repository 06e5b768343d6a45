"""The SMTP transport's option ``dkim``: which domain signs, and by which keys.

::

    "dkim": {
        "domain": "shop.example",
        "keys": [
            {"selector": "2026a-rsa", "algorithm": "rsa", "key_file": "/etc/shop/2026a-rsa.pem"},
            {"selector": "2026a-ed", "algorithm": "ed25519", "key": "<base64 of the 32-byte seed>"},
        ],
    }

``key`` holds the key itself: PEM (PKCS #1 or PKCS #8, without a passphrase; ``\\n`` may stand for
a line end, as in an environment variable), or for ed25519 the seed in base64. ``key_file`` names
a file with the same. Not for a relay that signs for you or rewrites Date and Message-ID, as
Amazon SES does: let that one sign.

To change a key without a gap, publish the new one under a selector of its own and add it here
behind the old one: the first key of an algorithm signs, a second one waits, and ``manage.py
check_dkim`` says when its record can be seen. Then swap the two. When no mail with the old
signature can be under way any more (a week), take the old one out and empty its record's ``p=``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from notifications.email.addresses import AddressRefused, ascii_domain
from notifications.email.dkim_problems import DkimMisconfigured, DkimProblem

if TYPE_CHECKING:
    from notifications.email.dkim import Signer, SigningKey


@dataclass(frozen=True, slots=True, kw_only=True)
class DkimSetup:
    """What signs, and the keys that wait for their turn."""

    signer: Signer
    waiting: Sequence[SigningKey]


def read_dkim(options: object, *, from_domain: str) -> DkimSetup:
    """The keys that the option names, for messages From ``from_domain`` (A-labels).

    Raises :class:`DkimMisconfigured`, also where the extra ``resetdelivery[dkim]`` is missing.
    """
    if not isinstance(options, Mapping) or set(options) != {"domain", "keys"}:
        hint = "Make it a dict of 'domain' and 'keys'."
        raise DkimMisconfigured(DkimProblem.OPTION, "'dkim' has an unknown form", hint)
    domain = _read_domain(options["domain"], from_domain)
    try:
        from notifications.email.dkim import Signer
        from notifications.email.dkim_keys import read_keys
    except ImportError as error:
        package = (error.name or "a package").partition(".")[0]
        hint = "Install it: python -m pip install 'resetdelivery[dkim]'"
        what = f"'dkim' needs {package}, which is not installed"
        raise DkimMisconfigured(DkimProblem.OPTION, what, hint) from None
    keys = read_keys(options["keys"])
    firsts = {key.algorithm: key for key in reversed(keys)}
    signing = tuple(key for key in keys if firsts[key.algorithm] is key)
    waiting = tuple(key for key in keys if firsts[key.algorithm] is not key)
    return DkimSetup(signer=Signer(domain=domain, keys=signing), waiting=waiting)


def is_aligned(domain: str, from_domain: str) -> bool:
    """Whether one is the other or stands below it: DMARC's relaxed alignment (RFC 7489, 3.1.1)."""
    one, other = f".{domain.lower()}", f".{from_domain.lower()}"
    return one.endswith(other) or other.endswith(one)


def _read_domain(value: object, from_domain: str) -> str:
    try:
        domain = ascii_domain(value).lower() if isinstance(value, str) else ""
    except AddressRefused:
        domain = ""
    if "." not in domain:
        hint = "Write the domain of 'from_address', or a parent of it."
        raise DkimMisconfigured(DkimProblem.OPTION, f"dkim['domain'] is {value!r}, which is no domain", hint)
    if not is_aligned(domain, from_domain):
        what = f"dkim['domain'] is {domain!r}, but messages are from {from_domain!r}"
        hint = "DMARC counts such a signature as nobody's: use the domain of 'from_address', or a parent."
        raise DkimMisconfigured(DkimProblem.ALIGNMENT, what, hint)
    return domain
