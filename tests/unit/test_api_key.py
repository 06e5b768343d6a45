from __future__ import annotations

import base64
import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resetdelivery.domain.api_key import (
    ENTROPY_BYTES,
    ApiKeyRefused,
    Scope,
    checked_client_name,
    checked_key_id,
    digest,
    key_text,
    matches,
    parse,
    scope_text,
    scopes_of,
    too_many_keys,
)

ENTROPY = bytes(range(ENTROPY_BYTES))
TEXT = key_text(ENTROPY)
KEY_ID, SECRET = TEXT[3:15], TEXT[16:]


def test_a_key_is_a_prefix_twelve_characters_that_name_it_and_forty_three_that_prove_it() -> None:
    assert re.fullmatch(r"rd_[a-z2-7]{12}_[A-Za-z0-9_-]{43}", TEXT)


def test_the_secret_is_all_of_the_last_thirty_two_random_bytes() -> None:
    assert base64.urlsafe_b64decode(SECRET + "=") == ENTROPY[8:]


@pytest.mark.parametrize("number", [0, 32, ENTROPY_BYTES - 1, ENTROPY_BYTES + 1])
def test_a_key_is_not_made_of_fewer_or_more_random_bytes(number: int) -> None:
    with pytest.raises(ValueError, match=f"40 random bytes, not of {number}"):
        key_text(bytes(number))


@given(st.binary(min_size=ENTROPY_BYTES, max_size=ENTROPY_BYTES))
def test_every_key_is_read_back_as_its_two_parts(entropy: bytes) -> None:
    text = key_text(entropy)
    assert parse(text) == (text[3:15], text[16:])


@given(st.text(alphabet=st.characters()))
def test_what_has_another_form_is_no_key(text: str) -> None:
    assert parse(text) is None


MALFORMED = {
    "empty": "",
    "the prefix alone": "rd_",
    "another prefix": f"sk{TEXT[2:]}",
    "the prefix in capitals": f"RD{TEXT[2:]}",
    "the id in capitals": f"rd_{KEY_ID.upper()}_{SECRET}",
    "an id a character short": f"rd_{KEY_ID[1:]}_{SECRET}",
    "a secret a character short": TEXT[:-1],
    "a secret a character long": f"{TEXT}A",
    "padded": f"{TEXT}=",
    "a space before": f" {TEXT}",
    "a line end after": f"{TEXT}\n",
    "the word Bearer": f"Bearer {TEXT}",
    "twice": f"{TEXT}{TEXT}",
    "NUL within": f"{TEXT[:20]}\0{TEXT[21:]}",
    "NUL after": f"{TEXT}\0",
    "base64 of the other alphabet": f"rd_{KEY_ID}_{'+' * 43}",
    "a letter that is not ASCII": f"{TEXT[:-1]}ä",
    "full-width digits": f"rd_{KEY_ID[:-1]}２_{SECRET}",
    "half a surrogate pair": f"{TEXT[:-1]}\ud800",
    "a megabyte": "rd_" + "a" * 1_000_000,
    "a key and a megabyte": TEXT + "a" * 1_000_000,
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_nothing_that_only_looks_like_a_key_is_one(text: str) -> None:
    assert parse(text) is None


def test_the_digest_is_sha_256_over_the_characters() -> None:
    assert digest(SECRET) == hashlib.sha256(SECRET.encode()).hexdigest()


def test_a_secret_matches_its_own_digest_and_no_other() -> None:
    assert matches(SECRET, digest(SECRET))
    assert not matches(SECRET, digest(SECRET[:-1] + "A"))


@pytest.mark.parametrize("secret", ["", SECRET, "-" * 64])
def test_nothing_matches_where_there_is_no_row(secret: str) -> None:
    assert not matches(secret, None)


def test_the_other_spelling_of_the_same_bytes_does_not_match() -> None:
    # The last of 43 characters holds four bits of the secret: four characters decode alike.
    other = SECRET[:-1] + chr(ord(SECRET[-1]) + 1)
    assert base64.urlsafe_b64decode(other + "=") == base64.urlsafe_b64decode(SECRET + "=")
    assert not matches(other, digest(SECRET))


def test_scopes_are_stored_ascending_each_once() -> None:
    scopes = [Scope.WORK_CLAIM, Scope.INTENTS_CREATE, Scope.WORK_CLAIM]
    assert scope_text(scopes) == "intents:create work:claim"


@given(st.sets(st.sampled_from(list(Scope)), min_size=1))
def test_scopes_come_back_as_they_were_stored(scopes: set[Scope]) -> None:
    assert scopes_of(scope_text(scopes)) == scopes


def test_a_key_without_a_scope_is_refused() -> None:
    with pytest.raises(ApiKeyRefused, match="at least one scope of intents:create, intents:read"):
        scope_text([])


@pytest.mark.parametrize("text", ["", "intents", "intents:create:all", "INTENTS:READ", "xwork:claimx"])
def test_a_stored_word_that_is_not_known_allows_nothing(text: str) -> None:
    assert scopes_of(text) == frozenset()


def test_all_scopes_fit_their_column() -> None:
    assert len(scope_text(Scope)) <= 128


@pytest.mark.parametrize("name", ["a", "7", "shop-web", "worker.eu_1", "a" * 64, "local-2", "locals"])
def test_names_in_small_letters_digits_and_three_signs_are_names(name: str) -> None:
    assert checked_client_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "a" * 65, "Shop", "-shop", ".shop", "_shop", "a b", "a/b", "a\n", "a\0", "ä", "ａ", "\ud800"],
)
def test_other_names_are_refused_by_their_length(name: str) -> None:
    with pytest.raises(ApiKeyRefused, match=rf"this one \({len(name)} characters\)"):
        checked_client_name(name)


def test_a_key_pasted_as_a_name_is_not_repeated() -> None:
    with pytest.raises(ApiKeyRefused) as caught:
        checked_client_name(TEXT)
    assert SECRET not in str(caught.value)


def test_the_name_of_calls_within_the_process_is_refused() -> None:
    with pytest.raises(ApiKeyRefused, match="'local' is what calls within the process are known by"):
        checked_client_name("local")


def test_a_key_id_is_a_key_id() -> None:
    assert checked_key_id(KEY_ID) == KEY_ID


def test_a_whole_key_in_place_of_its_id_is_answered_with_the_id_alone() -> None:
    with pytest.raises(ApiKeyRefused, match=f"by its id alone, {KEY_ID}") as caught:
        checked_key_id(TEXT)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("text", ["", KEY_ID[1:], f"{KEY_ID}\n", f"rd_{KEY_ID}", "a\0", "\ud800", TEXT[:-1]])
def test_anything_else_in_place_of_a_key_id_is_told_by_its_length(text: str) -> None:
    with pytest.raises(ApiKeyRefused, match=rf"this \({len(text)} characters\) is none"):
        checked_key_id(text)


def test_one_key_too_many_names_those_there_are_and_the_way_out() -> None:
    message = str(too_many_keys("shop", ["aaaaaaaaaaaa", "bbbbbbbbbbbb"]))
    assert "'shop' has 2 active keys already: aaaaaaaaaaaa and bbbbbbbbbbbb" in message
    assert message.endswith("manage.py api_key revoke aaaaaaaaaaaa")
