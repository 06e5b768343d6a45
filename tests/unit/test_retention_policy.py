"""The policy covers every column, and the page that shows it shows this one."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections import Counter
from pathlib import Path

import pytest
from django.apps import apps
from django.db.models import Model

from resetdelivery.domain.retention import PurgeStep
from resetdelivery.retention.policy import POLICY, End, Rule
from resetdelivery.retention.purge import STEPS
from resetdelivery.retention_settings import RetentionSettings
from resetdelivery.throttle_settings import ThrottleSettings

PAGE = Path(__file__).parents[2] / "docs" / "retention.md"
MODELS = sorted(apps.get_app_config("resetdelivery").get_models(), key=lambda model: model.__name__)
DEFAULTS = RetentionSettings()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_each_column_has_one_rule_that_holds_for_all_rows(model: type[Model]) -> None:
    ruled = Counter(name for rule in POLICY if rule.model is model and not rule.only for name in rule.fields)
    assert ruled == Counter(column.name for column in model._meta.fields)


def test_what_the_policy_ends_has_a_step_of_the_purge_and_the_other_way_round() -> None:
    ended = {rule.name for rule in POLICY if rule.end in {End.SCRUBBED, End.DELETED}}
    assert ended == {step.value for step in PurgeStep}
    assert list(STEPS) == list(PurgeStep)


def test_each_duration_of_the_settings_is_some_rules() -> None:
    named = {one.name for one in dataclasses.fields(RetentionSettings)}
    durations = named - {one.name for one in dataclasses.fields(ThrottleSettings)} - {"purge_batch"}
    assert {rule.keep for rule in POLICY if rule.keep} == durations


@pytest.mark.parametrize("rule", POLICY, ids=lambda rule: rule.name)
def test_a_rule_that_ends_says_from_when_and_how_long(rule: Rule) -> None:
    ends = rule.end in {End.SCRUBBED, End.DELETED}
    assert (rule.kept_for(DEFAULTS) is not None) == ends
    assert bool(rule.since) == ends
    if ends:
        assert rule.model._meta.get_field(rule.since).get_internal_type() == "DateTimeField"


@pytest.mark.parametrize("rule", POLICY, ids=lambda rule: rule.name)
def test_the_page_shows_the_rule_as_it_is(rule: Rule) -> None:
    assert line(rule) in PAGE.read_text().splitlines()


def test_the_page_shows_no_other_rule() -> None:
    shown = [text for text in PAGE.read_text().splitlines() if text.startswith("| **")]
    assert shown == [line(rule) for rule in POLICY]


def line(rule: Rule) -> str:
    """The rule as a row of the page's table."""
    fields = ", ".join(f"`{name}`" for name in rule.fields)
    fields = f"{fields}, where {rule.only}" if rule.only else fields
    since = f"`{rule.since}`" if rule.since else ""
    kept = f"`{rule.keep.upper()}`: {words(rule.kept_for(DEFAULTS))}" if rule.keep else ""
    kept = kept or (words(rule.fixed) if rule.fixed else "")
    return f"| **{rule.model.__name__}** | {fields} | {rule.why} | {since} | {kept} | {rule.end.value} |"


def words(duration: dt.timedelta | None) -> str:
    hours = (duration or dt.timedelta(0)) // dt.timedelta(hours=1)
    number, unit = divmod(hours, 24)[0] if hours % 24 == 0 else hours, "day" if hours % 24 == 0 else "hour"
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
