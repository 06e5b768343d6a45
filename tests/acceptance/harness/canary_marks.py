"""The marked values of the canary test."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib.auth import get_user_model

from notifications.testing.provider import Submission
from resetdelivery.conf import get_settings
from tests.acceptance.harness.canary import Mark
from tests.acceptance.harness.canary_texts import (
    BAD_KEY,
    BODY,
    BOX,
    BRAND,
    HINT,
    KEY,
    NAME,
    PASSWORD,
    PROVIDER_SECRET,
    PROVIDER_TEXT,
    REF,
    SUPPORT,
    TYPED,
)
from tests.acceptance.harness.copies import text_of

_LINK = re.compile(r"https://shop\.example/reset/([^/\s]+)/([^/\s]+)/")


def account(number: int) -> Any:
    """A marked account; ``number`` is below 1000."""
    return get_user_model().objects.create_user(
        f"{NAME}.{number}",
        pk=REF * 1000 + number,
        email=f"{BOX}.{number}@example.com",
        phone=phone_of(number),
        password=f"an old {PASSWORD}",
    )


def phone_of(number: int) -> str:
    """The telephone number of an account."""
    return f"+4915170414{number:03}"


def links(submissions: Iterable[Submission]) -> list[tuple[str, str]]:
    """The account's part and the token of every link that was sent."""
    found = [_LINK.search(text_of(submission)) for submission in submissions]
    return [(link[1], link[2]) for link in found if link]


def marks(*, accounts: Iterable[Any], submissions: Iterable[Submission], api_key: str) -> Iterator[Mark]:
    """Everything that must turn up nowhere."""
    fixed = {
        "address": BOX,
        "name": NAME,
        "account reference": str(REF),
        "typed address": TYPED.partition("@")[0],
        "idempotency key": KEY,
        "wrong API key": BAD_KEY,
        "API key": api_key.split("_", 2)[2],  # the secret may hold one as well
        "provider's text": PROVIDER_TEXT,
        "provider's secret": PROVIDER_SECRET,
        "body of a call": BODY,
        "hint": HINT,
        "password": PASSWORD,
        "brand": BRAND,
        "support": SUPPORT.partition("@")[0],
    }
    yield from (Mark(name=name, value=value) for name, value in fixed.items())
    yield from (Mark(name="key of the settings", value=key) for key in get_settings().signing_keys())
    yield from (
        Mark(name="key of the settings", value=k.secret.decode()) for k in get_settings().digest_keys()
    )
    for one in accounts:
        yield Mark(name="telephone number", value=one.phone.removeprefix("+49"))
        yield Mark(name="password's hash", value=one.password)
    for uid, token in links(submissions):
        yield Mark(name="account in a link", value=uid)
        yield Mark(name="token", value=token)
