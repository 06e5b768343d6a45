"""``manage.py api_key``, as an operator and a script use it."""

from __future__ import annotations

import datetime as dt
import getpass
import io
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from resetdelivery.api_keys import authenticate
from resetdelivery.domain.api_key import Scope
from resetdelivery.models import ApiKey, AuditEntry
from tests.hosts.host import CEILING_SECONDS, run_host

pytestmark = pytest.mark.django_db

PASTED = "rd_abcdefghijkl_" + "planted" * 6 + "A"


def run(*arguments: str) -> tuple[str, str]:
    """What a run of the command leaves on standard output and on standard error."""
    stdout, stderr = io.StringIO(), io.StringIO()
    call_command("api_key", *arguments, stdout=stdout, stderr=stderr)
    return stdout.getvalue(), stderr.getvalue()


def create(name: str = "shop-web", *more: str) -> str:
    """The text of a new key."""
    return run("create", name, "--scope", "intents:create", *more)[0].strip()


def key_id(text: str) -> str:
    return text[3:15]


def cells() -> list[list[str]]:
    """The table of all keys; two spaces or more part the cells."""
    lines = run("list")[0].splitlines()
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]


def test_the_key_and_nothing_else_is_on_standard_output() -> None:
    stdout, stderr = run("create", "shop-web", "--scope", "intents:create", "--scope", "intents:read")
    caller = authenticate(stdout.removesuffix("\n"))
    assert caller is not None
    assert caller.scopes == {Scope.INTENTS_CREATE, Scope.INTENTS_READ}
    assert key_id(stdout) in stderr
    assert stdout[16:].strip() not in stderr


def test_a_shell_gets_a_key_that_works(tmp_path: Path) -> None:
    """In a project of its own, by the words of the manual: ``key=$(manage.py api_key create …)``."""
    assert run_host("bare", "-m", "django", "migrate", folder=tmp_path).returncode == 0
    manage = f"{shlex.quote(sys.executable)} -W error -m django"
    look = "import sys, resetdelivery.api_keys as keys; print(keys.authenticate(sys.argv[1]).client)"
    script = (
        f"set -e; key=$({manage} api_key create shop-web --scope intents:create)\n"
        f'{shlex.quote(sys.executable)} -c "import django; django.setup(); {look}" "$key"'
    )
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.hosts.bare",
        "HOST_FOLDER": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
    }
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=CEILING_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "shop-web\n"), done.stderr


def test_rotating_gives_a_second_key_and_says_what_becomes_of_the_first() -> None:
    first = create()
    second, hint = run("rotate", "shop-web")
    assert authenticate(first) is not None
    assert authenticate(second.strip()) is not None
    assert "The key before it still works. Revoke it when" in hint


def test_a_revoked_key_is_over_and_a_second_time_is_no_error() -> None:
    text = create()
    assert run("revoke", key_id(text)) == ("", f"Key {key_id(text)} is revoked.\n")
    assert authenticate(text) is None
    assert run("revoke", key_id(text)) == ("", f"Key {key_id(text)} was revoked before.\n")


def test_the_list_shows_every_key_and_its_times_to_the_minute() -> None:
    first, second = create(), create()
    other = create("worker")
    at = dt.datetime(2026, 11, 30, 23, 59, 59, 999999, tzinfo=dt.UTC)
    ApiKey.objects.update(created_at=at)
    ApiKey.objects.filter(key_id=key_id(first)).update(last_used_at=at, revoked_at=at)
    minute = "2026-11-30 23:59"
    assert cells() == [
        ["client", "key id", "scopes", "created (UTC)", "last used (UTC)", "revoked (UTC)"],
        ["shop-web", key_id(first), "intents:create", minute, minute, minute],
        ["shop-web", key_id(second), "intents:create", minute, "-", "-"],
        ["worker", key_id(other), "intents:create", minute, "-", "-"],
    ]


def test_the_list_of_one_client_shows_only_its_keys() -> None:
    create("shop-web")
    other = create("worker")
    (_, row) = run("list", "worker")[0].splitlines()
    assert row.split()[:2] == ["worker", key_id(other)]


def test_a_list_of_no_keys_has_its_headings() -> None:
    assert len(cells()) == 1


def test_no_list_shows_a_secret_or_its_digest() -> None:
    text = create()
    listed = "".join(run("list"))
    assert key_id(text) in listed
    assert text[16:] not in listed
    assert ApiKey.objects.get().secret_digest not in listed


# Who asked for it, and why.


def test_the_trail_says_who_ran_it_and_the_reason_given() -> None:
    text = create("shop-web", "--why", "the shop moves here")
    run("rotate", "shop-web", "--why", "the yearly change")
    run("revoke", key_id(text), "--why", "the old one leaked")
    entries = AuditEntry.objects.order_by("pk")
    assert {entry.who for entry in entries} == {getpass.getuser()}
    assert [e.why for e in entries] == ["the shop moves here", "the yearly change", "the old one leaked"]


def test_a_user_whom_the_system_has_no_name_for_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 4711")

    monkeypatch.setattr(getpass, "getuser", nobody)
    create()
    assert AuditEntry.objects.get().who == f"uid {os.getuid()}"


def test_a_user_name_of_any_length_is_cut_to_its_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "u" * 1000)
    create()
    assert AuditEntry.objects.get().who == "u" * 150


# What does not work is said in words.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "create|rotate|revoke|list"),
        (["create", "shop"], "--scope"),
        (["create", "shop", "--scope", PASTED], "must be one of intents:create, intents:read, work:claim"),
        (["create", "local", "--scope", "work:claim"], "Choose another name"),
        (["create", PASTED, "--scope", "work:claim"], r"this one \(59 characters\) is not"),
        (["create", "shop", "--scope", "work:claim", "--why", PASTED * 5], r"why has 295 characters"),
        (["rotate", "shop"], "There is no client 'shop'"),
        (["rotate", PASTED], r"this one \(59 characters\) is not"),
        (["revoke", "abcdefghijkl"], "There is no key abcdefghijkl"),
        (["revoke", PASTED], "by its id alone, abcdefghijkl"),
        (["list", PASTED], r"no client of this name \(59 characters\)"),
    ],
)
def test_what_does_not_work_is_said_in_words_that_repeat_no_secret(arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words.replace("|", r"\|")) as caught:
        run(*arguments)
    assert "planted" not in str(caught.value)
    assert not ApiKey.objects.exists()


def test_a_third_key_is_refused_with_the_two_that_there_are() -> None:
    first, second = create(), create()
    with pytest.raises(CommandError, match=f"{key_id(first)} and {key_id(second)}.*Revoke one"):
        create()
