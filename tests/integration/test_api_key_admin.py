"""The read-only pages of the callers, their keys, and what was done to them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from resetdelivery.api_keys import NewKey, create_client_key, revoke
from resetdelivery.domain.api_key import Scope
from resetdelivery.models import ApiClient, ApiKey, AuditEntry

pytestmark = pytest.mark.django_db

MODELS = [ApiClient, ApiKey, AuditEntry]


@pytest.fixture
def keys(db: None) -> list[NewKey]:
    """A revoked key, an active one of the same client, and another client's."""
    names = ["shop_web", "shop_web", "worker"]
    made = [create_client_key(client=name, scopes=[Scope.WORK_CLAIM], who="ada") for name in names]
    revoke(key_id=made[0].key_id, who="ada")
    return made


@pytest.fixture
def superuser(client: Client) -> Client:
    client.force_login(get_user_model().objects.create_superuser("root", "root@shop.example", "pw"))
    return client


def place(model: Any, page: str, *arguments: object) -> str:
    return reverse(f"admin:resetdelivery_{model._meta.model_name}_{page}", args=arguments)


def listed(client: Client, model: Any, **asked: str) -> list[str]:
    return [str(row) for row in client.get(place(model, "changelist"), asked).context["cl"].result_list]


def test_a_clients_page_names_its_active_keys(superuser: Client, keys: list[NewKey]) -> None:
    owner = ApiClient.objects.get(name="shop_web")
    page = superuser.get(place(ApiClient, "change", owner.pk)).content.decode()
    assert keys[1].key_id in page
    assert keys[0].key_id not in page


def test_a_keys_page_says_whose_it_is_and_what_for(superuser: Client, keys: list[NewKey]) -> None:
    row = ApiKey.objects.get(key_id=keys[2].key_id)
    page = superuser.get(place(ApiKey, "change", row.pk)).content.decode()
    assert [part for part in (row.key_id, "worker", "work:claim") if part not in page] == []
    assert row.secret_digest not in page


def test_each_list_links_to_its_pages(superuser: Client, keys: list[NewKey]) -> None:
    for model in MODELS:
        rows = superuser.get(place(model, "changelist")).content.decode()
        assert f'href="{place(model, "change", model._default_manager.latest("pk").pk)}' in rows


def test_a_whole_key_id_finds_its_key_and_a_part_finds_nothing(superuser: Client, keys: list[NewKey]) -> None:
    assert listed(superuser, ApiKey, q=f" {keys[1].key_id} ") == [keys[1].key_id]
    assert listed(superuser, ApiKey, q=keys[1].key_id[:8]) == []
    assert listed(superuser, ApiKey, q=keys[1].text) == []


def test_keys_are_filtered_by_client(superuser: Client, keys: list[NewKey]) -> None:
    assert listed(superuser, ApiKey, client__name="worker") == [keys[2].key_id]


@pytest.mark.parametrize("question", ["secret_digest", "secret_digest__startswith", "client__keys__scopes"])
def test_an_address_cannot_ask_about_a_digest(superuser: Client, keys: list[NewKey], question: str) -> None:
    assert superuser.get(place(ApiKey, "changelist"), {question: "a"}).status_code == 400


@pytest.mark.parametrize("model", MODELS)
def test_nobody_adds_changes_or_deletes(superuser: Client, keys: list[NewKey], model: Any) -> None:
    before = list(model.objects.order_by("pk").values())
    row = model.objects.first()
    answers = [
        superuser.post(place(model, "add"), {"name": "eve"}),
        superuser.post(
            place(model, "change", row.pk), {"name": "eve", "scopes": "health:read", "who": "eve"}
        ),
        superuser.post(place(model, "delete", row.pk), {"post": "yes"}),
    ]
    superuser.post(place(model, "changelist"), {"action": "delete_selected", "_selected_action": str(row.pk)})
    assert [answer.status_code for answer in answers] == [403] * 3
    assert list(model.objects.order_by("pk").values()) == before


@pytest.mark.parametrize("model", MODELS)
def test_staff_see_what_they_may_view(client: Client, keys: list[NewKey], model: Any) -> None:
    user = get_user_model().objects.create_user("staff", "staff@shop.example", "pw", is_staff=True)
    client.force_login(user)
    assert client.get(place(model, "changelist")).status_code == 403
    user.user_permissions.set(Permission.objects.filter(codename=f"view_{model._meta.model_name}"))
    assert client.get(place(model, "changelist")).status_code == 200
