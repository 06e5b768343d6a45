from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks

from resetdelivery import checks

Check = Callable[..., list[str]]

CONSOLE = {"TRANSPORT": "notifications.console.ConsoleTransport"}
GOOD: dict[str, Any] = {
    "RESET_BASE_URL": "https://shop.example",
    "CHANNELS": {"email": CONSOLE, "sms": CONSOLE},
}
SECOND = dt.timedelta(seconds=1)
MINUTE = dt.timedelta(minutes=1)


def found() -> list[CheckMessage]:
    """What our own checks have to say, without asking any database."""
    return run_checks(tags=["resetdelivery"])


@pytest.fixture
def check(settings: Any) -> Check:
    """Runs the checks under a good configuration with changes; the ids of what they found."""

    def run(**changes: Any) -> list[str]:
        settings.RESETDELIVERY = {**GOOD, **changes}
        return sorted(str(message.id).removeprefix("resetdelivery.") for message in found())

    return run


def channels(**options: Any) -> dict[str, Any]:
    return {"email": {**CONSOLE, **options}}


def test_a_good_configuration_passes(check: Check) -> None:
    assert check() == []


@pytest.mark.parametrize(
    ("changes", "ids"),
    [
        ({"LIFETME": MINUTE}, ["E001"]),
        ({"LIFETIME": 60, "DISPATCH": "pigeon"}, ["E001", "E001"]),
        ({"RESET_BASE_URL": ""}, ["E007"]),
        ({"RESET_BASE_URL": "http://shop.example"}, ["E007"]),
        ({"RESET_BASE_URL": "http://127.0.0.1:8000"}, ["E007"]),
        ({"RESET_BASE_URL": "https://shop.example?next=1"}, ["E007"]),
        ({"RESET_BASE_URL": "https://me:secret@shop.example"}, ["E007"]),
        ({"RESET_URL_NAME": "no_such_page"}, ["E008"]),
        ({"RESET_URL_NAME": "login"}, ["E008"]),  # a page, but without uidb64 and token
        ({"DIRECTORY": "no.such.Directory"}, ["E009"]),
        ({"DIRECTORY_OPTIONS": {"phone_field": "fone"}}, ["E009"]),
        ({"CHANNELS": {"email": {"TRANSPORT": "no.such.Transport"}}}, ["E010"]),
        ({"CHANNELS": {"email": {**CONSOLE, "OPTIONS": {"hots": "x"}}, "sms": CONSOLE}}, ["E010"]),
        ({"TEMPLATE_VERSION": "2099"}, ["E012"]),
        ({"LIFETIME": 30 * SECOND}, ["E013", "E013"]),  # on each of two channels
        ({"LIFETIME": 33 * SECOND}, ["E014", "E014"]),  # of use, were nothing ever to go wrong
        ({"CHANNELS": channels(MAX_LIFETIME=32 * SECOND)}, ["E013"]),
        ({"LIFETIME": 25 * 60 * MINUTE}, ["E013"]),
        ({"LIFETIME": 10 * MINUTE, "MIN_LIFETIME": 10 * MINUTE + SECOND}, ["E121"]),
        ({"LIFETIME": 10 * MINUTE, "MIN_LIFETIME": 10 * MINUTE}, []),
        # A dead worker: 1 whole second, 1 to be told, 1 in the queue, 30 + 10 of lease and sweep, again 1
        # and 1, 2 for the answer, 30 to be of use: 77. All six attempts: 319 with a
        # broker and 314 with a poller, which publishes nothing; see test_decision_rule.
        *(
            ({"DISPATCH": dispatch, **changes}, ids)
            for dispatch in ("database", "broker")
            for changes, ids in (
                ({"LIFETIME": 76 * SECOND}, ["E014", "E014"]),
                ({"LIFETIME": 77 * SECOND}, ["W121", "W121"]),
                ({"LIFETIME": 313 * SECOND}, ["W121", "W121"]),
                ({"LIFETIME": 319 * SECOND}, []),
                ({"LIFETIME": 400 * SECOND, "MIN_LIFETIME": 313 * SECOND}, ["W121", "W121"]),
                ({"CHANNELS": channels(MAX_LIFETIME=313 * SECOND)}, ["W121"]),
            )
        ),
        ({"DISPATCH": "broker", "LIFETIME": 318 * SECOND}, ["W121", "W121"]),
        ({"DISPATCH": "database", "LIFETIME": 314 * SECOND}, []),
        ({"DISPATCH": "database", "LIFETIME": 314 * SECOND, "POLL_INTERVAL": 2 * SECOND}, ["W121", "W121"]),
        ({"DISPATCH": "broker", "LIFETIME": 319 * SECOND, "POLL_INTERVAL": 2 * SECOND}, []),
        ({"DISPATCH": "inline", "LIFETIME": 33 * SECOND}, ["E014", "E014", "W003"]),
        ({"DISPATCH": "inline", "LIFETIME": 34 * SECOND}, ["W003"]),  # one attempt, and no dead worker
        ({"RECOVERY": "off", "LIFETIME": 76 * SECOND}, ["W004", "W121", "W121"]),
        ({"CHANNELS": channels(), "SWEEP_GRACE": 854 * SECOND}, []),
        ({"CHANNELS": channels(), "SWEEP_GRACE": 855 * SECOND}, ["W122"]),
        ({"CHANNELS": channels(), "SWEEP_GRACE": 855 * SECOND, "DISPATCH": "database"}, []),
        ({"LEASE": 19 * SECOND}, ["W002", "W002"]),
        ({"LEASE": 20 * SECOND}, []),
        ({"DISPATCH": "inline"}, ["W003"]),
        ({"RECOVERY": "off"}, ["W004"]),
        ({"RECOVERY": "observe"}, []),
        ({"CHANNELS": {"sms": {**CONSOLE, "MAX_LIFETIME": 10 * MINUTE + SECOND}}}, ["W005"]),
        ({"CHANNELS": {"sms": {**CONSOLE, "MAX_LIFETIME": 10 * MINUTE}}}, []),
        ({"CHANNELS": channels(MAX_LIFETIME=24 * 60 * MINUTE + SECOND)}, ["W005"]),
    ],
)
def test_what_is_wrong_has_its_number(check: Check, changes: dict[str, Any], ids: list[str]) -> None:
    assert check(**changes) == ids


def test_a_life_too_short_for_all_attempts_says_how_many_fit_and_what_would_help(check: Check) -> None:
    check(CHANNELS=channels(), LIFETIME=2 * MINUTE)
    (message,) = found()
    assert "may live no longer than 0:02:00 (LIFETIME): only 1 of 6 attempts fit" in message.msg
    assert "LIFETIME is 120 s; 319 s or more would fit." in str(message.hint)
    assert "CHANNELS['email']['MAX_ATTEMPTS'] is 6; 1 or fewer would fit." in str(message.hint)


def test_what_would_help_is_said_where_nobody_recovers_too(check: Check) -> None:
    check(CHANNELS=channels(), DISPATCH="inline", LIFETIME=33 * SECOND)
    hint = str(next(message.hint for message in found() if message.id == "resetdelivery.E014"))
    # A worker that may die would take longer.
    assert "LIFETIME is 33 s; 34 s or more would fit." in hint
    assert "DISPATCH" not in hint
    check(CHANNELS=channels(), RECOVERY="off", LIFETIME=120 * SECOND)
    hint = str(next(message.hint for message in found() if message.id == "resetdelivery.W121"))
    assert "LIFETIME is 120 s; 277 s or more would fit." in hint
    assert "RECOVERY" not in hint


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "http://localhost", "http://[::1]:8000"])
def test_development_may_link_to_this_machine_without_tls(check: Check, settings: Any, url: str) -> None:
    settings.DEBUG = True
    assert check(RESET_BASE_URL=url) == []


def test_development_may_deliver_in_the_request(check: Check, settings: Any) -> None:
    settings.DEBUG = True
    assert check(DISPATCH="inline") == []


def test_naive_times_are_refused(check: Check, settings: Any) -> None:
    settings.USE_TZ = False
    assert check() == ["E006"]


def test_a_misspelt_setting_is_named_with_the_right_one(check: Check) -> None:
    check(LIFETME=MINUTE)
    assert found()[0].msg == "RESETDELIVERY has no setting 'LIFETME'. Did you mean 'LIFETIME'?"


def test_another_distributions_package_of_our_name_is_an_error(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = {"notifications": ["django-notifications-hq", "resetdelivery"]}
    monkeypatch.setattr("importlib.metadata.packages_distributions", lambda: shared)
    assert check() == ["E011"]
    assert "'notifications' is also used by django-notifications-hq" in found()[0].msg


class AccountsElsewhere:
    """A router that reads accounts from another database than everything else."""

    def db_for_read(self, model: Any, **_: Any) -> str | None:
        return "accounts" if model._meta.label == "marketplace.User" else None


def test_accounts_in_another_database_are_pointed_out(check: Check, settings: Any) -> None:
    settings.DATABASE_ROUTERS = ["tests.integration.test_checks_settings.AccountsElsewhere"]
    assert check() == ["W001"]
    assert "read from the database 'accounts'" in found()[0].msg


class Leaky:
    """A transport whose constructor quotes a secret in an error."""

    def __init__(self, *, password: str) -> None:
        raise RuntimeError(f"{password} is not a good password")


def test_no_option_is_quoted(check: Check) -> None:
    leaky = f"{__name__}.Leaky"
    ids = check(CHANNELS={"email": {"TRANSPORT": leaky, "OPTIONS": {"password": "planted-secret"}}})
    shown = " ".join(f"{message.msg} {message.hint}" for message in found())
    assert ids == ["E010"]
    assert "RuntimeError" in shown
    assert "planted-secret" not in shown


@pytest.mark.parametrize(
    "changes",
    [
        {"LINK_KEYS": "planted-secret"},
        {"LINK_KEYS": ["planted-secret", 7]},
        {"PSEUDONYM_KEYS": {"an id too long": "planted-secret"}},
        {"PSEUDONYM_KEYS": ["planted-secret"]},
        {"RESET_BASE_URL": "https://me:planted-secret@shop.example"},
        {"CHANNELS": channels(OPTIONS={"planted-secret": 1, 2: 3})},
    ],
)
def test_no_secret_is_quoted(check: Check, changes: dict[str, Any]) -> None:
    assert check(**changes) != []
    assert "planted-secret" not in repr([(message.msg, message.hint) for message in found()])


def test_the_checks_ask_no_database(check: Check, django_assert_num_queries: Any, db: None) -> None:
    with django_assert_num_queries(0):
        check(LEASE=SECOND)


def test_the_table_of_numbers_is_the_codes() -> None:
    source = "".join(path.read_text() for path in Path(str(checks.__file__)).parent.glob("*.py"))
    table = re.findall(r"^([EW]\d{3})  ", str(checks.__doc__), re.MULTILINE)
    errors = {f"E{int(n):03}" for n in re.findall(r"\berror\((\d+)", source)}
    warnings = {f"W{int(n):03}" for n in re.findall(r"\bwarning\((\d+)", source)}
    assert table == sorted(errors) + sorted(warnings)


def test_a_page_of_djangos_own_before_ours_is_an_error(check: Check, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.urls_djangos_page"
    assert check() == ["E008"]
    (message,) = found()
    assert "refuses our links" in message.msg
    assert "RESET_URL_NAME" in str(message.hint)
