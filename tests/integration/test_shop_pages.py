from __future__ import annotations

import re
import uuid
from html.parser import HTMLParser
from io import StringIO

import pytest
from django.contrib.staticfiles.views import serve
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import Client, RequestFactory, override_settings
from django.urls import reverse

from examples.marketplace.goods import GOODS
from examples.marketplace.models import User
from resetdelivery.models import Delivery, IdempotencyKey, ResetIntent

pytestmark = pytest.mark.django_db

FORGOT = "/accounts/forgot/"
SENT = "/accounts/forgot/sent/"


@pytest.fixture
def anna() -> User:
    return User.objects.create_user(
        "anna", email="anna@shop.example", phone="+4915228817386", password="the old password"
    )


class Page(HTMLParser):
    """What a person and a screen reader find on a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def all(self, *names: str) -> list[dict[str, str | None]]:
        return [attrs for tag, attrs in self.tags if tag in names]

    def value_of(self, name: str) -> str:
        return next(attrs["value"] or "" for attrs in self.all("input") if attrs.get("name") == name)


def shown(client: Client, path: str) -> Page:
    return Page(client.get(path).content.decode())


def ask(client: Client, email: str, key: str | None = None) -> str:
    """Ask for a reset; where the browser is sent, or the form again."""
    given = {"email": email, "request_key": key or str(uuid.uuid4())}
    response = client.post(FORGOT, given)
    return response.headers.get("Location") or response.content.decode()


@pytest.mark.parametrize(
    "submitted", ["anna", "Anna@Shop.example", "nobody", "nobody@shop.example", "ß@ü.example"]
)
def test_whatever_is_typed_the_next_page_is_the_same(client: Client, anna: User, submitted: str) -> None:
    assert ask(client, submitted) == SENT


def test_the_page_after_it_says_the_same_to_everybody(client: Client, anna: User) -> None:
    pages = []
    for submitted in ("anna", "nobody"):
        ask(client, submitted)
        pages.append(client.get(SENT).content)
    assert pages[0] == pages[1]


def test_asking_stores_one_intent_with_a_delivery_for_each_channel(client: Client, anna: User) -> None:
    ask(client, "anna@shop.example")
    intent = ResetIntent.objects.get()
    assert intent.account_ref == str(anna.pk)
    assert set(Delivery.objects.values_list("channel", flat=True)) == {"email", "sms"}


def test_pressing_the_button_twice_is_one_request(client: Client, anna: User) -> None:
    key = shown(client, FORGOT).value_of("request_key")
    assert [ask(client, "anna", key), ask(client, "anna", key)] == [SENT, SENT]
    assert (ResetIntent.objects.count(), IdempotencyKey.objects.count()) == (1, 1)


def test_each_showing_of_the_form_has_a_key_of_its_own(client: Client) -> None:
    keys = {shown(client, FORGOT).value_of("request_key") for _ in range(3)}
    assert len({uuid.UUID(key) for key in keys}) == 3


def test_another_address_typed_into_the_same_page_is_another_request(client: Client, anna: User) -> None:
    ben = User.objects.create_user("ben", email="ben@shop.example", password="the old password")
    key = shown(client, FORGOT).value_of("request_key")
    assert [ask(client, "anna", key), ask(client, "ben", key)] == [SENT, SENT]
    assert set(ResetIntent.objects.values_list("account_ref", flat=True)) == {str(anna.pk), str(ben.pk)}


def test_a_key_that_was_tampered_with_does_not_stop_the_request(client: Client, anna: User) -> None:
    assert ask(client, "anna", "' OR 1=1") == SENT
    assert ResetIntent.objects.count() == 1


@pytest.mark.parametrize("submitted", ["", "   ", "a" * 255, "anna\x00", "an\x07na"])
def test_what_cannot_be_an_account_is_told_on_the_form(client: Client, submitted: str) -> None:
    page = ask(client, submitted)
    assert 'role="alert"' in page
    assert 'aria-invalid="true"' in page
    assert not ResetIntent.objects.exists()


def test_the_form_is_not_kept_by_caches(client: Client) -> None:
    assert "no-store" in client.get(FORGOT).headers["Cache-Control"]


def test_home_says_who_is_signed_in_and_shows_the_goods(client: Client, anna: User) -> None:
    client.force_login(anna)
    html = client.get("/").content.decode()
    assert "You are signed in as <strong>anna</strong>" in html
    assert all(good.name in html for good in GOODS)


def test_signing_in_and_out_leads_home(client: Client, anna: User) -> None:
    signed_in = client.post(reverse("login"), {"username": "anna", "password": "the old password"})
    signed_out = client.post(reverse("logout"))
    assert [signed_in.headers["Location"], signed_out.headers["Location"]] == ["/", "/"]


PAGES = ["/", "/accounts/login/", FORGOT, SENT, "/reset/Nw/x/", "/reset/done/"]


@pytest.mark.parametrize("path", PAGES)
def test_each_page_has_a_language_a_title_one_heading_and_a_way_past_the_header(
    client: Client, path: str
) -> None:
    page = shown(client, path)
    assert page.all("html")[0]["lang"] == "en"
    assert len(page.all("title")) == len(page.all("h1")) == len(page.all("main")) == 1
    assert page.all("a")[0]["href"] == "#main"


@pytest.mark.parametrize("path", PAGES)
def test_each_page_loads_only_the_shops_own_files_and_runs_nothing(client: Client, path: str) -> None:
    page = shown(client, path)
    addresses = [a.get("src") or a.get("href") or "" for a in page.all("img", "link", "script", "iframe")]
    assert addresses
    assert all(address.startswith("/static/marketplace/") for address in addresses)
    assert not page.all("script", "style")
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on") or name == "style"]


@pytest.mark.parametrize("path", PAGES)
def test_each_field_has_a_label(client: Client, path: str) -> None:
    page = shown(client, path)
    labelled = {label["for"] for label in page.all("label")}
    fields = [a for a in page.all("input", "textarea", "select") if a.get("type") != "hidden"]
    assert {field["id"] for field in fields} <= labelled


def test_the_style_sheet_is_served_by_any_server_in_development(client: Client) -> None:
    with override_settings(DEBUG=True):
        response = serve(RequestFactory().get("/"), "marketplace/shop.css")
    assert response.headers["Content-Type"] == "text/css"
    response.close()


def demo_accounts(*options: str) -> str:
    out = StringIO()
    call_command("create_demo_accounts", *options, stdout=out)
    return out.getvalue()


def rows(table: str) -> list[list[str]]:
    return [re.split(r" {2,}", line) for line in table.splitlines()]


def test_the_demo_accounts_sign_in_with_the_printed_passwords(client: Client) -> None:
    headings, *people = rows(demo_accounts())
    assert headings == ["username", "email", "phone", "password"]
    assert [client.login(username=person[0], password=person[3]) for person in people] == [True, True]


def test_the_demo_accounts_can_be_reached_by_both_channels() -> None:
    demo_accounts()
    for user in User.objects.all():
        user.full_clean()
        assert user.email
        assert user.phone


def test_making_the_demo_accounts_again_changes_nothing() -> None:
    demo_accounts()
    before = list(User.objects.values_list("pk", "password"))
    assert "(unchanged)" in demo_accounts()
    assert list(User.objects.values_list("pk", "password")) == before


def test_new_passwords_can_be_given_to_the_demo_accounts(client: Client) -> None:
    demo_accounts()
    _, anna, _ = rows(demo_accounts("--new-passwords"))
    assert client.login(username=anna[0], password=anna[3])


@pytest.mark.parametrize("phone", ["0152288", "+0152288", "+49 1522 88", "+4915228817386\n", "+" + "4" * 16])
def test_a_number_that_is_not_e164_cannot_be_entered(phone: str) -> None:
    user = User(username="anna", password="x", phone=phone)
    with pytest.raises(ValidationError, match="Write a plus sign"):
        user.full_clean()
