"""Members of the staff in front of the admin, and what they read there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

SignIn = Callable[..., Client]


@pytest.fixture
def sign_in(client: Client, make_account: Callable[..., Any]) -> SignIn:
    """Signs in a member of the staff who may do just what is named."""

    def sign_in_with(*codenames: str, is_staff: bool = True, **fields: Any) -> Client:
        user = make_account(is_staff=is_staff, **fields)
        user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        client.force_login(user)
        return client

    return sign_in_with


def words(text: str) -> str:
    """What a reader sees."""
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())
