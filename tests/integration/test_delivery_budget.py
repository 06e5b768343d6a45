"""``manage.py delivery_budget``: both halves of the decision rule, as text, figures and a picture."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from notifications.channels import Channel
from notifications.testing import ScriptedTransport
from resetdelivery.clock import database_now
from resetdelivery.conf import Dispatch, load
from resetdelivery.decision_rule import decide, picture
from resetdelivery.decision_rule.capacity import CapacityAnswer
from resetdelivery.delivery import deliver
from resetdelivery.management.commands import delivery_budget
from resetdelivery.models import Attempt, EventMinute, OutcomeMinute
from resetdelivery.services import request_reset
from resetdelivery.telemetry.rollup import roll_up
from tests.integration.conftest import Settings as Change
from tests.steps import seconds, store

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
MakeAccount = Callable[..., Any]


class Said(NamedTuple):
    code: int
    text: str


def budget(*args: str) -> Said:
    """What the command prints, and its exit code."""
    out = StringIO()
    try:
        call_command("delivery_budget", *args, stdout=out)
    except SystemExit as ended:
        return Said(int(ended.code or 0), out.getvalue())
    return Said(0, out.getvalue())


def figures(*args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(budget("--json", *args).text)
    return found


@pytest.fixture
def delivered(transactional_db: None, make_account: MakeAccount, email: ScriptedTransport) -> None:
    """Three resets that went through all of it."""
    for _ in range(3):
        request_reset(account_ref=str(make_account().pk), channels=["email"])
    assert deliver(Channel.EMAIL, fill_at_once=True) == 3
    roll_up()


# Whether it holds.


def test_it_holds_with_the_settings_of_this_project(delivered: None) -> None:
    said = budget()
    assert said.code == 0, said.text
    assert "Every attempt is accounted for" in said.text
    assert said.text.endswith("\nThe decision rule holds.\n")


def test_it_holds_where_nothing_ever_happened(transactional_db: None) -> None:
    assert budget().code == 0


def test_it_does_not_hold_for_too_short_a_life(transactional_db: None, change: Change) -> None:
    change(LIFETIME=seconds(120))
    said = budget("--channel", "email")
    assert said.code == 1
    assert "The rule does not hold: 2 of 6 attempts fit after a dead worker" in said.text
    assert "\nLIFETIME is 120 s; 289 s or more would fit.\n" in said.text
    assert said.text.endswith("\nThe decision rule does not hold: email.\n")


def test_it_does_not_hold_for_lives_that_were_asked_for_and_are_too_short(delivered: None) -> None:
    request_reset(submitted="nobody@shop.example", channels=["email"], lifetime=seconds(120))
    said = budget("--channel", "email")
    assert said.code == 1
    assert "The shortest life admitted is 120.0 s (the shortest that was asked for)" in said.text
    # Waits that were measured may add a second to 289.
    assert re.search(r"^MIN_LIFETIME is 0 s; \d+ s or more would fit.$", said.text, re.MULTILINE)


def test_it_does_not_hold_where_an_attempt_is_not_accounted_for(delivered: None) -> None:
    assert budget().code == 0
    Attempt.objects.latest("pk").delete()
    said = budget()
    assert said.code == 1
    assert "OFF " in said.text
    assert said.text.endswith("\nThe decision rule does not hold: reconcile.\n")
    assert figures()["proof"]["holds"] is False


def test_it_does_not_hold_where_a_ceiling_of_telemetry_is_passed(delivered: None, change: Change) -> None:
    change(MAX_SERIES=1)
    said = budget()
    assert said.code == 1
    assert re.search(r"^MAX_SERIES is 1; \d+ or more would fit", said.text, re.MULTILINE)
    assert said.text.endswith("\nThe decision rule does not hold: telemetry_budget.\n")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"RECOVERY": "off"}, "RECOVERY is off; on would fit."),
        ({"DISPATCH": "inline"}, "DISPATCH is inline; broker or database would fit."),
        (
            {"LIFETIME": seconds(40), "MAX_LIFETIME": seconds(40)},
            "No single setting is enough: change several.",
        ),
    ],
)
def test_what_would_mend_it_is_said(change: Change, changes: dict[str, Any], words: str) -> None:
    change(**changes)
    said = budget("--configured-only")
    assert said.code == 1
    assert f"\n{words}\n" in said.text


def test_what_the_checks_refuse_is_explained_all_the_same(
    change: Change, capsys: pytest.CaptureFixture[str]
) -> None:
    change(LIFETIME=seconds(40))
    with pytest.raises(SystemExit):
        delivery_budget.Command().run_from_argv(["manage.py", "delivery_budget", "--configured-only"])
    assert "The rule does not hold: 0 of 6 attempts fit" in capsys.readouterr().out


def test_settings_alone_are_judged_without_a_database(db: None, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        said = budget("--configured-only")
    assert said.code == 0
    assert "Whether every attempt is accounted for was not looked at." in said.text


def test_another_boundary_is_judged_when_it_is_asked_for() -> None:
    assert {one["boundary"] for one in figures("--configured-only")["channels"]} == {"database"}
    (one,) = figures("--configured-only", "--channel", "sms", "--boundary", "broker")["channels"]
    assert (one["channel"], one["boundary"]) == ("sms", "broker")
    assert [other["boundary"] for other in one["other_boundaries"]] == ["database", "inline"]


def test_what_each_boundary_loses_with_a_worker_or_a_hint_is_told() -> None:
    (one,) = figures("--configured-only", "--channel", "email", "--boundary", "broker")["channels"]
    costs = {
        way["boundary"]: (way["dead_worker_seconds"], way["lost_hint_seconds"])
        for way in [one, *one["other_boundaries"]]
    }
    assert costs == {"broker": (42, 26), "database": (42, 0), "inline": (None, None)}


def test_a_channel_that_is_not_configured_is_named(change: Change) -> None:
    change(CHANNELS={"email": {"TRANSPORT": "tests.transports.email"}})
    with pytest.raises(CommandError, match="'sms' is not configured; email are"):
        budget("--configured-only", "--channel", "sms")


@pytest.mark.parametrize("command", [["delivery_budget"], ["reconcile"], ["rollout", "compare"]])
def test_a_database_that_is_not_configured_is_named(command: list[str]) -> None:
    with pytest.raises(CommandError, match="'nope' is no database of DATABASES; default"):
        call_command(*command, "--database", "nope")


@pytest.fixture
def unmigrated(transactional_db: None) -> Iterator[None]:
    """As before the last migrations: tables that they make are not there."""
    recorder = MigrationRecorder(connection)
    tables = [model._meta.db_table for model in (EventMinute, OutcomeMinute)]

    def rename(ending: str, to: str) -> None:
        with connection.cursor() as cursor:
            for table in tables:
                cursor.execute(f"ALTER TABLE {table}{ending} RENAME TO {table}{to}")

    rename("", "_away")
    recorder.record_unapplied("resetdelivery", "0007_rollout")
    yield
    recorder.record_applied("resetdelivery", "0007_rollout")
    rename("_away", "")


@pytest.mark.parametrize("command", [["delivery_budget"], ["reconcile"], ["rollout", "compare"]])
def test_tables_that_are_not_there_are_to_be_migrated(unmigrated: None, command: list[str]) -> None:
    with pytest.raises(CommandError, match=r"Run 'manage\.py migrate --database default'"):
        call_command(*command)


def test_a_window_that_cannot_be_looked_at_is_refused(transactional_db: None) -> None:
    with pytest.raises(CommandError, match="The window is 30 days"):
        budget("--window", "30d")


# What the other channels and the rows say.


def test_how_many_attempts_fit_behind_the_other_channels_is_told(change: Change) -> None:
    text = " ".join(budget("--configured-only", "--channel", "sms").text.split())
    told = "As a fallback behind email, up to 121.0 s later (FALLBACK_AFTER): 6 of 6 attempts fit; none"
    assert told in text
    (one,) = figures("--configured-only", "--channel", "sms")["channels"]
    assert one["as_fallback"] == {"behind": ["email"], "seconds": 121, "fitting": 6, "waited": 0}


@pytest.mark.parametrize(("waits", "code"), [(False, 0), (True, 1)])
def test_a_fallback_counts_where_one_was_asked_for(
    transactional_db: None, change: Change, waits: bool, code: int
) -> None:
    # 284 for six attempts with a poller, 5 to be of use: alone they fit, but not 121 later.
    change(LIFETIME=seconds(300))
    store(channel=Channel.SMS, life=400, arm_at=database_now(connection) if waits else None)
    said = budget("--channel", "sms")
    assert said.code == code, said.text
    if waits:
        assert said.text.endswith("\nThe decision rule does not hold: sms.\n")
        assert "\nCHANNELS['email']['FALLBACK_AFTER'] is 120 s; 10 s or less would fit.\n" in said.text


def test_it_does_not_hold_where_too_much_expired_before_an_attempt(transactional_db: None) -> None:
    store(3, state="expired", finished_at=database_now(connection))
    said = budget("--channel", "email")
    assert "3 of 3 expired before an attempt, within the window; the rule allows 1%." in said.text
    assert "does not hold: email" in said.text.splitlines()[-1]
    (one,) = figures("--channel", "email")["channels"]
    assert (one["holds"], one["expired_before_an_attempt"]) == (False, {"number": 3, "of": 3})
    assert "No single setting" not in said.text


def test_what_is_left_out_of_the_worst_case_is_said() -> None:
    text = " ".join(budget("--configured-only", "--channel", "email").text.split())
    assert "Not in the worst case: earlier waves of a full batch (up to 3 of 15.0 s" in text


def test_a_life_that_was_asked_for_is_told_with_the_window(delivered: None) -> None:
    request_reset(submitted="nobody@shop.example", channels=["email"], lifetime=seconds(120))
    text = " ".join(budget("--channel", "email").text.split())
    assert "It counts for as long as it is within --window" in text
    assert "within --window" not in budget("--configured-only").text


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_many_attempts_are_not_all_shown(change: Change, options: list[str], tmp_path: Path) -> None:
    email = {"TRANSPORT": "tests.transports.email", "MAX_ATTEMPTS": 100_000}
    change(CHANNELS={"email": email})
    svg = tmp_path / "budget.svg"
    said = budget("--configured-only", "--svg", str(svg), *options)
    assert len(said.text.splitlines()) < 600
    assert ("and 99,980 more that are not shown" in said.text) is not bool(options)
    assert svg.read_text("utf-8").count("<text") < 60


# As text and figures.


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("changes", [{}, {"LIFETIME": seconds(120)}, {"DISPATCH": "inline"}])
def test_the_text_is_as_wide_as_the_terminal_and_no_wider(
    monkeypatch: pytest.MonkeyPatch, change: Change, width: int, changes: dict[str, Any]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    change(**changes)
    lines = budget("--configured-only").text.splitlines()
    assert max(map(len, lines)) <= width
    axes = [line for line in lines if re.fullmatch(r" +0 s +\d+ s", line)]
    assert [len(axis) for axis in axes] == [width, width]


def test_a_timeline_shows_each_attempt_where_it_would_be(
    monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    # A second for each of a hundred columns, from column 18.
    monkeypatch.setenv("COLUMNS", str(18 + 100))
    sending = {
        "MAX_ATTEMPTS": 2,
        "BACKOFF_BASE": seconds(5),
        "BACKOFF_CAP": seconds(5),
        "OUTAGE_PAUSE_CAP": seconds(5),
    }
    email = {"TRANSPORT": "tests.transports.email", "SEND_BUDGET": seconds(10), **sending}
    change(CHANNELS={"email": email}, LIFETIME=seconds(100), LEASE_MARGIN=seconds(0), LEASE=seconds(20))
    lines = budget("--configured-only").text.splitlines()
    bars = {line[:18].strip(): line[18:] for line in lines if re.match(r"(before )?attempt \d", line)}
    latest, expiry = 100 - 5 - 2, 99
    # Three seconds until it is claimed, 20 + 10 + 2 with the dead worker; backoff, poll and queue delay.
    assert bars == {
        "before attempt 1": pad("." * 3 + "x" * 32, latest, expiry),
        "attempt 1": pad(" " * 35 + "#" * 10, latest, expiry),
        "attempt 2": pad(" " * 45 + "~" * 5 + ".." + "##", latest, expiry),
    }


def pad(bar: str, latest: int, expiry: int) -> str:
    return bar.ljust(latest) + "|" + " " * (expiry - latest - 1) + "!"


def test_text_and_figures_agree(change: Change) -> None:
    change(LIFETIME=seconds(120))
    text = budget("--configured-only", "--channel", "email").text
    (one,) = figures("--configured-only", "--channel", "email")["channels"]
    rows = [line.split() for line in text.splitlines() if re.match(r"\d +(-|\d)", line)]
    assert [row[:5] for row in rows] == [
        [
            str(each["attempt"]),
            rows[number][1],
            f"{each['normal']['done_seconds']:.1f}",
            f"{each['worst']['starts_seconds']:.1f}",
            f"{each['worst']['done_seconds']:.1f}",
        ]
        for number, each in enumerate(one["attempts"])
    ]
    assert sum(each["worst"]["fits"] for each in one["attempts"]) == one["fitting"]


# As a picture.


def drawn(tmp_path: Path) -> ElementTree.Element:
    file = tmp_path / "budget.svg"
    budget("--configured-only", "--svg", str(file))
    return ElementTree.fromstring(file.read_text("utf-8"))


def test_the_picture_says_in_words_what_it_shows(tmp_path: Path) -> None:
    svg = drawn(tmp_path)
    assert svg.tag == f"{SVG}svg"
    assert svg.get("role") == "img"
    named = {str(element.get("id")): str(element.text) for element in svg if element.get("id")}
    assert str(svg.get("aria-labelledby")).split() == list(named)
    assert "email: 6 of 6 attempts fit into 595.0 useful seconds" in named["desc"]


def test_the_picture_is_fetched_from_nowhere_and_runs_nothing(tmp_path: Path) -> None:
    svg = drawn(tmp_path)
    assert {element.tag.removeprefix(SVG) for element in svg.iter()} == {
        *("svg", "title", "desc", "style", "rect", "text", "line")
    }
    assert not any("href" in name or name.startswith("on") for e in svg.iter() for name in e.attrib)
    assert not re.search(r"url\(|@import", "".join(svg.itertext()))


def test_the_picture_has_a_bar_for_each_attempt_within_its_edges(tmp_path: Path) -> None:
    svg = drawn(tmp_path)
    _, _, width, height = map(float, str(svg.get("viewBox")).split())
    bars = [e for e in svg.iter(f"{SVG}rect") if e.get("class") != "paper"]
    attempts = [e for e in bars if e.get("class") == "attempt"]
    assert len(attempts) == 1 + 2 * 6  # one in the legend
    for bar in bars:
        x, y, wide, high = (float(str(bar.get(name))) for name in ("x", "y", "width", "height"))
        assert x >= 0
        assert x + wide <= width
        assert y + high <= height


def of_email(**changes: Any) -> str:
    """The picture of the defaults with changes, for email with a broker."""
    settings = load({"CHANNELS": {"email": {}}, **changes})
    channels, boundary = [Channel.EMAIL], Dispatch.BROKER
    return picture(decide(settings, channels=channels, boundary=boundary, window=None, using="default"))


def test_attempts_that_are_too_late_are_so_in_words() -> None:
    late = re.findall(r"attempt (\d) starts at [\d.]+ s: too late", of_email(LIFETIME=seconds(120)))
    assert late == ["2", "3", "4", "5", "6"]


def test_the_picture_in_the_docs_is_what_is_drawn_today() -> None:
    assert (ROOT / "docs" / "images" / "decision-rule.svg").read_text("utf-8") == of_email(
        LIFETIME=seconds(360)
    )


def test_a_picture_that_cannot_be_written_is_an_error_without_a_traceback(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be written to the file of --svg"):
        budget("--configured-only", "--svg", str(tmp_path / "no such folder" / "budget.svg"))


# How far workers reach.


@pytest.mark.parametrize("options", [[], ["--latency", "120ms"], ["--workers", "4"]])
def test_a_rate_of_arrivals_needs_latency_and_workers(options: list[str]) -> None:
    with pytest.raises(CommandError, match="--arrivals needs --latency and --workers"):
        budget("--arrivals", "2000/s", *options)


@pytest.mark.parametrize(("holds", "code"), [(True, 0), (False, 1)])
def test_what_the_workers_reach_is_printed_with_the_code_that_says_whether_it_is_enough(
    monkeypatch: pytest.MonkeyPatch, holds: bool, code: int
) -> None:
    asked: dict[str, Any] = {}

    def answer(**options: Any) -> CapacityAnswer:
        asked.update(options)
        return CapacityAnswer(lines=["one", "two"], holds=holds)

    monkeypatch.setattr(delivery_budget, "capacity_lines", answer)
    said = budget("--arrivals", "9/s", "--latency", "120ms", "--workers", "4", "--wave", "8")
    assert said == Said(code, "one\ntwo\n")
    assert asked == {
        "arrivals": "9/s",
        "latency": "120ms",
        "workers": 4,
        "concurrency": None,
        "wave": 8,
        "channel": None,
    }


def test_the_workers_of_the_channel_that_is_named_are_reckoned() -> None:
    said = budget("--arrivals", "9/s", "--latency", "120ms", "--workers", "4", "--channel", "sms")
    assert said.text.startswith("sms: 9")


@pytest.mark.parametrize(
    "option",
    ["--json", "--configured-only", "--svg=x.svg", "--boundary=broker", "--database=default"],
)
def test_what_only_the_rule_knows_is_refused_beside_arrivals(option: str) -> None:
    name = option.partition("=")[0]
    with pytest.raises(CommandError, match=f"{name} cannot go with --arrivals"):
        budget("--arrivals", "9/s", "--latency", "120ms", "--workers", "4", option)


@pytest.mark.parametrize("option", ["--latency=1s", "--workers=4", "--wave=8", "--spread=1s", "--costs=x"])
def test_what_only_capacity_knows_is_refused_without_arrivals(option: str) -> None:
    name = option.partition("=")[0]
    with pytest.raises(CommandError, match=f"{name} needs --arrivals"):
        budget("--configured-only", option)
