from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from resetdelivery.api.idempotency_header import PATTERN, MalformedKey, key_in

PRINTABLE = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=1, max_size=255)


def quoted(key: str) -> str:
    """A string as RFC 9651, 4.1.6 serialises it."""
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(PRINTABLE.filter(str.strip))
def test_a_key_in_quotation_marks_is_read_as_it_was_written(key: str) -> None:
    assert key_in(quoted(key)) == key


@given(PRINTABLE.filter(lambda key: not set(key) & set(' ",;\\')))
def test_a_bare_key_is_the_same_key(key: str) -> None:
    assert key_in(key) == key_in(quoted(key)) == key


@given(st.text(max_size=300))
def test_every_header_is_read_or_refused_and_never_repeated(header: str) -> None:
    key, refusal = tried(header)
    assert bool(key) is not bool(refusal)
    if key:
        assert len(key) <= 255
        assert re.fullmatch(PATTERN, header.strip(" "))
    assert len(header) < 4 or header not in refusal


def tried(header: str) -> tuple[str, str]:
    """The key, or the words that refuse it."""
    try:
        return key_in(header), ""
    except MalformedKey as error:
        return "", str(error)
