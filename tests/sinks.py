"""Where something personal could get out, each as one text to search."""

from __future__ import annotations

import contextlib
import logging
import logging.config
import sys
import threading
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core import serializers
from django.test import Client
from django.urls import reverse

from config.logging import logging_config

#: The one column that names an account; everything else is searched.
ALLOWED = frozenset({("resetdelivery.resetintent", "account_ref")})


@contextlib.contextmanager
def own_hooks() -> Iterator[None]:
    """Afterwards what nobody caught goes where it went before: pytest's own hooks fail a test for it."""
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
    try:
        yield
    finally:
        sys.excepthook, threading.excepthook, sys.unraisablehook = hooks


def formatters() -> Iterator[logging.Formatter]:
    """Both forms of this project's logs, made as its own configuration makes them, and a plain one.

    The first two leave values out, so that only the plain one shows what was given to a logger.
    """
    yield logging.Formatter()
    for form in ("json", "console"):
        found: list[dict[str, Any]] = []
        plain = logging.config.dictConfig
        logging.config.dictConfig = found.append  # type: ignore[assignment]
        try:
            with own_hooks():
                logging_config(form=form, debug=True)
        finally:
            logging.config.dictConfig = plain
        configurator = logging.config.DictConfigurator(found[0])
        yield configurator.configure_formatter(found[0]["formatters"]["structured"])


def stored(*, but: frozenset[tuple[str, str]] = ALLOWED) -> str:
    """Every column of every row of ours, but for those that may name an account."""
    rows = []
    for model in apps.get_app_config("resetdelivery").get_models():
        label = model._meta.label_lower
        names = [f.name for f in model._meta.concrete_fields if (label, f.name) not in but]
        rows.append(serializers.serialize("json", model._default_manager.all(), fields=names))
    return "\n".join(rows)


def pages() -> str:
    """Every list and every detail page of ours in the admin, as a superuser sees them."""
    user = get_user_model().objects.create_superuser("root", "root@shop.example", "a password")
    client = Client()
    client.force_login(user)
    found = []
    for model in admin.site._registry:
        if model._meta.app_label != "resetdelivery":
            continue
        where = f"admin:resetdelivery_{model._meta.model_name}"
        addresses = [reverse(f"{where}_changelist")]
        addresses += [reverse(f"{where}_change", args=[named(row)]) for row in model._default_manager.all()]
        answers = [client.get(address) for address in addresses]
        assert {answer.status_code for answer in answers} == {200}
        found += [answer.content.decode() for answer in answers]
    user.delete()
    return "\n".join(found)


def named(row: Any) -> object:
    """What a row is called in the address of its page."""
    return getattr(row, "reference", row.pk)


class Caught:
    """Exceptions as their callers, Celery's log and Flower see them."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def add(self, error: BaseException | None) -> None:
        """Note an error with everything that hangs on it."""
        while error is not None:
            self.texts += [str(error), repr(error)]
            error = error.__cause__ or error.__context__

    def text(self) -> str:
        return "\n".join(self.texts)
