from __future__ import annotations

import pytest
from django.test import override_settings

from resetdelivery.conf import load


@override_settings(SECRET_KEY="first", SECRET_KEY_FALLBACKS=["second"])
def test_links_are_signed_with_djangos_keys_where_none_are_set() -> None:
    assert load({}).signing_keys() == ("first", "second")


@override_settings(SECRET_KEY="first", SECRET_KEY_FALLBACKS=["second"])
def test_link_keys_of_ones_own_replace_djangos() -> None:
    assert load({"LINK_KEYS": ["own", "older"]}).signing_keys() == ("own", "older")


def test_pseudonym_keys_keep_their_order_the_newest_first() -> None:
    keys = load({"PSEUDONYM_KEYS": {"k2": "new", "k1": "old"}}).digest_keys()
    assert [(key.id, key.secret) for key in keys] == [("k2", b"new"), ("k1", b"old")]


@override_settings(SECRET_KEY="first", SECRET_KEY_FALLBACKS=["second"])
def test_ids_of_djangos_keys_do_not_give_the_keys_away() -> None:
    new, old = load({}).digest_keys()
    assert (new.secret, old.secret) == (b"first", b"second")
    assert new.id != old.id
    assert len(new.id) <= 8


@override_settings(SECRET_KEY="first", SECRET_KEY_FALLBACKS=[])
def test_a_rotated_key_keeps_its_id() -> None:
    (before,) = load({}).digest_keys()
    with override_settings(SECRET_KEY="next", SECRET_KEY_FALLBACKS=["first"]):
        assert load({}).digest_keys()[1] == before


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://shop.example", "shop.example"),
        ("https://Shop.Example:8443/de", "shop.example"),
        ("", "localhost"),
    ],
)
def test_message_ids_end_in_the_host_of_the_link(url: str, host: str) -> None:
    assert load({"RESET_BASE_URL": url}).message_id_host() == host
