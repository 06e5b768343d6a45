"""The search of the canary test finds what it is to find, in every form."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest

from tests.acceptance.harness.canary import Mark, Sink, forms, not_looked_at, search

MARK = Mark(name="address", value="Canary.Box+7f3a9c@example.com")
LINK = Mark(name="token", value="ditab6-378a2f1dd9e42bb6548118d507ac006d")


def sink(content: bytes, *, allowed: tuple[str, ...] = ()) -> Sink:
    return Sink(name="any", content=content, says="known", allowed=frozenset(allowed))


def forms_in(content: bytes) -> set[str]:
    return {found.form for found in search([MARK], [sink(content)])}


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("as it is", MARK.value.encode()),
        ("as it is", MARK.value.upper().encode()),
        ("as it is", json.dumps({"to": MARK.value}).encode()),
        ("in an address", quote(MARK.value, safe="").encode()),
        ("in hexadecimal digits", MARK.value.encode().hex().encode()),
    ],
)
def test_a_mark_is_found_in_each_form(form: str, content: bytes) -> None:
    assert form in forms_in(b"known <<" + content + b">> more")


@pytest.mark.parametrize("before", range(7))
@pytest.mark.parametrize("after", range(4))
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_mark_is_found_in_base64_wherever_it_begins_and_ends(
    before: int, after: int, encode: object
) -> None:
    assert callable(encode)
    content = encode(b"x" * before + MARK.value.encode() + b"y" * after)
    assert any("base64" in form for form in forms_in(content))


def test_nothing_is_found_where_nothing_is() -> None:
    assert search([MARK, LINK], [sink(b"known: canary.box@example.com and ditab6")]) == []


def test_a_mark_that_belongs_somewhere_is_not_looked_for_there_and_the_others_are() -> None:
    content = f"known {MARK.value} {LINK.value}".encode()
    found = search([MARK, LINK], [sink(content, allowed=("address",))])
    assert {one.mark for one in found} == {"token"}


def test_what_is_found_says_where_and_does_not_repeat_it() -> None:
    (found,) = search([LINK], [sink(f"known, and in the log: {LINK.value}".encode())])
    assert (found.sink, found.mark) == ("any", "token")
    assert found.around.endswith("in the log: ")
    assert LINK.value not in repr(found)


def test_every_form_is_long_enough_to_turn_up_by_no_chance() -> None:
    assert all(len(octets) >= 8 for mark in (MARK, LINK) for _, octets in forms(mark.value))


def test_a_sink_without_its_known_word_is_named() -> None:
    assert not_looked_at([sink(b"known"), Sink(name="empty", content=b"", says="known")]) == ["empty"]


def test_a_sink_of_which_no_word_is_known_is_named() -> None:
    assert not_looked_at([Sink(name="any", content=b"known", says="")]) == ["any"]


def test_a_mark_that_would_turn_up_by_chance_is_refused() -> None:
    with pytest.raises(AssertionError, match="API key has 1 characters"):
        Mark(name="API key", value="a")
