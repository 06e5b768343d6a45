from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from notifications.channels import Channel
from resetdelivery.conf import (
    ChannelSettings,
    Dispatch,
    Recovery,
    Settings,
    SettingsInvalid,
    get_settings,
    load,
)


def problems(raw: object) -> list[str]:
    """What ``load`` objects to."""
    with pytest.raises(SettingsInvalid) as caught:
        load(raw)
    return caught.value.problems


def channel_problems(**options: Any) -> list[str]:
    return problems({"CHANNELS": {"email": options}})


def test_nothing_set_is_email_through_the_broker() -> None:
    settings = load({})
    assert list(settings.channels) == [Channel.EMAIL]
    assert settings.channel(Channel.EMAIL).transport == "notifications.email.smtp.SmtpTransport"
    assert (settings.dispatch, settings.recovery) == (Dispatch.BROKER, Recovery.ON)


def test_sms_lives_ten_minutes_and_is_resent_once_after_an_ambiguous_answer() -> None:
    sms = load({"CHANNELS": {"sms": {}}}).channel(Channel.SMS)
    assert (sms.queue, sms.max_lifetime, sms.max_ambiguous_resends) == ("sms", dt.timedelta(minutes=10), 1)


def test_what_is_set_on_a_channel_leaves_its_other_defaults() -> None:
    sms = load({"CHANNELS": {"sms": {"WAVE": 4}}}).channel(Channel.SMS)
    assert (sms.wave, sms.queue, sms.max_attempts) == (4, "sms", 6)


def test_channels_keep_the_order_in_which_they_are_written() -> None:
    assert list(load({"CHANNELS": {"sms": {}, "email": {}}}).channels) == [Channel.SMS, Channel.EMAIL]


def test_an_unconfigured_channel_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        load({}).channel(Channel.SMS)


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("LIFETIME", dt.timedelta(minutes=5), dt.timedelta(minutes=5)),
        ("MIN_USEFUL", dt.timedelta(0), dt.timedelta(0)),
        ("CLAIM_LIMIT", 1, 1),
        ("DISPATCH", "database", Dispatch.DATABASE),
        ("DISPATCH", Dispatch.INLINE, Dispatch.INLINE),
        ("RECOVERY", "observe", Recovery.OBSERVE),
        ("LINK_KEYS", ["one", "two"], ("one", "two")),
        ("PSEUDONYM_KEYS", {"k1": "secret"}, {"k1": "secret"}),
        ("DIRECTORY_OPTIONS", {"phone_field": "phone"}, {"phone_field": "phone"}),
    ],
)
def test_values_are_read_in_their_types(key: str, value: object, read: object) -> None:
    assert getattr(load({key: value}), key.lower()) == read


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("LIFETIME", 600, "must be a datetime.timedelta, not int."),
        ("LIFETIME", dt.timedelta(seconds=-1), "must not be negative, but is -1 day, 23:59:59."),
        ("LIFETIME", None, "must be a datetime.timedelta, not NoneType."),
        ("CLAIM_LIMIT", "50", "must be a whole number, not str."),
        ("CLAIM_LIMIT", True, "must be a whole number, not bool."),
        ("CLAIM_LIMIT", 0, "must be 1 or more, but is 0."),
        ("MAX_CLAIMS", 2.0, "must be a whole number, not float."),
        ("DISPATCH", "brokr", "is 'brokr'; use 'broker', 'database', 'inline'."),
        ("DISPATCH", None, "is None; use 'broker', 'database', 'inline'."),
        ("RECOVERY", "yes", "is 'yes'; use 'off', 'observe', 'on'."),
        ("BRAND", b"Shop", "must be a string, not bytes."),
        ("LINK_KEYS", "one key", "must be a list of strings, none of them empty."),
        ("LINK_KEYS", ["one", ""], "must be a list of strings, none of them empty."),
        (
            "PSEUDONYM_KEYS",
            {"a:b": "s"},
            "must be a dict of key ids (1 to 8 characters, no colon) and secrets.",
        ),
        ("PSEUDONYM_KEYS", {"k": ""}, "must be a dict of key ids (1 to 8 characters, no colon) and secrets."),
        ("DIRECTORY_OPTIONS", {1: 2}, "must be a dict with strings as keys."),
    ],
)
def test_a_wrong_value_is_named_with_what_it_must_be(key: str, value: object, sentence: str) -> None:
    assert problems({key: value}) == [f"RESETDELIVERY[{key!r}] {sentence}"]


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("WAVE", 0, "must be 1 or more, but is 0."),
        ("BACKOFF_FACTOR", 0.5, "must be a number of 1 or more."),
        ("BACKOFF_FACTOR", "2", "must be a number of 1 or more."),
        ("MAX_AMBIGUOUS_RESENDS", -1, "must be None or a whole number of 0 or more."),
        ("MAX_AMBIGUOUS_RESENDS", True, "must be None or a whole number of 0 or more."),
        ("TRANSPORT", None, "must be a string, not NoneType."),
        ("OPTIONS", ["host"], "must be a dict with strings as keys."),
        ("SEND_BUDGET", 15.0, "must be a datetime.timedelta, not float."),
    ],
)
def test_a_wrong_value_of_a_channel_is_named_with_the_channel(key: str, value: object, sentence: str) -> None:
    assert channel_problems(**{key: value}) == [f"RESETDELIVERY['CHANNELS']['email'][{key!r}] {sentence}"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("LIFETME", "LIFETIME"),
        ("lifetime", "LIFETIME"),
        ("RESET_BASEURL", "RESET_BASE_URL"),
        ("LINKS_KEYS", "LINK_KEYS"),
        ("SWEEP_INTERVALL", "SWEEP_INTERVAL"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_right_one(written: str, meant: str) -> None:
    assert problems({written: 1}) == [f"RESETDELIVERY has no setting {written!r}. Did you mean {meant!r}?"]


def test_a_misspelt_name_of_a_channel_is_answered_too() -> None:
    assert channel_problems(TRANSPRT="x") == [
        "RESETDELIVERY['CHANNELS']['email'] has no setting 'TRANSPRT'. Did you mean 'TRANSPORT'?"
    ]


def test_a_name_like_no_other_is_answered_with_all() -> None:
    (problem,) = problems({"COLOUR": "red"})
    assert "has no setting 'COLOUR'. Known are" in problem
    for name in ("'LIFETIME'", "'DISPATCH'", "'LINK_KEYS'"):
        assert name in problem


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (None, "RESETDELIVERY must be a dict, not NoneType."),
        ([], "RESETDELIVERY must be a dict, not list."),
        (
            {"CHANNELS": {}},
            "RESETDELIVERY['CHANNELS'] must be a dict with at least one channel, such as 'email'.",
        ),
        (
            {"CHANNELS": ["email"]},
            "RESETDELIVERY['CHANNELS'] must be a dict with at least one channel, such as 'email'.",
        ),
        ({"CHANNELS": {"post": {}}}, "RESETDELIVERY['CHANNELS']['post'] is no channel; use 'email', 'sms'."),
        ({"CHANNELS": {"sms": None}}, "RESETDELIVERY['CHANNELS']['sms'] must be a dict, not NoneType."),
    ],
)
def test_what_is_not_a_dict_of_channels_is_refused(raw: object, sentence: str) -> None:
    assert problems(raw) == [sentence]


def test_all_problems_are_found_at_once() -> None:
    found = problems(
        {
            "LIFETME": dt.timedelta(minutes=5),
            "LEASE": 30,
            "CHANNELS": {"post": {}, "sms": {"WAVE": 0, "QUEU": "texts"}},
        }
    )
    assert [problem.split(" ")[0] for problem in found] == [
        "RESETDELIVERY",
        "RESETDELIVERY['LEASE']",
        "RESETDELIVERY['CHANNELS']['post']",
        "RESETDELIVERY['CHANNELS']['sms']['WAVE']",
        "RESETDELIVERY['CHANNELS']['sms']",
    ]


def test_the_error_names_every_problem_to_whoever_starts_the_process() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"(?s)'LEASE'.*\n.*'BRAND'"):
        load({"LEASE": 30, "BRAND": None})


def test_no_secret_is_shown_by_the_settings() -> None:
    settings = load(
        {
            "LINK_KEYS": ["planted link key"],
            "PSEUDONYM_KEYS": {"k1": "planted pseudonym key"},
            "CHANNELS": {"email": {"OPTIONS": {"password": "planted password"}}},
        }
    )
    assert "planted" not in repr(settings)


def test_settings_cannot_be_changed_afterwards() -> None:
    settings = load({"DIRECTORY_OPTIONS": {"phone_field": "phone"}})
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.brand = "Other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        settings.directory_options["phone_field"] = "fax"  # type: ignore[index]


@pytest.mark.parametrize("target", [Settings, ChannelSettings])
def test_every_setting_has_a_type_that_can_be_read(target: type) -> None:
    names = {f.name for f in dataclasses.fields(target)} - {"channels"}
    raw: dict[str, Any] = {name.upper(): object() for name in names}
    found = problems(raw if target is Settings else {"CHANNELS": {"email": raw}})
    assert len(found) == len(names)
    assert not [problem for problem in found if "cannot be set here" in problem]


def test_settings_are_read_once_and_again_after_a_change() -> None:
    with override_settings(RESETDELIVERY={"BRAND": "First"}):
        assert get_settings() is get_settings()
        assert get_settings().brand == "First"
    with override_settings(RESETDELIVERY={"BRAND": "Second"}):
        assert get_settings().brand == "Second"


def test_durations_of_a_channel_become_its_retry_policy() -> None:
    raw = {"BACKOFF_BASE": dt.timedelta(seconds=3), "BACKOFF_FACTOR": 3, "MAX_ATTEMPTS": 2}
    policy = load({"CHANNELS": {"email": raw}, "MIN_USEFUL": dt.timedelta(seconds=7)}).policy(Channel.EMAIL)
    assert (policy.base_seconds, policy.factor, policy.max_attempts, policy.min_useful_seconds) == (
        3,
        3,
        2,
        7,
    )
