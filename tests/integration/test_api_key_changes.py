"""Keys are made, replaced and revoked, each with its entry in the audit trail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from resetdelivery.api_keys import NewKey, authenticate, create_client_key, revoke, rotate
from resetdelivery.audit import InvalidAuditEntry
from resetdelivery.domain.api_key import ApiKeyRefused, Scope, digest
from resetdelivery.models import ApiClient, ApiKey, AuditEntry
from tests.interleavings.racing import behind, together

pytestmark = pytest.mark.django_db

UNKNOWN = "2" * 12


def create(client: str = "shop-web", *scopes: Scope, **more: Any) -> NewKey:
    return create_client_key(client=client, scopes=scopes or [Scope.INTENTS_CREATE], who="ada", **more)


def active() -> list[str]:
    """The ids of the keys that are not revoked, oldest first."""
    return list(ApiKey.objects.filter(revoked_at=None).order_by("pk").values_list("key_id", flat=True))


def trail() -> list[tuple[str, ...]]:
    """The audit trail, oldest first."""
    return list(AuditEntry.objects.order_by("pk").values_list("who", "action", "target", "why"))


def test_the_digest_is_stored_and_not_the_secret() -> None:
    new = create()
    row = ApiKey.objects.get()
    assert row.key_id == new.key_id
    assert row.secret_digest == digest(new.text[16:])


def test_no_two_keys_are_alike() -> None:
    made = [create("shop-web"), create("shop-web"), create("worker")]
    assert len({key.text[16:] for key in made} | {key.key_id for key in made}) == 6


def test_the_scopes_asked_for_are_the_scopes_got() -> None:
    new = create("worker", Scope.WORK_CLAIM, Scope.HEALTH_READ, Scope.WORK_CLAIM)
    assert new.scopes == {Scope.HEALTH_READ, Scope.WORK_CLAIM}
    assert ApiKey.objects.get().scopes == "health:read work:claim"


@pytest.mark.parametrize("wrong", [{"client": "local"}, {"client": "Shop"}, {"scopes": []}])
def test_a_key_that_cannot_be_leaves_nothing_behind(wrong: dict[str, Any]) -> None:
    with pytest.raises(ApiKeyRefused):
        create_client_key(**{"client": "shop", "scopes": [Scope.HEALTH_READ], "who": "ada", **wrong})
    assert not ApiClient.objects.exists()
    assert not trail()


def test_a_third_key_is_refused_with_the_names_of_the_two() -> None:
    first, second = create(), create()
    with pytest.raises(ApiKeyRefused, match=f"{first.key_id} and {second.key_id}.*revoke {first.key_id}$"):
        create()
    with pytest.raises(ApiKeyRefused, match=f"{first.key_id} and {second.key_id}"):
        rotate(client="shop-web", who="ada")
    assert active() == [first.key_id, second.key_id]
    assert len(trail()) == 2


def test_a_revoked_key_frees_its_place() -> None:
    first, second = create(), create()
    revoke(key_id=first.key_id, who="ada")
    third = create()
    assert active() == [second.key_id, third.key_id]


def test_one_clients_keys_take_no_place_of_anothers() -> None:
    made = [create("shop-web"), create("shop-web"), create("worker")]
    assert active() == [key.key_id for key in made]


def test_the_second_key_has_the_scopes_of_the_newest_active_one() -> None:
    create("shop-web", Scope.INTENTS_READ)
    newest = create("shop-web", Scope.INTENTS_CREATE, Scope.HEALTH_READ)
    revoke(key_id=active()[0], who="ada")
    assert rotate(client="shop-web", who="ada").scopes == newest.scopes


def test_a_scope_of_a_later_release_outlives_a_rotation() -> None:
    create()
    ApiKey.objects.update(scopes="everything:now health:read")
    rotate(client="shop-web", who="ada")
    assert set(ApiKey.objects.values_list("scopes", flat=True)) == {"everything:now health:read"}


def test_there_is_nothing_to_rotate_where_all_keys_are_revoked() -> None:
    revoke(key_id=create().key_id, who="ada")
    with pytest.raises(ApiKeyRefused, match=r"has no active key to rotate.*api_key create shop-web"):
        rotate(client="shop-web", who="ada")


def test_a_client_that_is_not_there_is_not_made_by_a_rotation() -> None:
    with pytest.raises(ApiKeyRefused, match="There is no client 'shop-web'"):
        rotate(client="shop-web", who="ada")
    assert not ApiClient.objects.exists()


def test_a_key_that_is_not_there_cannot_be_revoked() -> None:
    with pytest.raises(ApiKeyRefused, match=f"There is no key {UNKNOWN}"):
        revoke(key_id=UNKNOWN, who="ada")


def test_a_whole_key_is_not_taken_for_its_id() -> None:
    new = create()
    with pytest.raises(ApiKeyRefused, match=f"by its id alone, {new.key_id}") as caught:
        revoke(key_id=new.text, who="ada")
    assert new.text[16:] not in str(caught.value)
    assert active() == [new.key_id]


def test_a_key_is_revoked_once() -> None:
    new = create()
    assert revoke(key_id=new.key_id, who="ada") is True
    first = ApiKey.objects.get().revoked_at
    assert revoke(key_id=new.key_id, who="eve") is False
    assert ApiKey.objects.get().revoked_at == first
    assert len(trail()) == 2


# The audit trail.


def test_every_change_is_in_the_audit_trail() -> None:
    first = create(why="the shop moves here")
    second = rotate(client="shop-web", who="grace", why="the yearly change")
    revoke(key_id=first.key_id, who="eve")
    assert trail() == [
        ("ada", "api_key_created", f"shop-web/{first.key_id}", "the shop moves here"),
        ("grace", "api_key_rotated", f"shop-web/{second.key_id}", "the yearly change"),
        ("eve", "api_key_revoked", f"shop-web/{first.key_id}", ""),
    ]


def test_a_target_has_room_for_the_longest_name() -> None:
    new = create("a" * 64)
    assert AuditEntry.objects.get().target == f"{'a' * 64}/{new.key_id}"


@pytest.mark.parametrize(
    "change",
    [
        lambda key: create_client_key(client="worker", scopes=[Scope.WORK_CLAIM], who=""),
        lambda key: rotate(client="shop-web", who="ada", why="x" * 256),
        lambda key: revoke(key_id=key.key_id, who="a\0"),
    ],
    ids=["create", "rotate", "revoke"],
)
def test_no_change_is_made_that_cannot_be_told_of(change: Callable[[NewKey], object]) -> None:
    key = create()
    with pytest.raises(InvalidAuditEntry):
        change(key)
    assert active() == [key.key_id]
    assert list(ApiClient.objects.values_list("name", flat=True)) == ["shop-web"]


# At once.


def attempt() -> NewKey | ApiKeyRefused:
    try:
        return create()
    except ApiKeyRefused as refused:
        return refused


@pytest.mark.django_db(transaction=True)
def test_of_many_first_keys_at_once_two_are_made(postgres_only: None) -> None:
    results = together(*[attempt] * 6)
    made = [result for result in results if isinstance(result, NewKey)]
    assert len(made) == 2
    assert sorted(active()) == sorted(key.key_id for key in made)
    assert len(trail()) == 2


@pytest.mark.django_db(transaction=True)
def test_of_many_second_keys_that_meet_in_the_lock_one_is_made(postgres_only: None) -> None:
    first = create()
    lock = f"SELECT id FROM {ApiClient._meta.db_table} WHERE name = %s FOR NO KEY UPDATE"
    results = behind(lock, ["shop-web"], *[attempt] * 4)
    (made,) = [result for result in results if isinstance(result, NewKey)]
    assert active() == [first.key_id, made.key_id]


@pytest.mark.django_db(transaction=True)
def test_of_many_who_revoke_a_key_at_once_one_has_done_it(postgres_only: None) -> None:
    key_id = create().key_id
    results = together(*[lambda: revoke(key_id=key_id, who="ada")] * 4)
    assert sorted(results) == [False, False, False, True]
    assert [action for _, action, *_ in trail()] == ["api_key_created", "api_key_revoked"]


@pytest.mark.django_db(transaction=True)
def test_a_key_works_as_soon_as_it_is_shown_and_never_after_it_is_revoked(postgres_only: None) -> None:
    new = create()
    callers = together(*[lambda: authenticate(new.text)] * 4)
    assert None not in callers
    revoke(key_id=new.key_id, who="ada")
    assert together(*[lambda: authenticate(new.text)] * 4) == [None] * 4
