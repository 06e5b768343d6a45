"""The budget of this project's own telemetry: that it holds, and that nothing is added to it unseen."""

from __future__ import annotations

import datetime as dt
import json
import logging
import logging.config
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.management import CommandError, call_command
from django.db import connection

from config.logging import configuration
from resetdelivery.clock import database_now
from resetdelivery.conf import Settings, load
from resetdelivery.log_schema import EVENTS, Event, Field
from resetdelivery.logs import get_logger
from resetdelivery.models import Attempt, Delivery, ResetIntent
from resetdelivery.telemetry.budget import Budget, as_json, reckon, report
from resetdelivery.telemetry.budget.trail import ENOUGH_ROWS
from resetdelivery.telemetry.metric_names import METRICS, Label
from tests.integration.conftest import Settings as Change

#: Of a ceiling in the settings' defaults: less room than a label or a long field would take.
TIGHT = 0.8


@pytest.fixture(scope="module")
def defaults() -> Settings:
    """The settings' defaults, with both channels."""
    return load({"CHANNELS": {"email": {}, "sms": {}}, "TRACE_EXPORTER": EXPORTER})


@pytest.fixture(scope="module")
def budget(defaults: Settings) -> Budget:
    return reckon(defaults)


EXPORTER = "opentelemetry.sdk.trace.export.ConsoleSpanExporter"


def over(budget: Budget) -> list[str]:
    return [ceiling.setting for ceiling in budget.ceilings if ceiling.is_over]


def event_named(name: str) -> Event:
    return next(event for event in EVENTS if event.name == name)


# What is measured today is within its budget, and what is added is not.


def test_the_defaults_are_within_budget(budget: Budget) -> None:
    assert over(budget) == []


@pytest.mark.parametrize("setting", ["MAX_SERIES", "MAX_LINE_BYTES", "MAX_LOG_BYTES", "MAX_SPAN_BYTES"])
def test_the_default_ceilings_leave_little_room(budget: Budget, setting: str) -> None:
    share = next(ceiling.share for ceiling in budget.ceilings if ceiling.setting == setting)
    assert share > TIGHT, f"Lower the default of {setting}: only {share:.0%} of it are used."


def test_a_new_label_breaks_the_budget(defaults: Settings, budget: Budget) -> None:
    dearest = next(metric for metric in METRICS if metric.name == budget.metrics[0].name)
    added = Label(name="region", values=lambda: ("one", "two"), most=2)
    metrics = [replace(m, labels=(*m.labels, added)) if m is dearest else m for m in METRICS]
    more = reckon(defaults, metrics=metrics)
    assert more.series == budget.series + dearest.series
    assert over(more) == ["MAX_SERIES"]


def test_a_new_field_breaks_the_budget(defaults: Settings) -> None:
    attempt = event_named("attempt")
    added = Field(name="task", type=str, worst="9" * 36, typical="8c2f6c9e-6a3c-4f0e-8a1d-0a8f1f2f4d5e")
    events = [replace(e, fields=(*e.fields, added)) if e is attempt else e for e in EVENTS]
    assert "MAX_LOG_BYTES" in over(reckon(defaults, events=events))


def test_a_longer_line_breaks_the_budget(defaults: Settings, budget: Budget) -> None:
    longest = max(budget.events, key=lambda event: event.worst_bytes)
    room = defaults.max_line_bytes - longest.worst_bytes
    added = Field(name="x", type=str, worst="9" * room, typical="")
    events = [replace(e, fields=(*e.fields, added)) if e.name == longest.name else e for e in EVENTS]
    assert "MAX_LINE_BYTES" in over(reckon(defaults, events=events))


# Sizes are real ones.


def test_a_line_is_measured_as_the_projects_log_writes_it(budget: Budget) -> None:
    attempt = event_named("attempt")
    stream, logger = StringIO(), logging.getLogger("resetdelivery.attempt")
    handler = logging.StreamHandler(stream)
    formatter = configuration(form="json", debug=False)["formatters"]["structured"]
    handler.setFormatter(logging.config.DictConfigurator({}).configure_formatter(formatter))
    logger.addHandler(handler)
    try:
        get_logger("resetdelivery.attempt").info(
            attempt.name, **{field.name: field.typical for field in attempt.fields}
        )
    finally:
        logger.removeHandler(handler)
    measured = next(event.typical_bytes for event in budget.events if event.name == attempt.name)
    assert len(stream.getvalue().encode()) == measured


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("postgres_only")
def test_rows_are_measured_where_postgresql_counted_enough(defaults: Settings) -> None:
    # What ANALYZE counts stays after a rollback; emptied tables forget it.
    fill(2 * ENOUGH_ROWS)
    tables = {table.table: table for table in reckon(defaults, connection).tables}
    reckoned = {table.table: table for table in reckon(defaults).tables}
    measured = {name for name, table in tables.items() if table.is_measured}
    assert measured == {model._meta.db_table for model in (Attempt, Delivery, ResetIntent)}
    for name in measured:
        before, after = reckoned[name].row_bytes, tables[name].row_bytes
        # Reckoned with every text in use, so that what is measured is less, and not by much.
        assert before / 3 < after < before * 1.2


@pytest.mark.django_db(transaction=True)
def test_rows_are_reckoned_where_few_are_there(defaults: Settings) -> None:
    fill(ENOUGH_ROWS // 100)
    assert not any(table.is_measured for table in reckon(defaults, connection).tables)


def fill(number: int) -> None:
    """That many resets by email with an attempt each, and statistics of them."""
    now = database_now(connection)
    later = now + dt.timedelta(minutes=10)
    intents = ResetIntent.objects.bulk_create(
        ResetIntent(
            account_ref=str(1_000_000 + n),
            account_digest="k1:" + "0" * 64,
            template_version="1",
            locale="en",
            created_at=now,
            expires_at=later,
        )
        for n in range(number)
    )
    deliveries = Delivery.objects.bulk_create(
        Delivery(
            intent=intent,
            channel="email",
            due_at=now,
            expires_at=later,
            state="accepted",
            outcome="accepted",
            finished_at=now,
            first_hint="published",
        )
        for intent in intents
    )
    Attempt.objects.bulk_create(
        Attempt(
            delivery=delivery,
            number=1,
            token=1,
            started_at=now,
            finished_at=now,
            outcome="accepted",
            queue_delay_seconds=0.1,
            remaining_seconds=599.0,
            duration_seconds=0.2,
            transport="smtp",
            worker="email@host:12345",
        )
        for delivery in deliveries
    )
    with connection.cursor() as cursor:
        for model in (ResetIntent, Delivery, Attempt):
            cursor.execute(f"ANALYZE {model._meta.db_table}")


# The command and the checks.


def run(*arguments: str) -> tuple[int, str]:
    out = StringIO()
    try:
        call_command("telemetry_budget", *arguments, stdout=out)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue()
    return 0, out.getvalue()


@pytest.mark.django_db
def test_the_command_ends_well_within_the_budget_and_shows_every_part() -> None:
    code, told = run()
    assert code == 0
    assert "Within budget." in told
    for word in ("METRICS", "LOG", "FIELDS of attempt", "TRACES", "TABLES", "CEILINGS"):
        assert f"\n{word}" in told
    assert [
        name for name in (m.name.removeprefix("resetdelivery_") for m in METRICS) if name not in told
    ] == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    "option", ["--max-series", "--max-line-bytes", "--max-log-bytes", "--max-trail-bytes"]
)
def test_the_command_fails_over_a_ceiling_and_names_it(option: str) -> None:
    code, told = run(option, "1")
    assert code == 1
    assert f"Over budget: {option.removeprefix('--').replace('-', '_').upper()}." in told


@pytest.mark.django_db
def test_twice_the_resets_make_twice_the_log() -> None:
    def log(*arguments: str) -> float:
        return float(json.loads(run("--json", *arguments)[1])["log"]["kept_bytes"])

    once = log("--resets-per-day", "1000")
    # Lines come at another pace, so that their times differ; the sizes hardly do.
    assert log("--resets-per-day", "2000") == pytest.approx(2 * once, rel=0.01)
    assert log("--resets-per-day", "1000", "--log-retention", "60") == pytest.approx(2 * once)
    assert log("--resets-per-day", "1000", "--log-replicas", "3") == pytest.approx(3 * once)


@pytest.mark.django_db
@pytest.mark.parametrize("wrong", ["0", "-1", "many", "1.5"])
def test_a_number_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(CommandError, match="whole number"):
        run("--resets-per-day", wrong)


def test_the_figures_are_json_and_add_up(budget: Budget) -> None:
    figures = json.loads(json.dumps(as_json(budget)))
    assert sum(metric["series"] for metric in figures["metrics"]["each"]) == figures["metrics"]["series"]
    assert sum(e["kept_bytes"] for e in figures["log"]["events"]) == pytest.approx(
        figures["log"]["kept_bytes"]
    )
    assert figures["is_over"] is False


def test_the_report_fits_a_terminal(budget: Budget) -> None:
    assert max(map(len, report(budget))) <= 110


def deploy_ids() -> list[str]:
    messages = run_checks(tags=["resetdelivery"], include_deployment_checks=True)
    ids = [str(message.id).removeprefix("resetdelivery.") for message in messages]
    return [one for one in ids if one in {"W105", "W106", "W107", "W108", "W109"}]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"MAX_SERIES": 10}, ["W105"]),
        ({"MAX_LINE_BYTES": 10}, ["W106"]),
        ({"MAX_LOG_BYTES": 10}, ["W107"]),
        ({"MAX_SPAN_BYTES": 10}, []),
        ({"MAX_SPAN_BYTES": 10, "TRACE_EXPORTER": EXPORTER}, ["W108"]),
        ({"MAX_TRAIL_BYTES": 10}, ["W109"]),
        # All grows with the resets but series and single lines.
        ({"RESETS_PER_DAY": 10_000_000}, ["W107", "W109"]),
    ],
)
def test_a_deployment_over_its_budget_is_warned(
    change: Change, changes: dict[str, Any], expected: list[str]
) -> None:
    change(**changes)
    assert deploy_ids() == expected
