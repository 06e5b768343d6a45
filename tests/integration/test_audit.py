from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from resetdelivery import audit
from resetdelivery.clock import database_now
from resetdelivery.models import AuditEntry

pytestmark = pytest.mark.django_db

LIST = "admin:resetdelivery_auditentry_changelist"


def record(**changes: str) -> None:
    audit.record(**{"who": "ada", "action": "channel_paused", "target": "sms", **changes})


def test_an_entry_says_who_what_which_and_why() -> None:
    record(why="the provider asked for it")
    entry = AuditEntry.objects.get()
    said = (entry.who, entry.action, entry.target, entry.why)
    assert said == ("ada", "channel_paused", "sms", "the provider asked for it")


def test_an_entry_bears_the_databases_time() -> None:
    before = database_now(connection)
    record()
    assert before <= AuditEntry.objects.get().at <= database_now(connection)


def test_a_reason_in_several_lines_becomes_one() -> None:
    record(why="  asked for\n\tby  the\u00a0provider\r\n")
    assert AuditEntry.objects.get().why == "asked for by the provider"


def test_an_entry_goes_with_the_change_that_it_tells_of() -> None:
    with transaction.atomic():
        record()
        transaction.set_rollback(True)
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(("name", "longest"), [("who", 150), ("action", 64), ("target", 128), ("why", 255)])
def test_each_part_may_be_as_long_as_its_column(name: str, longest: int) -> None:
    record(**{name: "x" * longest})
    with pytest.raises(audit.InvalidAuditEntry, match=f"{name} has {longest + 1} characters; {longest} are"):
        record(**{name: "x" * (longest + 1)})
    assert AuditEntry.objects.count() == 1


@pytest.mark.parametrize("name", ["who", "action", "target"])
def test_only_the_reason_may_be_missing(name: str) -> None:
    with pytest.raises(audit.InvalidAuditEntry, match=f"{name} must not be empty"):
        record(**{name: ""})


@pytest.mark.parametrize("character", ["\0", "\x1b", "\u202e", "\ud800"])
@pytest.mark.parametrize("name", ["who", "action", "target", "why"])
def test_what_cannot_be_printed_is_refused_and_not_repeated(name: str, character: str) -> None:
    with pytest.raises(audit.InvalidAuditEntry, match=rf"{name} \(15 characters\)") as caught:
        record(**{name: f"planted{character}planted"})
    assert "planted" not in str(caught.value)


# In the admin.


@pytest.fixture
def superuser(client: Client) -> Client:
    client.force_login(get_user_model().objects.create_superuser("root", "root@shop.example", "pw"))
    return client


def listed(client: Client, **asked: str) -> list[str]:
    return [entry.target for entry in client.get(reverse(LIST), asked).context["cl"].result_list]


def test_the_newest_entry_stands_first(superuser: Client) -> None:
    for target in ("email", "sms", "shop/aaaaaaaaaaaa"):
        record(target=target)
    assert listed(superuser) == ["shop/aaaaaaaaaaaa", "sms", "email"]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("shop", 1),
        (" SHOP/aaa ", 1),
        ("aaaaaaaaaaaa", 1),
        ("ada", 0),
        ("paused", 0),
        ("secret", 0),
        ("\0", 2),
    ],
)
def test_entries_are_found_by_their_target_and_by_nothing_else(
    superuser: Client, typed: str, found: int
) -> None:
    record(target="shop/aaaaaaaaaaaa", why="a secret reason")
    record(target="sms")
    assert len(listed(superuser, q=typed)) == found


def test_entries_are_filtered_by_what_was_done(superuser: Client) -> None:
    record(action="api_key_created", target="shop/aaaaaaaaaaaa")
    record()
    assert listed(superuser, action="api_key_created") == ["shop/aaaaaaaaaaaa"]


def test_an_entrys_page_shows_all_of_it(superuser: Client) -> None:
    record(why="the provider asked for it")
    entry = AuditEntry.objects.get()
    page = superuser.get(reverse("admin:resetdelivery_auditentry_change", args=[entry.pk])).content.decode()
    parts = (entry.who, entry.action, entry.target, entry.why)
    assert [part for part in parts if part not in page] == []
