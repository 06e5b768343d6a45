"""``manage.py lint_templates`` and the system checks of the templates, with a project's own values."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from django.core.management import CommandError, call_command

from resetdelivery.checks.worst_case import longest_link, worst_case
from resetdelivery.conf import get_settings

CONSOLE = {"TRANSPORT": "notifications.console.ConsoleTransport"}
GOOD: dict[str, Any] = {
    "RESET_BASE_URL": "https://shop.example",
    "BRAND": "Marketplace",
    "CHANNELS": {"email": CONSOLE, "sms": CONSOLE},
}

Configure = Callable[..., None]


@pytest.fixture
def configure(settings: Any) -> Configure:
    def run(**changes: Any) -> None:
        settings.RESETDELIVERY = {**GOOD, **changes}

    return run


@pytest.fixture
def write(settings: Any, tmp_path: Path) -> Callable[[str, str], Path]:
    """Puts a template into the project's own folder, which Django asks first."""
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]

    def put(name: str, text: str) -> Path:
        file = tmp_path / "notifications/reset" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    return put


def lint(*arguments: str) -> list[str]:
    out = io.StringIO()
    call_command("lint_templates", *arguments, stdout=out)
    return out.getvalue().splitlines()


def failing_lint(*arguments: str) -> tuple[str, str]:
    out = io.StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("lint_templates", *arguments, stdout=out)
    return out.getvalue(), str(caught.value)


def found(*ids: str) -> list[CheckMessage]:
    return [m for m in run_checks(tags=["resetdelivery"]) if m.id in {f"resetdelivery.{i}" for i in ids}]


def test_the_table_has_a_row_for_every_locale(configure: Configure) -> None:
    configure()
    heading, *rows = lint("--link", "https://shop.example/".ljust(75, "x"))[:21]
    assert heading.split() == [
        "message",
        "version",
        "locale",
        "subject",
        "encoding",
        "units",
        "segments",
        "forced",
        "by",
        "verdict",
    ]
    locales = ["ar", "de", "el", "en", "es", "fr", "ja", "pl", "pt-BR", "tr"]
    assert [row.split()[2] for row in rows] == 2 * locales
    assert rows[3].split() == ["reset", "1", "en", "31", "gsm7", "154", "1", "-", "fine"]
    assert rows[6].endswith("KATAKANA LETTER PA (U+30D1)                 fine")
    assert rows[13].split() == ["security_notice", "1", "en", "37", "gsm7", "68", "1", "-", "fine"]


def test_the_shipped_templates_pass_with_the_longest_link_of_this_project(configure: Configure) -> None:
    configure()
    assert lint()[-2].startswith("The longest link has 79 characters; an SMS may take 3 segments.")


def test_what_is_wrong_has_its_file_and_ends_in_failure(
    configure: Configure, write: Callable[[str, str], Path]
) -> None:
    configure()
    file = write("1/de/sms.txt", "{{ brand.name }}\n{{ link }}\n{{ lifetime }} caf\N{NO-BREAK SPACE}é")
    out, error = failing_lint()
    assert f"{file}: line 3 holds NO-BREAK SPACE (U+00A0): write a plain space" in out
    assert error == "2 of the above must be mended."
    assert [line.split()[-1] for line in out.splitlines()[1:21]].count("wrong") == 1


def test_a_cap_that_is_too_low_fails_with_the_count_and_the_character(configure: Configure) -> None:
    configure(CHANNELS={"sms": {**CONSOLE, "MAX_SEGMENTS": 2}})
    out, _ = failing_lint()
    assert (
        "pl/sms.txt: takes 3 segments (154 units of ucs2; LATIN SMALL LETTER L WITH STROKE (U+0142) forces"
        in out
    )


def test_without_a_base_address_the_command_says_what_to_do(configure: Configure) -> None:
    configure(RESET_BASE_URL="http://shop.example")
    _, error = failing_lint()
    assert "RESET_BASE_URL" in error
    assert "run manage.py check first" in error


@pytest.mark.parametrize("link", ["shop.example/x", "https://shop.example/a b", "https://shop.example/\n"])
def test_a_link_that_no_message_may_hold_is_refused(configure: Configure, link: str) -> None:
    configure()
    _, error = failing_lint("--link", link)
    assert error == "--link is no link that a message may hold: give a whole https:// address."


def test_the_checks_are_silent_about_shipped_templates(configure: Configure) -> None:
    configure()
    assert found("E030", "E031", "W030") == []


@pytest.mark.parametrize("locale", ["fi", "jp", "not a tag"])
def test_a_default_locale_without_templates_is_an_error(configure: Configure, locale: str) -> None:
    configure(LOCALE=locale)
    (message,) = found("E030")
    assert message.msg == f"RESETDELIVERY['LOCALE'] is {locale!r}, of which there are no templates."
    assert "There are 'ar', 'de', 'el'," in str(message.hint)


@pytest.mark.parametrize("locale", ["en", "en-GB", "de-AT", "pt", "pt-br"])
def test_a_default_locale_whose_language_has_templates_is_fine(configure: Configure, locale: str) -> None:
    configure(LOCALE=locale)
    assert found("E030") == []


def test_a_cap_below_what_the_default_locale_takes_is_an_error(configure: Configure) -> None:
    configure(LOCALE="ja", CHANNELS={"sms": {**CONSOLE, "MAX_SEGMENTS": 1}})
    (message,) = found("E031")
    assert "['MAX_SEGMENTS'] is 1, but an SMS in 'ja' may take 2" in message.msg


def test_a_cap_that_only_other_locales_exceed_is_a_warning(configure: Configure) -> None:
    configure(LOCALE="en", CHANNELS={"sms": {**CONSOLE, "MAX_SEGMENTS": 2}})
    assert found("E031") == []
    assert {m.msg.split()[2].split("/")[3] for m in found("W030")} == {"ar", "el", "pl", "tr"}


def test_a_wrong_template_is_a_warning_with_its_file(
    configure: Configure, write: Callable[[str, str], Path]
) -> None:
    configure()
    file = write("1/fr/subject.txt", "Deux\nlignes")
    (message,) = found("W030")
    assert message.msg.startswith("The template notifications/reset/1/fr/subject.txt has more than one line")
    assert str(file) in str(message.hint)


def test_the_longest_link_is_that_of_a_hundred_million_accounts(configure: Configure) -> None:
    configure()
    assert longest_link(get_settings()).startswith("https://shop.example/reset/OTk5OTk5OTk/")


def test_another_directory_is_given_a_usual_link(configure: Configure) -> None:
    configure(DIRECTORY=f"{__name__}.Elsewhere")
    assert len(worst_case(get_settings()).link) == 75


class Elsewhere:
    """An account directory that is not Django's."""


def test_lifetimes_are_as_long_as_each_channel_allows(configure: Configure) -> None:
    configure(MAX_LIFETIME=dt.timedelta(hours=2))
    hours = [lifetime.total_seconds() / 3600 for lifetime in worst_case(get_settings()).lifetimes.values()]
    assert hours == [2, pytest.approx(1 / 6)]


def test_a_region_that_does_not_exist_is_an_error_with_the_form_to_use(configure: Configure) -> None:
    configure(CHANNELS={"sms": {**CONSOLE, "REGIONS": ["DE", "UK"]}})
    (message,) = found("E032")
    assert message.msg.startswith("RESETDELIVERY['CHANNELS']['sms']['REGIONS'] names 'UK'")
    assert "ISO 3166" in str(message.hint)
