"""``manage.py check_dkim`` and the numbered checks, on the configured transport."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from django.core.management import CommandError, call_command

from notifications.email import dkim_dns
from notifications.email.dkim_records import record_text
from tests.dkim_samples import DOMAIN, ED25519, RSA, pem, rsa_key

RSA_OPTIONS = {"selector": RSA.selector, "algorithm": "rsa", "key": pem(RSA.private)}
ED25519_OPTIONS = {"selector": ED25519.selector, "algorithm": "ed25519", "key": pem(ED25519.private)}

Configure = Callable[..., None]


@pytest.fixture
def configure(settings: Any) -> Configure:
    """Makes SMTP the transport, with keys for DKIM and changes of that option."""

    def run(**changes: Any) -> None:
        dkim = {"domain": DOMAIN, "keys": [RSA_OPTIONS, ED25519_OPTIONS], **changes}
        options = {"host": "localhost", "username": "", "from_address": f"a@{DOMAIN}", "dkim": dkim}
        settings.RESETDELIVERY = {
            "RESET_BASE_URL": f"https://{DOMAIN}",
            "CHANNELS": {
                "email": {"TRANSPORT": "notifications.email.smtp.SmtpTransport", "OPTIONS": options}
            },
        }

    return run


def found() -> list[CheckMessage]:
    return run_checks(tags=["resetdelivery"])


@pytest.fixture
def records(tmp_path: Path) -> list[str]:
    """What is published: a bare value named by its file, and an entry of a zone file."""
    (tmp_path / f"{RSA.selector}.txt").write_text(record_text(RSA) + "\n")
    value = record_text(ED25519)
    entry = f'{ED25519.selector}._domainkey IN TXT ( "{value[:20]}" "{value[20:]}" )\n'
    (tmp_path / "zone-entry").write_text(entry)
    return [str(tmp_path / f"{RSA.selector}.txt"), str(tmp_path / "zone-entry")]


def check_dkim(records: list[str]) -> str:
    stdout = io.StringIO()
    arguments = [argument for file in records for argument in ("--record", file)]
    call_command("check_dkim", *arguments, stdout=stdout)
    return stdout.getvalue()


def test_a_sound_configuration_is_said_to_be_sound_row_by_row(
    configure: Configure, records: list[str]
) -> None:
    configure()
    rows = check_dkim(records).splitlines()
    assert len(rows) == 5
    assert [row for row in rows if "  ok       " not in row] == []


def test_a_key_that_was_never_published_fails_the_command(
    configure: Configure, records: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    configure()
    with pytest.raises(CommandError, match=r"1 of 5 failed"):
        call_command("check_dkim", "--record", records[0])
    assert (
        f"publish at {ED25519.selector}._domainkey.{DOMAIN}: {record_text(ED25519)}"
        in capsys.readouterr().out
    )


def test_without_files_the_dns_is_asked(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def look_up(name: str) -> str | None:
        asked.append(name)
        return record_text(RSA if name.startswith(RSA.selector) else ED25519)

    configure()
    monkeypatch.setattr(dkim_dns, "look_up", look_up)
    check_dkim([])
    assert asked == [f"{key.selector}._domainkey.{DOMAIN}" for key in (RSA, ED25519)]


@pytest.mark.parametrize("name", ["missing.txt", "binary.txt"])
def test_a_file_that_cannot_be_read_is_named(configure: Configure, tmp_path: Path, name: str) -> None:
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe")
    configure()
    with pytest.raises(CommandError, match=rf"--record .*{name} cannot be read"):
        check_dkim([str(tmp_path / name)])


def test_a_transport_that_does_not_sign_is_pointed_out(configure: Configure, settings: Any) -> None:
    configure()
    settings.RESETDELIVERY = {
        "CHANNELS": {"email": {"OPTIONS": {"host": "localhost", "from_address": f"a@{DOMAIN}"}}}
    }
    with pytest.raises(CommandError, match="Nothing is signed"):
        check_dkim([])


def test_another_transport_is_pointed_out(settings: Any) -> None:
    settings.RESETDELIVERY = {"CHANNELS": {"email": {"TRANSPORT": "notifications.console.ConsoleTransport"}}}
    with pytest.raises(CommandError, match="whoever gets the mail signs it"):
        check_dkim([])


def test_what_the_transport_refuses_is_passed_on(configure: Configure) -> None:
    configure(domain="other.example")
    with pytest.raises(CommandError, match=r"other\.example"):
        check_dkim([])


def test_the_checks_find_a_sound_configuration_sound(configure: Configure) -> None:
    configure()
    assert found() == []


@pytest.mark.parametrize(
    ("changes", "number"),
    [
        ({"keys": []}, "E020"),
        ({"keys": [{**RSA_OPTIONS, "key": ""}]}, "E020"),
        ({"keys": [{**RSA_OPTIONS, "key": "", "key_file": "missing.pem"}]}, "E020"),
        ({"keys": [{**RSA_OPTIONS, "key": "planted-secret"}]}, "E020"),
        ({"domain": "other.example"}, "E021"),
        ({"keys": [{**RSA_OPTIONS, "algorithm": "ed25519"}]}, "E022"),
        ({"keys": [{**RSA_OPTIONS, "algorithm": "rsa-sha1"}]}, "E022"),
        ({"keys": [{**RSA_OPTIONS, "key": pem(rsa_key(1024))}]}, "E023"),
        ({"keys": [RSA_OPTIONS, RSA_OPTIONS]}, "E024"),
        ({"domain": ""}, "E024"),
        ({"selector": "2026a"}, "E024"),
    ],
)
def test_what_is_wrong_with_the_keys_has_its_number_and_a_hint(
    configure: Configure, changes: dict[str, Any], number: str
) -> None:
    configure(**changes)
    (message,) = found()
    assert message.id == f"resetdelivery.{number}"
    assert message.hint
    assert "planted-secret" not in f"{message.msg}{message.hint}"


def test_a_channel_that_is_not_there_is_not_checked(settings: Any) -> None:
    console = {"TRANSPORT": "notifications.console.ConsoleTransport"}
    settings.RESETDELIVERY = {"RESET_BASE_URL": f"https://{DOMAIN}", "CHANNELS": {"sms": console}}
    assert found() == []
