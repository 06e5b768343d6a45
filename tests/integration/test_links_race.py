"""Two people, or two tabs, use one link at the same moment, or each sender's one of it."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth import views as auth_views
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import UserManager
from django.contrib.auth.tokens import default_token_generator
from django.db import connection, connections, models
from django.test import Client
from django.test.utils import isolate_apps

from examples.marketplace.models import User
from resetdelivery import directory as directory_module
from resetdelivery import views
from resetdelivery.directory import get_directory
from resetdelivery.links import utc_now
from tests.integration.conftest import Settings

pytestmark = pytest.mark.django_db(transaction=True)

CEILING_SECONDS = 20.0
WAITING_FOR_A_ROW = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ILIKE '%FOR UPDATE%'
"""


class _WithSomebody(UserManager[Any]):
    """Accounts with what may not be there: PostgreSQL locks no such row."""

    def get_queryset(self) -> models.QuerySet[Any]:
        return super().get_queryset().select_related("invited_by")


@pytest.fixture(params=["one table", "two tables"])
def user_model(request: pytest.FixtureRequest) -> Iterator[type[User]]:
    """The shop's user model, and one that inherits from it, with a table for this test alone."""
    if request.param == "one table":
        yield User
        return
    with isolate_apps("examples.marketplace"):

        class Seller(User):
            # Without a name there: the shop's own model is to know nothing of this one.
            account = models.OneToOneField(User, models.CASCADE, parent_link=True, related_name="+")
            invited_by = models.ForeignKey(User, models.CASCADE, null=True, related_name="+")

            objects = _WithSomebody()

            class Meta:
                app_label = "marketplace"

    with connection.schema_editor() as editor:
        editor.create_model(Seller)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auth_views, "UserModel", Seller)
        for module in (views, directory_module):
            patch.setattr(module, "get_user_model", lambda: Seller)
        get_directory.cache_clear()
        yield Seller
    get_directory.cache_clear()
    with connection.schema_editor() as editor:
        editor.delete_model(Seller)


Page = Callable[..., tuple[Client, str]]


@pytest.fixture
def page(user_model: type[User], change: Settings) -> Page:
    """Makes browsers that have opened the one link, or the existing sender's: each a client and its page."""
    anna = user_model(username="anna", email="anna@shop.example")
    anna.set_password("the old password")
    anna.save()
    ref = str(anna.pk)
    directory = get_directory()
    expires_at = utc_now().replace(microsecond=0) + dt.timedelta(minutes=10)
    link = urlsplit(directory.make_link(directory.get_many([ref])[ref], expires_at)).path
    change(LEGACY_TOKEN_GENERATOR="django.contrib.auth.tokens.default_token_generator")
    legacy = f"{link.rsplit('/', 2)[0]}/{default_token_generator.make_token(anna)}/"

    def browser(sender: str = "ours") -> tuple[Client, str]:
        client = Client()
        return client, client.get(legacy if sender == "theirs" else link).headers["Location"]

    return browser


class Gate:
    """Stops the first password form on its way into the database until it is let go."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()
        self._plain_save = SetPasswordForm.save

    def save(self, form: SetPasswordForm[User], *args: Any, **kwargs: Any) -> User:
        if not self.reached.is_set():
            self.reached.set()
            assert self.open.wait(CEILING_SECONDS)
        return self._plain_save(form, *args, **kwargs)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    gate = Gate()
    monkeypatch.setattr(SetPasswordForm, "save", lambda form, *a, **k: gate.save(form, *a, **k))
    return gate


def use(browser: tuple[Client, str], password: str) -> int:
    """Post ``password``; the answer's status: 302 is success, 200 the page of an invalid link."""
    client, page = browser
    try:
        return client.post(page, {"new_password1": password, "new_password2": password}).status_code
    finally:
        connections.close_all()


def wait_until(fact: Callable[[], bool]) -> None:
    ends = time.monotonic() + CEILING_SECONDS
    while not fact():
        assert time.monotonic() < ends, "what was waited for did not happen"
        threading.Event().wait(0.01)


def waits_for_a_row() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(WAITING_FOR_A_ROW)
        return bool(cursor.fetchone()[0])


SENDERS = [("ours", "ours"), ("ours", "theirs"), ("theirs", "ours"), ("theirs", "theirs")]


@pytest.mark.usefixtures("postgres_only")
@pytest.mark.parametrize(("sender", "other"), SENDERS)
def test_two_uses_at_once_of_one_link_or_of_both_senders_give_one_success(
    page: Page, gate: Gate, sender: str, other: str
) -> None:
    early, late = page(sender), page(other)
    with ThreadPoolExecutor(2) as pool:
        first: Future[int] = pool.submit(use, early, "password of the first")
        assert gate.reached.wait(CEILING_SECONDS)
        second: Future[int] = pool.submit(use, late, "password of the second")
        try:
            wait_until(lambda: second.done() or waits_for_a_row())
        finally:
            gate.open.set()
        assert (first.result(CEILING_SECONDS), second.result(CEILING_SECONDS)) == (302, 200)
    assert User.objects.get(username="anna").check_password("password of the first")


@pytest.mark.parametrize(("sender", "other"), SENDERS)
def test_two_uses_one_after_the_other_give_one_success(page: Page, sender: str, other: str) -> None:
    early, late = page(sender), page(other)
    assert (use(early, "password of the first"), use(late, "password of the second")) == (302, 200)
    assert User.objects.get(username="anna").check_password("password of the first")
