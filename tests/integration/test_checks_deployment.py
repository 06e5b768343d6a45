"""What only ``check --deploy`` looks at: one good project, and each way of spoiling it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from celery import current_app
from django.contrib.auth.views import PasswordResetCompleteView
from django.core.checks import CheckMessage, run_checks
from django.test import override_settings
from django.urls import include, path, re_path
from ninja import NinjaAPI

from resetdelivery.api.routes import api

CONSOLE = {"TRANSPORT": "notifications.console.ConsoleTransport"}
SECRET = "planted-" + 40 * "s"
KEY = 32 * "k"
OTHER_KEY = 32 * "o"
GOOD: dict[str, Any] = {
    "RESET_BASE_URL": "https://shop.example",
    "LINK_KEYS": [KEY],
    "PSEUDONYM_KEYS": {"1": OTHER_KEY},
    "CHANNELS": {"email": CONSOLE},
    "DISPATCH": "database",
}
OURS = {*(f"E{n:03}" for n in range(60, 70)), *(f"W{n:03}" for n in range(60, 80))}

Check = Callable[..., list[str]]


def found() -> list[CheckMessage]:
    """What the checks of this range of numbers say, with ``--deploy``."""
    messages = run_checks(tags=["resetdelivery"], include_deployment_checks=True)
    return [one for one in messages if str(one.id).removeprefix("resetdelivery.") in OURS]


@pytest.fixture
def check(settings: Any) -> Check:
    """Runs the checks under a good configuration with changes; the ids of what they found."""
    settings.SECRET_KEY = SECRET
    settings.ROOT_URLCONF = "tests.hosts.reset_urls"

    def run(**changes: Any) -> list[str]:
        settings.RESETDELIVERY = {**GOOD, **changes}
        return sorted(str(message.id).removeprefix("resetdelivery.") for message in found())

    return run


@pytest.fixture
def celery(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets the Celery app, which is otherwise as it should be."""
    settings.FLOWER_BASIC_AUTH = ["oncall:password"]
    monkeypatch.delenv("CELERY_BROKER_URL", raising=False)
    good = {
        "broker_url": "redis://127.0.0.1:6379/0",
        "broker_read_url": None,
        "broker_use_ssl": None,
        "accept_content": ["json"],
        "worker_enable_remote_control": False,
    }

    def change(**values: Any) -> None:
        merged = {**good, **values}
        merged["broker_write_url"] = merged["broker_url"]
        merged["broker_read_url"] = merged["broker_read_url"] or merged["broker_url"]
        for name, value in merged.items():
            monkeypatch.setitem(current_app.conf, name, value)

    change()
    return change


def email(**options: Any) -> dict[str, Any]:
    """An email channel over SMTP, verified unless told otherwise."""
    return {"email": {"OPTIONS": {"host": "smtp.example", "tls": "starttls", **options}}}


def test_a_good_deployment_passes(check: Check) -> None:
    assert check() == []


def test_without_deploy_none_of_this_is_looked_at(check: Check) -> None:
    check(LINK_KEYS=[])
    assert run_checks(tags=["resetdelivery"]) == []


@pytest.mark.parametrize(
    ("changes", "ids"),
    [
        ({"LINK_KEYS": []}, ["E060"]),
        ({"LINK_KEYS": [KEY, KEY[1:]]}, ["E061"]),
        ({"LINK_KEYS": ["é" * 16]}, []),  # octets count, not characters
        ({"LINK_KEYS": [KEY, SECRET]}, ["E062"]),
        ({"PSEUDONYM_KEYS": {"1": OTHER_KEY, "2": KEY}}, ["E062"]),
        ({"PSEUDONYM_KEYS": {"1": SECRET}}, ["E062"]),
        ({"PSEUDONYM_KEYS": {"1": KEY[1:]}}, ["E063"]),
        ({"PSEUDONYM_KEYS": {}}, ["W060"]),
        ({"CHANNELS": {"sms": CONSOLE}}, ["W064"]),
        ({"CHANNELS": {"sms": {**CONSOLE, "REGIONS": ["DE"]}}}, []),
        ({"CHANNELS": email()}, []),
        ({"CHANNELS": email(tls="implicit")}, []),
        ({"CHANNELS": email(tls="none")}, ["E066"]),
        ({"CHANNELS": email(tls="none", host="127.0.0.1")}, []),
        ({"CHANNELS": email(tls="none", host="localhost")}, []),
        ({"CHANNELS": email(tls="none", host="10.0.0.7")}, ["E066"]),
    ],
)
def test_what_is_wrong_has_its_number(check: Check, changes: dict[str, Any], ids: list[str]) -> None:
    assert check(**changes) == ids


def test_each_provider_of_a_list_is_looked_at(check: Check) -> None:
    names = ("first", "second")
    smtp = "notifications.email.smtp.SmtpTransport"
    options = {"host": "smtp.example", "tls": "none"}
    providers = [{"NAME": name, "TRANSPORT": smtp, "OPTIONS": options} for name in names]
    assert check(CHANNELS={"email": {"PROVIDERS": providers}}) == ["E066", "E066"]
    assert "['PROVIDERS'][1]" in found()[1].msg


def test_a_link_key_that_was_the_secret_key_counts_as_shared(check: Check, settings: Any) -> None:
    settings.SECRET_KEY_FALLBACKS = [KEY]
    assert check() == ["E062"]


BACKENDS = [
    ("django.core.mail.backends.smtp.EmailBackend", []),
    ("django.core.mail.backends.locmem.EmailBackend", ["W066"]),
    ("no.such.Backend", ["W066"]),
]
HOSTLESS = {"email": {"OPTIONS": {"from_address": "no-reply@shop.example"}}}


@pytest.mark.filterwarnings("ignore:The EMAIL_")  # deprecated by Django 6.1, which still reads it
@pytest.mark.parametrize(("backend", "ids"), BACKENDS)
def test_a_mail_server_that_only_this_package_would_use_is_pointed_out(
    check: Check, backend: str, ids: list[str]
) -> None:
    with override_settings(EMAIL_BACKEND=backend):
        assert check(CHANNELS=HOSTLESS) == ids


@pytest.mark.parametrize(("backend", "ids"), BACKENDS)
def test_the_default_mailer_counts_where_there_are_mailers(
    check: Check, backend: str, ids: list[str]
) -> None:
    mailer = {"BACKEND": backend, "OPTIONS": {"host": "localhost"}}
    with override_settings(MAILERS={"default": mailer}):
        assert check(CHANNELS=HOSTLESS) == ids


@pytest.mark.parametrize(
    ("values", "ids"),
    [
        ({}, []),
        ({"accept_content": ["json", "pickle"]}, ["E064"]),
        ({"accept_content": ["application/json"]}, []),
        ({"task_serializer": "yaml"}, ["W061"]),
        ({"result_serializer": "pickle"}, ["W061"]),
        ({"worker_enable_remote_control": True}, ["W063"]),
        ({"broker_url": "redis://redis.internal/0"}, ["W062"]),
        ({"broker_url": "redis://[::1]/0"}, []),
        ({"broker_url": "rediss://redis.internal/0"}, ["E065"]),
        ({"broker_url": "rediss://redis.internal/0", "broker_use_ssl": True}, []),
        ({"broker_url": "rediss://redis.internal/0?ssl_cert_reqs=CERT_REQUIRED"}, []),
        ({"broker_url": "rediss://redis.internal/0?ssl_cert_reqs=optional"}, ["E065"]),
        ({"broker_url": "rediss://r.internal/0", "broker_use_ssl": {"ssl_check_hostname": False}}, ["E065"]),
        ({"broker_read_url": "rediss://redis.internal/0"}, ["E065"]),
        ({"broker_read_url": "redis://redis.internal/0"}, ["W062"]),
        ({"broker_url": "pigeon://planted-secret@coop"}, ["E065"]),  # Celery itself cannot read it
    ],
)
def test_the_celery_app_is_looked_at(
    check: Check, celery: Callable[..., None], values: dict[str, Any], ids: list[str]
) -> None:
    celery(**values)
    assert check(DISPATCH="broker") == ids


def test_without_a_broker_its_settings_do_not_matter(check: Check, celery: Callable[..., None]) -> None:
    celery(accept_content=["pickle"], broker_url="rediss://redis.internal/0")
    assert check(DISPATCH="database") == []


def test_flower_that_nobody_guards_is_pointed_out(
    check: Check, celery: Callable[..., None], settings: Any
) -> None:
    settings.FLOWER_BASIC_AUTH = []
    assert check(DISPATCH="broker") == ["W069"]


def test_a_project_without_flower_hears_nothing_of_it(
    check: Check, celery: Callable[..., None], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.FLOWER_BASIC_AUTH = []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert check(DISPATCH="broker") == []


def test_an_admin_that_is_mounted_is_pointed_out(check: Check, settings: Any) -> None:
    settings.ROOT_URLCONF = "config.urls"
    assert check() == ["W065"]
    assert "'/admin/'" in found()[0].msg


RESET_PAGE = path("", include("tests.hosts.reset_urls"))
INTERNAL_API = "resetdelivery.api.urls"
another_api = NinjaAPI(urls_namespace="another", docs_url=None, openapi_url=None)
another_api.get("/delivery-health")(lambda request: {})


@pytest.mark.parametrize(
    ("patterns", "ids"),
    [
        ([path("", include(INTERNAL_API))], ["W067"]),
        ([path("behind/", include(INTERNAL_API))], ["W067"]),
        ([path("v1/", include([path("<tenant>/", include(INTERNAL_API))]))], ["W067"]),
        ([re_path(r"^(?P<tenant>\w+)/", include((INTERNAL_API, "ours"), namespace="ours"))], ["W067"]),
        ([path("api/", api.urls)], ["W067"]),
        # Somebody's own pages, where the API's would be.
        ([path("internal/delivery-health", PasswordResetCompleteView.as_view())], []),
        ([path("api/", another_api.urls)], []),
        ([path("receipts/", include("resetdelivery.urls_receipts"))], []),
    ],
)
def test_an_internal_api_beside_the_public_pages_is_pointed_out(
    check: Check, settings: Any, patterns: list[Any], ids: list[str]
) -> None:
    urlconf = ModuleType("urls")
    urlconf.urlpatterns = [RESET_PAGE, *patterns]  # type: ignore[attr-defined]
    settings.ROOT_URLCONF = urlconf
    assert check() == ids


def test_sessions_that_show_the_token_are_pointed_out(check: Check, settings: Any) -> None:
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
    assert check() == ["W070"]


@pytest.mark.parametrize(
    ("host", "options", "ids"),
    [
        ("", {}, []),
        ("/run/postgresql", {}, []),
        ("127.0.0.1", {}, []),
        ("db.internal", {}, ["W068"]),
        ("db.internal", {"sslmode": "require"}, ["W068"]),
        ("db.internal", {"sslmode": "verify-full"}, []),
    ],
)
def test_a_database_on_another_machine_is_verified(
    check: Check, monkeypatch: pytest.MonkeyPatch, host: str, options: dict[str, str], ids: list[str]
) -> None:
    database = StandIn(vendor="postgresql", settings_dict={"HOST": host, "OPTIONS": options})
    monkeypatch.setattr("resetdelivery.checks.wires.connections", {"default": database})
    assert check() == ids


class StandIn:
    """A database's address without the database."""

    def __init__(self, *, vendor: str, settings_dict: dict[str, Any]) -> None:
        self.vendor = vendor
        self.settings_dict = settings_dict


def test_each_message_has_a_hint_and_shows_no_secret(
    check: Check, celery: Callable[..., None], settings: Any
) -> None:
    password = "planted-secret-password"
    settings.ROOT_URLCONF = "config.urls"
    settings.FLOWER_BASIC_AUTH = []
    settings.SECRET_KEY_FALLBACKS = [KEY]
    celery(
        broker_url=f"rediss://me:{password}@r.internal/0",
        broker_read_url=f"redis://me:{password}@r.internal/0",
        accept_content=["json", "pickle"],
        task_serializer="pickle",
        worker_enable_remote_control=True,
    )
    ids = check(
        DISPATCH="broker",
        LINK_KEYS=[SECRET, KEY, "short-link-key"],
        PSEUDONYM_KEYS={"1": "short-pseudonym-key"},
        CHANNELS={**email(tls="none", password=password), "sms": CONSOLE},
    )
    messages = found()
    shown = " ".join(f"{one.msg} {one.hint}" for one in messages)
    assert len(set(ids)) >= 10
    assert all(one.hint for one in messages)
    assert [word for word in (password, SECRET, KEY, "short-", "r.internal") if word in shown] == []
