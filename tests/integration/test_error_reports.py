"""Django's report of an error on the reset page, as it is mailed to ADMINS."""

from __future__ import annotations

import logging
import subprocess
import sys
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


def personal(user: User, path: str, report: str) -> list[str]:
    """What of ``user``, of the link and of the form is in ``report``."""
    (uid, token), stored = path.split("/")[2:4], User.objects.get(pk=user.pk).password
    return [word for word in (NEW, stored, token, uid, user.email) if word in report]


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
    assert personal(user, path, report_of(mailed)) == []


def test_what_a_directory_says_in_its_error_is_in_no_report(
    browser: Client, user: User, monkeypatch: pytest.MonkeyPatch, mailed: list[str]
) -> None:
    path = path_of_link(user)
    page = opened(browser, path)
    monkeypatch.setattr(views, "_phone", broken)
    assert set_password(browser, page).status_code == 503
    report = "\n".join(mailed)
    assert "Service Unavailable: /reset/[link]/" in report
    assert "broken on purpose" not in report
    assert personal(user, path, report) == []


REPORT_RUNS = """
import sys
from types import SimpleNamespace
import django.conf
from resetdelivery.error_reports import LinkFreeReporter
django.conf.settings.configure()
for run in sys.argv[1:]:
    match = SimpleNamespace(kwargs={"uidb64": run * 400_000})
    reporter = LinkFreeReporter(SimpleNamespace(resolver_match=match), None, None, None)
    reporter._without_links(5 * (run * 399_999 + " "))
"""
HANGS_SECONDS = 60


def test_a_report_of_a_long_path_does_not_hang() -> None:
    # A few seconds. One step for each pair of characters would take hours.
    runs = ["~", ".", "=", "\u00fc", "-_", "a"]
    subprocess.run([sys.executable, "-c", REPORT_RUNS, *runs], check=True, timeout=HANGS_SECONDS)


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
