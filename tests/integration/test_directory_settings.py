from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from resetdelivery.directory import DjangoUserDirectory, get_directory


def with_directory(path: str | None = None, **options: Any) -> override_settings:
    settings: dict[str, Any] = {"DIRECTORY_OPTIONS": options}
    return override_settings(RESETDELIVERY={**settings, **({"DIRECTORY": path} if path else {})})


def test_the_directory_is_djangos_users_where_nothing_else_is_set() -> None:
    with with_directory():
        assert isinstance(get_directory(), DjangoUserDirectory)


def test_the_directory_is_made_once() -> None:
    assert get_directory() is get_directory()


def test_a_changed_setting_makes_another_directory() -> None:
    before = get_directory()
    with with_directory(phone_field="phone"):
        assert get_directory() is not before


@pytest.mark.parametrize(
    ("path", "options", "sentence"),
    [
        ("resetdelivery.directory.NoSuchDirectory", {}, "cannot be imported"),
        ("no.such.module", {}, r"'no\.such\.module', which cannot be imported"),
        ("nodots", {}, "Write the dotted path of a class"),
        (None, {"phone": "phone"}, r"does not fit .*unexpected keyword argument 'phone'"),
        (
            None,
            {"phone_field": "phon"},
            r"\['phone_field'\] is 'phon', which is no field of .*Did you mean 'phone'",
        ),
        (None, {"email_field": "qqqq"}, r"Its fields are .*email"),
        (None, {"locale_field": "groups"}, r"\['locale_field'\] is 'groups'"),
    ],
)
def test_a_wrong_setting_is_told_with_its_name_and_value(
    path: str | None, options: dict[str, str], sentence: str
) -> None:
    with with_directory(path, **options), pytest.raises(ImproperlyConfigured, match=sentence):
        get_directory()
