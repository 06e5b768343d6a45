from __future__ import annotations

import datetime as dt

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.core.exceptions import ImproperlyConfigured
from django.test import RequestFactory, override_settings
from django.urls import get_script_prefix, path, set_script_prefix, set_urlconf
from django.utils import translation

from examples.marketplace.models import User
from resetdelivery.links import ResetTokenGenerator, base_url_problem, reset_link
from resetdelivery.views import PasswordResetConfirmView

EXPIRES_AT = dt.datetime(2027, 3, 14, 12, 30, tzinfo=dt.UTC)
GENERATOR = ResetTokenGenerator(email_field="email", clock=lambda: EXPIRES_AT - dt.timedelta(minutes=5))

urlpatterns = i18n_patterns(
    path("r/<uidb64>/<token>/", PasswordResetConfirmView.as_view(), name="password_reset_confirm")
)


def customer(pk: int = 7) -> User:
    return User(pk=pk, email="anna@shop.example", password="md5$salt$digest")


def link(user: User) -> str:
    return reset_link(user, EXPIRES_AT, generator=GENERATOR)


def test_a_link_is_the_base_address_and_the_page_with_account_and_token() -> None:
    token = GENERATOR.make_token_until(customer(), EXPIRES_AT)
    assert link(customer()) == f"https://shop.example/reset/Nw/{token}/"


def test_a_link_fits_one_text_message_beside_its_words() -> None:
    assert len(link(customer(pk=99_999_999))) <= 90


@pytest.mark.parametrize("base", ["https://shop.example/shop", "https://shop.example/shop/"])
def test_the_base_address_may_have_a_path(base: str) -> None:
    with override_settings(RESETDELIVERY={"RESET_BASE_URL": base}):
        assert link(customer()).startswith("https://shop.example/shop/reset/")


def test_nothing_of_a_request_gets_into_a_link() -> None:
    expected = link(customer())
    request = RequestFactory().get("/", headers={"host": "evil.example"}, SCRIPT_NAME="/evil")
    before = get_script_prefix()
    set_script_prefix(request.META["SCRIPT_NAME"] + "/")
    set_urlconf("tests.unit.no_such_urlconf")
    try:
        with translation.override("de"):
            assert link(customer()) == expected
        assert get_script_prefix() == "/evil/"
    finally:
        set_script_prefix(before)
        set_urlconf(None)


@override_settings(ROOT_URLCONF=__name__, LANGUAGE_CODE="fr")
def test_pages_with_a_language_in_their_path_have_one_address_in_every_language() -> None:
    with translation.override("de"):
        assert link(customer()).startswith("https://shop.example/fr/r/")


@pytest.mark.parametrize(
    ("url", "debug"),
    [
        ("https://shop.example", False),
        ("https://shop.example:8443/shop/", False),
        ("https://[2001:db8::1]", False),
        ("http://127.0.0.1:8000", True),
        ("http://localhost:8000", True),
        ("http://[::1]:8000", True),
    ],
)
def test_an_address_that_links_may_begin_with_has_no_problem(url: str, debug: bool) -> None:
    assert base_url_problem(url, debug=debug) is None


@pytest.mark.parametrize(
    ("url", "debug", "sentence"),
    [
        ("", False, "must begin with 'https://'"),
        ("shop.example", False, "must begin with 'https://'"),
        ("https://", False, "must begin with 'https://'"),
        ("ftp://shop.example", True, "scheme is 'ftp'"),
        ("http://shop.example", False, "scheme is 'http'"),
        ("http://shop.example", True, "on a loopback host"),
        ("http://127.0.0.1:8000", False, "for DEBUG"),
        ("http://localhost.evil.example", True, "on a loopback host"),
        ("https://shop.example:port", False, "is no address"),
        ("https://[::1", False, "is no address"),
        ("https://user@shop.example", False, "leave out user names"),
        ("https://shop.example?next=", False, "leave out user names, queries"),
        ("https://shop.example/#", False, "leave out user names, queries, fragments"),
        ("https://shop.example\n", False, "white space"),
        ("https://shop.example\\evil", False, "leave out"),
    ],
)
def test_a_problem_with_the_base_address_is_told(url: str, debug: bool, sentence: str) -> None:
    problem = base_url_problem(url, debug=debug)
    assert problem is not None
    assert sentence in problem


def test_no_link_is_made_for_an_address_with_a_problem() -> None:
    with (
        override_settings(RESETDELIVERY={"RESET_BASE_URL": "http://shop.example"}),
        pytest.raises(ImproperlyConfigured, match="RESET_BASE_URL"),
    ):
        link(customer())


@override_settings(DEBUG=True, RESETDELIVERY={"RESET_BASE_URL": "http://127.0.0.1:8000"})
def test_development_makes_links_to_its_own_machine() -> None:
    assert link(customer()).startswith("http://127.0.0.1:8000/reset/")
