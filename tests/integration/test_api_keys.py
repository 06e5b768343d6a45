"""Whose a credential is: what the answer costs, and where a secret could get out."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from resetdelivery.api_keys import Caller, NewKey, authenticate, create_client_key, revoke, rotate
from resetdelivery.domain.api_key import Scope, digest
from resetdelivery.models import ApiClient, ApiKey
from tests.key_uses import statements, use, used
from tests.sinks import pages, stored
from tests.unit.test_api_key import MALFORMED

pytestmark = pytest.mark.django_db

SCOPES = frozenset({Scope.INTENTS_CREATE, Scope.INTENTS_READ})


@pytest.fixture
def key(db: None) -> NewKey:
    return create_client_key(client="shop-web", scopes=SCOPES, who="ada")


# Whose it is.


def test_a_key_is_known_by_its_client_its_id_and_its_scopes(key: NewKey) -> None:
    assert authenticate(key.text) == Caller(client="shop-web", key_id=key.key_id, scopes=SCOPES)


def test_a_rotated_key_works_beside_the_old_one(key: NewKey) -> None:
    new = rotate(client="shop-web", who="ada")
    callers = [authenticate(one.text) for one in (key, new)]
    ids = [key.key_id, new.key_id]
    assert callers == [Caller(client="shop-web", key_id=key_id, scopes=SCOPES) for key_id in ids]


def test_a_revoked_key_does_not_work_and_its_neighbour_does(key: NewKey) -> None:
    new = rotate(client="shop-web", who="ada")
    revoke(key_id=key.key_id, who="ada")
    assert authenticate(key.text) is None
    assert authenticate(new.text) is not None


def test_one_clients_secret_under_anothers_id_is_nobody(key: NewKey) -> None:
    other = create_client_key(client="worker", scopes=[Scope.WORK_CLAIM], who="ada")
    assert authenticate(f"rd_{other.key_id}_{key.text[16:]}") is None


def test_a_scope_of_a_later_release_allows_nothing_and_harms_nothing(key: NewKey) -> None:
    ApiKey.objects.update(scopes="everything:now health:read")
    caller = authenticate(key.text)
    assert caller is not None
    assert caller.scopes == {Scope.HEALTH_READ}


@pytest.mark.parametrize("credential", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_credential_is_nobody(key: NewKey, credential: str) -> None:
    assert authenticate(credential) is None


@hypothesis_settings(deadline=None)
@given(
    st.one_of(
        st.text(alphabet=st.characters()),
        st.from_regex(r"rd_[a-z2-7]{12}_[A-Za-z0-9_-]{43}", fullmatch=True),
        st.from_regex(r"rd_\w{10,14}_\w{40,46}\s?"),
    )
)
@example("rd_aaaaaaaaaaaa_" + "A" * 43)
def test_nothing_that_anybody_sends_is_an_error(credential: str) -> None:
    assert authenticate(credential) is None


# What is asked for the answer.


def revoked(key: NewKey) -> str:
    revoke(key_id=key.key_id, who="ada")
    return key.text


PATHS: dict[str, Callable[[NewKey], str]] = {
    "known": lambda key: key.text,
    "revoked": revoked,
    "another secret": lambda key: key.text[:-1] + ("A" if key.text[-1] != "A" else "E"),
    "an unknown id": lambda key: f"rd_{'2' * 12}_{key.text[16:]}",
    "malformed": lambda key: key.text + "\0",
    "not ASCII": lambda key: "ключ",
    "over-long": lambda key: key.text * 1000,
    "empty": lambda key: "",
}
KNOWN = {"known"}


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_costs_the_same_query_and_one_comparison(
    key: NewKey, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    credential = PATHS[path](key)
    use(key, seconds_ago=0)
    with statements() as usual:
        assert authenticate(f"rd_{'3' * 12}_{'A' * 43}") is None
    compared: list[tuple[int, int]] = []
    plain = hmac.compare_digest

    def compare(a: Any, b: Any) -> bool:
        compared.append((len(a), len(b)))
        return plain(a, b)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    with statements() as sent:
        caller = authenticate(credential)
    assert (caller is not None) == (path in KNOWN)
    assert sent == usual
    assert len(sent) == 1
    assert compared == [(64, 64)]


@pytest.mark.parametrize("path", sorted(set(PATHS) - KNOWN))
def test_a_refusal_writes_nothing(key: NewKey, path: str) -> None:
    credential = PATHS[path](key)
    authenticate(credential)
    assert used(key) is None


# Where a secret could get out.


def test_nothing_holds_a_secret_but_the_one_who_got_it(key: NewKey, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        new = rotate(client="shop-web", who="ada", why="the yearly change")
        said = [repr(key), str(key), repr(new), repr(authenticate(key.text)), repr(authenticate(new.text))]
        revoke(key_id=key.key_id, who="ada")
        authenticate(key.text)
    sinks = "\n".join([*said, caplog.text, stored(), pages()])
    assert key.key_id in sinks
    assert key.text[16:] not in sinks
    assert new.text[16:] not in sinks


def test_no_page_shows_a_digest(key: NewKey) -> None:
    shown = pages()
    assert ApiClient.objects.get().name in shown
    assert digest(key.text[16:]) not in shown
