from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from examples.marketplace.models import User
from notifications.channels import Channel
from resetdelivery.directory import MAX_ACCOUNTS, DjangoUserDirectory

pytestmark = pytest.mark.django_db

EXPIRES_AT = timezone.now().replace(microsecond=0) + dt.timedelta(hours=6)
JOINED = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.fixture
def directory() -> DjangoUserDirectory:
    return DjangoUserDirectory(phone_field="phone")


def customer(username: str = "anna", **given: Any) -> User:
    values = {"email": f"{username}@shop.example", "phone": "+4915228817386", "password": "old password"}
    return User.objects.create_user(username, **{**values, **given})


@pytest.mark.parametrize(
    "submitted",
    [
        pytest.param("anna", id="user name"),
        pytest.param("anna@shop.example", id="address"),
        pytest.param("ANNA@Shop.Example", id="address in other case"),
        pytest.param("  anna@shop.example\n", id="white space around"),
        pytest.param("ａｎｎａ@shop.example", id="full-width letters"),
    ],
)
def test_an_account_is_found_by_what_a_person_types(directory: DjangoUserDirectory, submitted: str) -> None:
    user = customer()
    customer("ben")
    assert directory.resolve(submitted) == (str(user.pk),)


@pytest.mark.parametrize(
    "submitted",
    [
        "nobody",
        "nobody@shop.example",
        "",
        " ",
        "\x00",
        "anna\x00",
        "\ud800",
        "%",
        "a_na",
        "anna@shop.example%",
    ],
)
def test_what_belongs_to_nobody_resolves_to_nothing(directory: DjangoUserDirectory, submitted: str) -> None:
    customer(phone="")
    customer("without", email="")
    assert directory.resolve(submitted) == ()


def test_a_letter_that_only_looks_alike_finds_nobody(directory: DjangoUserDirectory) -> None:
    customer("mike")
    assert directory.resolve("mıke@shop.example") == ()


def test_the_address_that_is_used_is_the_stored_one(directory: DjangoUserDirectory) -> None:
    customer("kim")
    (ref,) = directory.resolve("KIM@shop.example")
    assert directory.get_many([ref])[ref].email == "kim@shop.example"


def test_all_accounts_of_a_shared_address_are_found_the_earliest_to_join_first(
    directory: DjangoUserDirectory,
) -> None:
    new = customer("new", email="Family@shop.example", date_joined=JOINED + dt.timedelta(days=1))
    old = customer("old", email="family@shop.example", date_joined=JOINED)
    assert directory.resolve("family@shop.example") == (str(old.pk), str(new.pk))


def test_no_more_than_a_few_accounts_are_found(directory: DjangoUserDirectory) -> None:
    for number in range(MAX_ACCOUNTS + 1):
        customer(f"member{number}", email="family@shop.example")
    assert len(directory.resolve("family@shop.example")) == MAX_ACCOUNTS


def test_the_account_whose_user_name_was_typed_comes_first(directory: DjangoUserDirectory) -> None:
    named = customer("box@shop.example", email="other@shop.example", date_joined=JOINED)
    for number in range(MAX_ACCOUNTS):
        customer(f"member{number}", email="box@shop.example")
    assert directory.resolve("box@shop.example")[0] == str(named.pk)


@pytest.mark.parametrize("given", [{"is_active": False}, {"password": None}], ids=["inactive", "sso only"])
def test_an_account_that_may_not_reset_is_found_and_called_unusable(
    directory: DjangoUserDirectory, given: dict[str, Any]
) -> None:
    ref = str(customer(**given).pk)
    assert directory.resolve("anna") == (ref,)
    assert not directory.get_many([ref])[ref].usable


@pytest.mark.parametrize("submitted", ["anna", "anna@shop.example", "nobody", "nobody@shop.example", "\x00"])
def test_known_and_unknown_take_one_query_alike(
    directory: DjangoUserDirectory, submitted: str, django_assert_num_queries: Any
) -> None:
    customer()
    with django_assert_num_queries(1):
        directory.resolve(submitted)


def test_many_accounts_take_one_query(directory: DjangoUserDirectory, django_assert_num_queries: Any) -> None:
    refs = [str(customer(f"member{number}").pk) for number in range(50)]
    with django_assert_num_queries(1):
        accounts = directory.get_many(refs)
        links = [directory.make_link(account, EXPIRES_AT) for account in accounts.values()]
    assert set(accounts) == set(refs)
    assert len(set(links)) == 50


@pytest.mark.parametrize(
    "ref",
    [
        "999999",
        "",
        "~decoy",
        "1.5",
        "-1",
        "9" * 30,
        "9" * 5000,
        "\x00",
        "\ud800",
        "3f1c2d9e-6f0b-4a57-8d0c-1c2b3a4d5e6f",
    ],
)
def test_a_reference_that_names_nobody_is_absent_after_the_same_one_query(
    directory: DjangoUserDirectory, ref: str, django_assert_num_queries: Any
) -> None:
    customer()
    with django_assert_num_queries(1):
        assert directory.get_many([ref]) == {}


def test_the_good_references_of_a_batch_are_found_beside_the_bad_ones(directory: DjangoUserDirectory) -> None:
    ref = str(customer().pk)
    assert list(directory.get_many([ref, "~decoy", "999999"])) == [ref]


@pytest.mark.parametrize("spelling", ["0{}", " {}", "+{}", "{}\n"])
def test_a_second_spelling_of_a_reference_is_no_reference(
    directory: DjangoUserDirectory, spelling: str
) -> None:
    assert directory.get_many([spelling.format(customer().pk)]) == {}


def test_an_account_says_where_it_is_reached(directory: DjangoUserDirectory) -> None:
    account = directory.account(customer())
    assert account.destination(Channel.EMAIL) == "anna@shop.example"
    assert account.destination(Channel.SMS) == "+4915228817386"


@pytest.mark.parametrize(
    ("phone", "expected"),
    [
        ("", None),
        ("+49 1522 881-7386", "+4915228817386"),
        ("+49 (1522) 8817386", "+4915228817386"),
        ("015228817386", None),
        ("+049152288173", None),
        ("+49152288173861234", None),
        ("+4٩١٥٢٢٨٨١٧٣٨٦", None),
    ],
)
def test_a_number_that_is_not_e164_is_no_destination(
    directory: DjangoUserDirectory, phone: str, expected: str | None
) -> None:
    assert directory.account(User(pk=1, phone=phone)).phone == expected


def test_an_account_without_an_address_has_no_email_destination(directory: DjangoUserDirectory) -> None:
    assert directory.account(User(pk=1, email="")).destination(Channel.EMAIL) is None


def test_a_directory_without_a_phone_field_knows_no_numbers() -> None:
    assert DjangoUserDirectory().account(customer()).phone is None


def test_the_locale_comes_from_the_field_that_was_named() -> None:
    directory = DjangoUserDirectory(locale_field="first_name")
    assert directory.account(User(pk=1, first_name="de")).locale == "de"


def test_an_account_shows_nothing_personal(directory: DjangoUserDirectory) -> None:
    user = customer()
    shown = repr(directory.account(user))
    for secret in (user.email, user.phone, user.password, user.username, f"'{user.pk}'"):
        assert secret not in shown


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        pytest.param({"password": "md5$other$digest"}, False, id="password"),
        pytest.param({"email": "anna@elsewhere.example"}, False, id="email"),
        pytest.param({"phone": "+4917604069001"}, False, id="phone"),
        pytest.param({"is_active": False}, False, id="inactive"),
        pytest.param({"last_login": JOINED}, True, id="last login"),
        pytest.param({"username": "renamed"}, True, id="user name"),
        pytest.param({"email": "anna@SHOP.example"}, True, id="the same mailbox"),
    ],
)
def test_state_and_link_change_together_with_what_they_are_made_of(
    directory: DjangoUserDirectory, changes: dict[str, Any], same: bool
) -> None:
    user = customer()
    before = directory.account(user)
    link_before = directory.make_link(before, EXPIRES_AT)
    for name, value in changes.items():
        setattr(user, name, value)
    after = directory.account(user)
    assert (after.state == before.state) is same
    if changes.keys() != {"is_active"}:  # an inactive account's link is refused where it is used
        assert (directory.make_link(after, EXPIRES_AT) == link_before) is same


def test_a_link_is_the_same_on_each_retry(directory: DjangoUserDirectory) -> None:
    ref = str(customer().pk)
    first, retry = (directory.make_link(directory.get_many([ref])[ref], EXPIRES_AT) for _ in range(2))
    assert first == retry


def test_a_users_table_elsewhere_is_read_where_the_router_says(directory: DjangoUserDirectory) -> None:
    with override_settings(DATABASE_ROUTERS=[_Elsewhere()]), pytest.raises(_Asked) as asked:
        directory.get_many(["1"])
    assert asked.value.args == (User,)


class _Asked(Exception):
    """The router was asked for the model in its argument."""


class _Elsewhere:
    def db_for_read(self, model: type, **hints: object) -> str:
        raise _Asked(model)
