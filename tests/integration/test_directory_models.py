"""Other user models than the shop's: what a host project may have."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.db import connection, models
from django.test.utils import isolate_apps
from django.utils import timezone

from notifications.channels import Channel
from resetdelivery import directory as module
from resetdelivery.directory import DjangoUserDirectory

EXPIRES_AT = timezone.now().replace(microsecond=0) + dt.timedelta(hours=6)
MEMBER_ID = uuid.UUID("3f1c2d9e-6f0b-4a57-8d0c-1c2b3a4d5e6f")


@pytest.fixture
def member_model(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Any]]:
    """A user model with a UUID key and fields of its own names, its table for this test only."""
    with isolate_apps("examples.marketplace"):

        class Member(AbstractBaseUser):
            id = models.UUIDField(primary_key=True, default=uuid.uuid4)
            handle = models.CharField(max_length=64, unique=True)
            contact = models.EmailField(blank=True)

            objects = BaseUserManager()

            USERNAME_FIELD = "handle"
            EMAIL_FIELD = "contact"

            class Meta:
                app_label = "marketplace"

    yield from with_table(Member, monkeypatch)


@pytest.fixture
def badge_model(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Any]]:
    """A user model whose key is a text, its table for this test only."""
    with isolate_apps("examples.marketplace"):

        class Badge(AbstractBaseUser):
            code = models.CharField(primary_key=True, max_length=32)
            USERNAME_FIELD = "code"

            objects = BaseUserManager()

            class Meta:
                app_label = "marketplace"

    yield from with_table(Badge, monkeypatch)


def with_table(model: type[Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Any]]:
    """``model`` as the user model, with a table as long as the test runs."""
    with connection.schema_editor() as editor:
        editor.create_model(model)
    monkeypatch.setattr(module, "get_user_model", lambda: model)
    yield model
    with connection.schema_editor() as editor:
        editor.delete_model(model)


@pytest.fixture
def nameless_model(monkeypatch: pytest.MonkeyPatch) -> type[Any]:
    """A user model that has no address at all; without a table."""
    with isolate_apps("examples.marketplace"):

        class Terminal(AbstractBaseUser):
            serial = models.CharField(max_length=32, unique=True)
            USERNAME_FIELD = "serial"

            class Meta:
                app_label = "marketplace"

    monkeypatch.setattr(module, "get_user_model", lambda: Terminal)
    return Terminal


def test_a_uuid_key_is_a_reference_in_its_one_canonical_form(member_model: type[Any]) -> None:
    member_model.objects.create(id=MEMBER_ID, handle="anna", contact="anna@shop.example")
    directory = DjangoUserDirectory()
    assert list(directory.get_many([str(MEMBER_ID)])) == [str(MEMBER_ID)]
    assert directory.get_many([MEMBER_ID.hex, str(MEMBER_ID).upper(), "7", "~decoy"]) == {}


def test_a_member_is_found_by_the_models_own_name_and_address_fields(member_model: type[Any]) -> None:
    member_model.objects.create(id=MEMBER_ID, handle="anna", contact="box@shop.example")
    directory = DjangoUserDirectory()
    assert directory.resolve("anna") == directory.resolve("BOX@shop.example") == (str(MEMBER_ID),)


@pytest.mark.parametrize("ref", ["\x00", "\ud800", "a" * 100], ids=["nul", "surrogate", "too long"])
def test_a_reference_that_no_text_key_can_be_is_absent(badge_model: type[Any], ref: str) -> None:
    badge_model.objects.create(code="A-1")
    assert list(DjangoUserDirectory().get_many(["A-1", ref])) == ["A-1"]


def test_members_that_share_an_address_come_in_the_order_of_their_keys(member_model: type[Any]) -> None:
    keys = [uuid.UUID(int=number) for number in (3, 1, 2)]
    for key in keys:
        member_model.objects.create(id=key, handle=str(key), contact="box@shop.example")
    assert DjangoUserDirectory().resolve("box@shop.example") == tuple(map(str, sorted(keys)))


def test_a_member_without_a_phone_field_has_an_email_destination_and_a_link(
    member_model: type[Any],
) -> None:
    member = member_model(
        id=MEMBER_ID, handle="anna", contact="anna@shop.example", password="md5$salt$digest"
    )
    directory = DjangoUserDirectory()
    account = directory.account(member)
    token = directory.make_link(account, EXPIRES_AT).rstrip("/").rpartition("/")[2]
    assert (account.destination(Channel.EMAIL), account.destination(Channel.SMS)) == (member.contact, None)
    assert directory.token_generator.check_token(member, token)


def test_a_model_without_any_address_has_accounts_without_destinations(nameless_model: type[Any]) -> None:
    account = DjangoUserDirectory().account(nameless_model(pk=1, serial="A-1", password="md5$salt$digest"))
    assert [account.destination(channel) for channel in Channel] == [None, None]


def test_the_models_of_these_tests_leave_no_trace_in_the_registry(member_model: type[Any]) -> None:
    assert "member" not in apps.all_models["marketplace"]
