from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from notifications.channels import Channel
from notifications.outcome import OutcomeKind
from resetdelivery.domain.telemetry import CountedEvent, Job
from resetdelivery.management.commands import delivery_health
from tests.counted import attempts, events, succeeded
from tests.internal_api import service
from tests.moved_clock import moved_clock
from tests.steps import pause, store

pytestmark = pytest.mark.django_db

__all__ = ["moved_clock"]


@pytest.fixture
def healthy(db: None) -> None:
    succeeded(Job.SWEEP)
    succeeded(Job.ROLL_UP)


def run(*arguments: str) -> tuple[int, str]:
    """The exit code, and what stands on standard output."""
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("delivery_health", *arguments, stdout=out)
    assert isinstance(ended.value.code, int)
    return ended.value.code, out.getvalue()


def row(text: str, name: str) -> list[str]:
    """The values of the table's row that ``name`` begins."""
    (line,) = (line for line in text.splitlines() if line.startswith(f"{name}  "))
    return line.removeprefix(name).split("  ")


def values(text: str, name: str) -> list[str]:
    return [value.strip() for value in row(text, name) if value.strip()]


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize(
    ("step", "code", "first"),
    [
        (lambda: None, 0, "ok"),
        (lambda: pause(Channel.SMS), 1, "degraded: sms paused_by_operator"),
        (lambda: succeeded(Job.SWEEP, 60), 1, "degraded: sweep_late"),
        (lambda: store(overdue=500), 2, "failing: email due_too_late"),
    ],
)
def test_the_first_line_and_the_exit_code_are_the_verdict(
    step: Callable[[], object], code: int, first: str
) -> None:
    step()
    found, text = run()
    assert (found, text.splitlines()[0]) == (code, first)


@pytest.mark.usefixtures("healthy")
def test_the_first_line_has_the_reasons_of_the_whole_and_of_each_channel() -> None:
    succeeded(Job.ROLL_UP, 999)
    pause(Channel.EMAIL, pause_reason="misconfigured")
    assert run()[1].splitlines()[0] == "failing: counts_stale, email paused_misconfigured"


@pytest.mark.usefixtures("healthy")
def test_each_reason_is_explained() -> None:
    pause(Channel.SMS)
    assert run()[1].splitlines()[1] == "  sms paused_by_operator: Somebody paused the channel."


@pytest.mark.usefixtures("healthy")
def test_the_table_has_a_column_for_each_channel() -> None:
    attempts(OutcomeKind.ACCEPTED, [0.05] * 19, left=[0.95] * 19)
    attempts(OutcomeKind.LATE, [2000.0])
    events({CountedEvent.ADMITTED: 20})
    store(2, Channel.SMS, overdue=30)
    _, text = run()
    assert values(text, "verdict") == ["ok", "ok"]
    assert values(text, "mode") == ["live", "live"]
    assert values(text, "pending now") == ["0", "2"]
    assert values(text, "attempts accepted") == ["19", "0"]
    assert values(text, "admitted") == ["20", "0"]
    assert values(text, "queue delay p50") == ["0.1 s", "-"]
    assert values(text, "queue delay p99") == ["> 900 s", "-"]
    assert values(text, "median life left at acceptance") == ["95%", "-"]
    assert values(text, "oldest due")[0] == "-"
    assert "broker not used" in text
    assert "last count 0 s ago" in text


def test_what_never_was_is_said_to_be_so() -> None:
    code, text = run()
    assert code == 2
    assert "last sweep never, last count never" in text
    assert "nothing yet" in text


def test_a_paused_channel_shows_in_the_table() -> None:
    pause(Channel.SMS)
    assert values(run()[1], "mode") == ["live", "live, paused"]


@pytest.mark.parametrize("window", ["1m", "5m", "15m", "1h"])
def test_json_has_what_the_endpoint_tells(window: str) -> None:
    attempts(OutcomeKind.ACCEPTED, [1.0], left=[0.5])
    code, text = run("--json", "--window", window)
    found = json.loads(text)
    over_http = service().get(f"/internal/delivery-health?window={window}").get_json()
    assert code == 2
    assert found["channels"] == over_http["channels"]
    assert sorted(found) == sorted(over_http)
    assert found["window_seconds"] == over_http["window_seconds"]


def test_another_window_is_refused() -> None:
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("delivery_health", "--window", "2h")


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_without_a_database_it_fails_and_says_nothing_of_where_that_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    def away(*_: object, **__: object) -> None:
        raise OperationalError("connection to server at 10.1.2.3 failed: marked text 31415")

    monkeypatch.setattr(delivery_health, "delivery_health", away)
    code, text = run(*arguments)
    assert code == 2
    assert "database_away" in text
    assert "31415" not in text + "".join(capsys.readouterr())
