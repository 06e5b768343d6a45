"""TXT records from the DNS, by dnspython, which dkimpy brings along."""

from __future__ import annotations

from notifications.email.dkim_inspection import LookUpFailed

LOOK_UP_SECONDS = 5.0


def look_up(name: str) -> str | None:
    """The TXT record at ``name``, ``None`` if there is none. Raises :class:`LookUpFailed`."""
    try:
        import dns.exception
        import dns.resolver
    except ImportError:
        raise LookUpFailed(
            "no --record was given, and looking it up needs dnspython: python -m pip install dnspython"
        ) from None
    try:
        answer = dns.resolver.resolve(f"{name}.", "TXT", lifetime=LOOK_UP_SECONDS)
    except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
        return None
    except dns.exception.DNSException as error:
        raise LookUpFailed(f"the DNS gives no answer for {name} ({type(error).__name__})") from None
    if len(answer) > 1:
        raise LookUpFailed(f"{name} has {len(answer)} TXT records: receivers take any one of them")
    return b"".join(answer[0].strings).decode("ascii", "replace")
