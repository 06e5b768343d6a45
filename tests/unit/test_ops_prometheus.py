"""Rules, dashboard and documentation name metrics and labels that there are."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from resetdelivery.api.document import PREFIX as MOUNTED
from resetdelivery.telemetry.metric_names import METRICS, PREFIX, Metric, MetricKind

ROOT = Path(__file__).parents[2]
PROMETHEUS = ROOT / "ops" / "prometheus"
RULES = PROMETHEUS / "rules.yml"
RULES_TEST = PROMETHEUS / "rules_test.yml"
DASHBOARD = json.loads((ROOT / "ops" / "grafana" / "resetdelivery.json").read_text())
TEXT = (ROOT / "docs" / "metrics.md").read_text()

SELECTOR = re.compile(rf"({PREFIX}[a-z_]+)(?:\{{([^}}]*)\}})?")
MATCHER = re.compile(r'([a-z_]+)\s*(=|!=|=~|!~)\s*"([^"]*)"')
#: Labels that no metric declares.
GIVEN = {"le", "instance"}


def rules(kind: str) -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"] if kind in rule]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DASHBOARD["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def expressions() -> Iterator[str]:
    for rule in [*rules("record"), *rules("alert")]:
        yield rule["expr"]
    for panel in panels():
        for target in panel["targets"]:
            yield target["expr"]
    for variable in DASHBOARD["templating"]["list"]:
        yield variable.get("definition", "")
    for test in yaml.safe_load(RULES_TEST.read_text())["tests"]:
        for series in test["input_series"]:
            yield series["series"]


def of_series(name: str) -> Metric | None:
    """The metric that has a series of this name."""
    for metric in METRICS:
        parts = ("_bucket", "_sum", "_count") if metric.kind is MetricKind.HISTOGRAM else ("",)
        if name in {metric.name + part for part in parts}:
            return metric
    return None


SELECTORS = sorted({found.groups(default="") for text in expressions() for found in SELECTOR.finditer(text)})
SOURCES = sorted(set(expressions()))


@pytest.mark.parametrize(("name", "matchers"), SELECTORS)
def test_each_series_that_is_asked_for_exists_with_its_labels(name: str, matchers: str) -> None:
    metric = of_series(name)
    assert metric is not None, name
    labels = {label.name: label for label in metric.labels}
    for label, operator, value in MATCHER.findall(matchers):
        assert label in {*labels, *GIVEN}
        if label == "le":
            assert value in {*map(str, metric.buckets), "+Inf"}
        elif label in labels and operator in {"=", "!="} and label != "template_version":
            assert value in labels[label].values()


@pytest.mark.parametrize("expression", [one for one in SOURCES if "attempts_total" in one and "(" in one])
def test_what_was_retired_is_in_no_rate(expression: str) -> None:
    for name, matchers in SELECTOR.findall(expression):
        if name == f"{PREFIX}attempts_total":
            assert 'template_version!="retired"' in matchers


def test_recording_rules_that_are_used_are_recorded() -> None:
    used = {name for text in SOURCES for name in re.findall(r"resetdelivery:[a-z0-9_:]+", text)}
    recorded = {rule["record"] for rule in rules("record")}
    assert used == recorded


@pytest.mark.parametrize("rule", rules("alert"), ids=lambda rule: rule["alert"])
def test_each_alert_says_how_urgent_it_is_and_what_is_wrong(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert rule["annotations"]["summary"]
    assert f"| `{rule['alert']}` | {rule['labels']['severity']} |" in TEXT


def test_no_alert_is_documented_that_is_not_there() -> None:
    assert set(re.findall(r"^\| `(Reset\w+)`", TEXT, re.MULTILINE)) == {r["alert"] for r in rules("alert")}


def test_the_documented_metrics_are_those_that_there_are_with_their_labels_and_series() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \|(.*?)\| (\d+) \|", TEXT, re.MULTILINE)
    told = [(PREFIX + name, re.findall(r"`(\w+)`", labels), int(series)) for name, labels, series in rows]
    assert told == [(one.name, [label.name for label in one.labels], one.series) for one in METRICS]


def test_every_metric_is_looked_at_by_a_rule_or_a_panel() -> None:
    looked_at = {of_series(name) for name, _ in SELECTORS}
    # The mode is for the admin's page of channels, which changes it.
    assert {one.name for one in METRICS if one not in looked_at} == {f"{PREFIX}channel_mode"}


def test_the_dashboard_leaves_its_data_source_to_whoever_imports_it() -> None:
    assert (DASHBOARD["uid"], DASHBOARD["id"]) == ("resetdelivery", None)
    assert DASHBOARD["templating"]["list"][0]["type"] == "datasource"
    named = [panel["datasource"] for panel in panels()]
    named += [target["datasource"] for panel in panels() for target in panel["targets"]]
    assert {tuple(sorted(one.items())) for one in named} == {
        (("type", "prometheus"), ("uid", "${datasource}"))
    }


def test_no_two_panels_lie_on_top_of_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + i, at["y"] + j) for i in range(at["w"]) for j in range(at["h"])}
        assert not taken & cells, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_the_example_asks_for_the_page_with_a_key_from_a_file() -> None:
    (job,) = yaml.safe_load((PROMETHEUS / "scrape.example.yml").read_text())["scrape_configs"]
    assert job["metrics_path"] == f"{MOUNTED}metrics"
    assert set(job["authorization"]) == {"type", "credentials_file"}
    assert job["authorization"]["type"] == "Bearer"


@pytest.mark.parametrize(
    "arguments", [["check", "rules", "--lint-fatal", str(RULES)], ["test", "rules", str(RULES_TEST)]]
)
def test_prometheuss_own_tool_has_nothing_to_say(arguments: list[str]) -> None:
    tool = shutil.which("promtool")
    if tool is None:
        pytest.skip("there is no promtool on this machine: it comes with Prometheus")
    run = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
