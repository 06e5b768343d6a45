"""Django's report of an error on the reset page, as it is mailed to ADMINS."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils.log import AdminEmailHandler

from examples.marketplace.models import User
from resetdelivery import views
from tests.reset_page import NEW, OLD, opened, path_of_link, set_password

pytestmark = pytest.mark.django_db


@pytest.fixture
def reporter() -> str:
    """The project's own."""
    return ""


class Mailed(AdminEmailHandler):
    """Django's handler, up to the moment at which it would open a connection."""

    def __init__(self, sent: list[str]) -> None:
        super().__init__(include_html=True)
        self._sent = sent

    def send_mail(self, subject: object, message: object, *_: Any, **options: Any) -> None:
        self._sent += [str(subject), str(message), str(options["html_message"])]


@pytest.fixture
def mailed(settings: Any, reporter: str) -> Iterator[list[str]]:
    """Subject, text and HTML of each report."""
    settings.DEFAULT_EXCEPTION_REPORTER = reporter or settings.DEFAULT_EXCEPTION_REPORTER
    sent: list[str] = []
    handler, logger = Mailed(sent), logging.getLogger("django.request")
    logger.addHandler(handler)
    yield sent
    logger.removeHandler(handler)


@pytest.fixture
def user() -> User:
    # A key whose spelling in a link nothing else in a report looks like.
    return User.objects.create_user("anna", pk=2718281828, email="anna@shop.example", password=OLD)


@pytest.fixture
def browser() -> Client:
    return Client(raise_request_exception=False)


def broken(*_: Any, **__: Any) -> Any:
    raise RuntimeError("broken on purpose")


def report_of(mailed: list[str]) -> str:
    assert len(mailed) == 3
    assert all(mailed)
    whole = "\n".join(mailed)
    assert whole.count("broken on purpose") > 2
    return whole


Step = Callable[[Client, str], Any]
PLACES: dict[str, tuple[str, Step]] = {
    "looking at a link": ("wait_seconds", lambda browser, path: browser.get(path)),
    "checking a link": ("ResetTokenGenerator.check_token", lambda browser, path: browser.get(path)),
    "posting to a link": ("wait_seconds", set_password),
}


@pytest.mark.parametrize(("place", "step"), PLACES.values(), ids=PLACES)
def test_a_report_shows_no_link(
    browser: Client,
    user: User,
    monkeypatch: pytest.MonkeyPatch,
    mailed: list[str],
    place: str,
    step: Step,
) -> None:
    path = path_of_link(user)
    monkeypatch.setattr(f"resetdelivery.views.{place}", broken)
    assert step(browser, path).status_code == 500
    report, (uid, token) = report_of(mailed), path.split("/")[2:4]
    assert "/reset/[link]/" in report
    assert (token in report, uid in report) == (False, False)


@pytest.mark.parametrize("place", ["wait_seconds", "locked", "run_hooks", "get_directory"])
def test_a_report_shows_no_password_and_no_account(
    browser: Client,
    user: User,
    monkeypatch: pytest.MonkeyPatch,
    mailed: list[str],
    place: str,
) -> None:
    path = path_of_link(user)
    page = opened(browser, path)
    monkeypatch.setattr(views, place, broken)
    assert set_password(browser, page).status_code == 500
    report, (uid, token) = report_of(mailed), path.split("/")[2:4]
    stored = User.objects.get(pk=user.pk).password
    assert [word for word in (NEW, stored, token, uid, "anna@shop.example") if word in report] == []


@pytest.mark.parametrize("reporter", ["django.views.debug.ExceptionReporter"])
def test_a_stock_report_would_show_the_link(
    browser: Client,
    user: User,
    monkeypatch: pytest.MonkeyPatch,
    mailed: list[str],
) -> None:
    path = path_of_link(user)
    monkeypatch.setattr(views, "wait_seconds", broken)
    browser.get(path)
    report, (uid, token) = report_of(mailed), path.split("/")[2:4]
    assert (token in report, uid in report) == (True, True)
