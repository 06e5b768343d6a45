"""The shop's pages as a person, or somebody else, uses them."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth import get_user_model
from django.test import Client
from django.utils.http import urlsafe_base64_decode

from tests.reset_page import INVALID, NEW, set_password

FORGOT = "/accounts/forgot/"


def ask(client: Client, typed: str, **headers: str) -> Any:
    """The answer to a reset asked for on the shop's page; ``headers`` by their names in ``META``."""
    form = {"email": typed, "request_key": str(uuid.uuid4())}
    return client.post(FORGOT, form, **headers)  # type: ignore[arg-type]


def opened(client: Client, link: str) -> Any:
    """The page that a link leads to."""
    return client.get(urlsplit(link).path, follow=True)


def sent_form(client: Client, link: str, password: str = NEW) -> Any:
    """The answer to a new password, on the page that a link leads to."""
    return set_password(client, opened(client, link).request["PATH_INFO"], password)


def works(link: str) -> bool:
    """Whether a link leads to a page for a new password."""
    return INVALID not in opened(Client(), link).content.decode()


def account_of(link: str) -> Any:
    """The account that a link opens."""
    uid = urlsplit(link).path.split("/")[2]
    return get_user_model().objects.get(pk=urlsafe_base64_decode(uid).decode())
