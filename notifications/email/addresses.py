"""Which email addresses may go to the wire as they are. Pure: standard library only."""

from __future__ import annotations

import re

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_DOT_ATOM = rf"{_ATOM}(?:\.{_ATOM})*"
_QUOTED = r'"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])+"'
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ADDRESS = re.compile(rf"(?P<local>{_DOT_ATOM}|{_QUOTED})@(?P<domain>{_LABEL}(?:\.{_LABEL})*)\Z", re.ASCII)


def is_envelope_address(address: str) -> bool:
    """Whether ``address`` is one bare ASCII mailbox: RFC 5321 section 4.1.2, sizes of 4.5.3.1.

    A non-ASCII local part would need SMTPUTF8 and is refused; a domain arrives as A-labels.
    Display names, comments, lists, source routes and address literals are refused.
    """
    match = _ADDRESS.match(address)
    return match is not None and len(address) <= 254 and len(match["local"]) <= 64
