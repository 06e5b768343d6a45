from __future__ import annotations

import logging

import pytest

from resetdelivery import api_keys
from resetdelivery.api import access
from tests.internal_api import Service, problem, service

pytestmark = pytest.mark.django_db

HEALTH = "/internal/delivery-health"


def with_header(value: str) -> tuple[int, bytes, str | None]:
    answer = Service().call("GET", HEALTH, headers=[("Authorization", value)])
    return answer.status_code, answer.data, answer.headers.get("WWW-Authenticate")


def test_every_401_is_the_same_to_the_last_octet(db: None) -> None:
    known = service().key
    revoked = service("old").key
    api_keys.revoke(key_id=revoked.split("_")[1], who="tests")
    key_id, secret = known.split("_", 2)[1:]
    nobody = Service().get(HEALTH)
    answers = {
        with_header(value)
        for value in [
            "",
            "Bearer",
            "Bearer ",
            f"Basic {known}",
            f"Token {known}",
            known,
            f"Bearer {revoked}",
            f"Bearer rd_{key_id}_{'A' * 43}",
            f"Bearer rd_{'a' * 12}_{secret}",
            f"Bearer {known} {known}",
            f"Bearer {known}x",
            f"Bearer {known}, Bearer {known}",
            "Bearer " + "x" * 8_000,
            "Bearer schlüssel",
            "Bearer \x7f\xff",
        ]
    }
    assert answers == {(401, nobody.data, "Bearer")}
    assert problem(nobody) == "unauthorized"


def test_the_scheme_has_no_case(db: None) -> None:
    assert with_header(f"bEARER {service().key}")[0] == 200


def test_a_key_in_the_query_or_a_cookie_is_no_key(db: None) -> None:
    key = service().key
    assert Service().get(f"{HEALTH}?access_token={key}").status_code == 401
    assert (
        Service().call("GET", HEALTH, headers=[("Cookie", f"key={key}; sessionid={key}")]).status_code == 401
    )


def test_a_rotated_key_works_beside_the_old_one_and_a_revoked_one_no_more(db: None) -> None:
    old = service()
    new = Service(key=api_keys.rotate(client="shop", who="tests").text)
    assert [one.get(HEALTH).status_code for one in (old, new)] == [200, 200]
    api_keys.revoke(key_id=old.key.split("_")[1], who="tests")
    assert [one.get(HEALTH).status_code for one in (old, new)] == [401, 200]


def test_a_client_that_calls_too_often_is_told_when_to_come_back(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = {"shop": 7.2, "billing": 0.0}
    monkeypatch.setattr(access, "admit_api_call", waits.__getitem__)
    answer = service().get(HEALTH)
    assert (answer.status_code, problem(answer), answer.headers["Retry-After"]) == (
        429,
        "too-many-requests",
        "8",
    )
    assert service("billing").get(HEALTH).status_code == 200


@pytest.mark.parametrize(
    "query", ["window=5m&window=5m", "window=1m&window=1h", "windows=5m", "window=5m&x=", "email=a@b.example"]
)
def test_a_query_with_anything_unknown_or_repeated_is_refused(db: None, query: str) -> None:
    answer = service().get(f"{HEALTH}?{query}")
    assert (answer.status_code, problem(answer)) == (422, "invalid-request")


@pytest.mark.parametrize("window", ["", "2m", "5M", "5m ", "300", "%00", "1d"])
def test_a_window_that_is_not_offered_is_refused(db: None, window: str) -> None:
    assert service().get(f"{HEALTH}?window={window}").status_code == 422


def test_the_library_is_not_asked_to_read_the_header(
    db: None, settings: object, caplog: pytest.LogCaptureFixture
) -> None:
    settings.DEBUG = True  # type: ignore[attr-defined]
    with caplog.at_level(logging.DEBUG):
        with_header("Basic c2VjcmV0LWNyZWRlbnRpYWw=")
    assert "c2VjcmV0" not in caplog.text
