"""The header ``Idempotency-Key`` (draft-ietf-httpapi-idempotency-key-header, section 2.1). Pure.

The draft has a string of structured fields (RFC 9651, 3.3.3), in quotation marks; many callers
send the bare key. Both are the same key. A header sent twice arrives as one with a comma between,
so a bare key holds none.
"""

from __future__ import annotations

import re

MAX_KEY_LENGTH = 255

_QUOTED = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])+)"')
_BARE = re.compile(r"[!#-+\--:<-\[\]-~]+")
_ESCAPED = re.compile(r'\\(["\\])')

#: What a caller may send, for the OpenAPI document; the length is that of the key alone.
PATTERN = rf"^(?:{_QUOTED.pattern}|{_BARE.pattern})$"


class MalformedKey(ValueError):
    """The header is no key; the message says why and repeats nothing of it."""


def key_in(header: str) -> str:
    """The key that a header holds; :class:`MalformedKey` if it is none."""
    text = header.strip(" ")
    quoted = _QUOTED.fullmatch(text)
    if quoted:
        key = _ESCAPED.sub(r"\1", quoted[1])
    elif _BARE.fullmatch(text):
        key = text
    else:
        raise MalformedKey(
            f"Idempotency-Key ({len(header)} characters) must be sent once, as printable ASCII in quotation "
            "marks."
        )
    if len(key) > MAX_KEY_LENGTH or not key.strip():
        raise MalformedKey(
            f"An idempotency key has 1 to {MAX_KEY_LENGTH} characters, not only spaces; this has {len(key)}."
        )
    return key
