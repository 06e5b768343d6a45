from __future__ import annotations

import dataclasses
import itertools
import json
import os
import re
import smtplib
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from bench.boundaries import chart, table
from bench.boundaries.arrivals import Arrivals
from bench.boundaries.configurations import (
    EVERY,
    Boundary,
    Configuration,
    Database,
    Health,
    in_turn,
    processes,
)
from bench.boundaries.cpu import Used, in_tree, parsed, seconds_by_role, spent
from bench.boundaries.measures import Request, Row, Run, rows_of, run_from_json, run_of
from bench.boundaries.sink import acceptances
from examples.demo.programs import Place
from examples.demo.server import Server, launch

ROOT = Path(__file__).parents[2]
CELL = Configuration(boundary=Boundary.DATABASE, database=Database.SQLITE, health=Health.HEALTHY)
SVG = "{http://www.w3.org/2000/svg}"


def arrivals(**changed: Any) -> Arrivals:
    return Arrivals(**{"per_second": 50.0, "seconds": 40.0, "seed": 1, **changed})


def test_a_seed_gives_every_configuration_the_same_arrivals() -> None:
    assert arrivals().offsets() == arrivals().offsets()
    assert arrivals().offsets() != arrivals(seed=2).offsets()


def test_arrivals_rise_from_the_beginning_to_the_end_of_warm_up_and_measurement() -> None:
    offsets = arrivals(warm_up_seconds=2.0).offsets()
    assert list(offsets) == sorted(offsets)
    assert 0 < offsets[0] < 2
    assert 40 < offsets[-1] < 42


def test_as_many_arrive_as_were_asked_for_within_five_standard_deviations() -> None:
    expected = 50 * 41
    assert abs(len(arrivals().offsets()) - expected) < 5 * expected**0.5


def test_the_gaps_between_arrivals_spread_as_much_as_a_poisson_process_does() -> None:
    """The standard deviation of exponential gaps is their mean; an even clock's is 0."""
    offsets = arrivals(seconds=400.0).offsets()
    gaps = [after - before for before, after in itertools.pairwise(offsets)]
    mean = sum(gaps) / len(gaps)
    spread = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert spread / mean == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("changed", [{"per_second": 0.0}, {"seconds": 0.0}, {"per_second": -1.0}])
def test_arrivals_that_never_come_are_a_mistake(changed: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="write more than 0"):
        arrivals(**changed).offsets()


def test_three_boundaries_two_databases_and_three_mail_servers_are_compared() -> None:
    assert len(set(EVERY)) == 3 * 2 * 3


def test_each_round_has_every_configuration_in_an_order_of_its_own() -> None:
    first, second = (in_turn(EVERY, round_number=number, seed=1) for number in (1, 2))
    assert set(first) == set(second) == set(EVERY)
    assert len({first, second, EVERY}) == 3
    assert first == in_turn(EVERY, round_number=1, seed=1)


@pytest.mark.parametrize(
    ("boundary", "database", "expected"),
    [
        (Boundary.INLINE, Database.SQLITE, ["web"]),
        (Boundary.INLINE, Database.POSTGRESQL, ["web", "postgresql"]),
        (Boundary.DATABASE, Database.SQLITE, ["web", "poller"]),
        (Boundary.DATABASE, Database.POSTGRESQL, ["web", "poller", "postgresql"]),
        # One dispatching process on SQLite.
        (Boundary.BROKER, Database.SQLITE, ["web", "redis", "worker-all", "beat"]),
        (
            Boundary.BROKER,
            Database.POSTGRESQL,
            ["web", "redis", "worker-email", "worker-control", "beat", "postgresql"],
        ),
    ],
)
def test_what_has_to_be_kept_running(boundary: Boundary, database: Database, expected: list[str]) -> None:
    assert list(processes(boundary, database)) == expected


@pytest.mark.parametrize("name", ["python", "a b", "a) R 9 9", "((", ")"])
def test_a_process_is_read_whatever_its_name(name: str) -> None:
    """utime 3, stime 4, and 5 and 6 of children that ended."""
    stat = f"17 ({name}) S 2 17 17 0 -1 4194560 1 2 3 4 3 4 5 6 20 0 1 0"
    assert parsed(stat) == Used(pid=17, parent=2, ticks=18)


def test_the_time_of_a_process_holds_that_of_its_descendants_and_of_nobody_else() -> None:
    table_of = {1: (0, 100), 2: (1, 10), 3: (2, 5), 4: (3, 2), 5: (1, 50)}
    used = {pid: Used(pid=pid, parent=parent, ticks=ticks) for pid, (parent, ticks) in table_of.items()}
    assert in_tree(2, used) == 10 + 5 + 2
    assert in_tree(9, used) == 0


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")
def test_this_process_has_used_time_and_a_look_later_says_how_much_more() -> None:
    before = seconds_by_role({"tests": os.getpid()})
    assert before is not None
    assert 0 < before["tests"] < time.process_time() + sum(os.times()[2:4]) + 1
    assert spent(before, {"tests": before["tests"] + 2.5}) == pytest.approx({"tests": 2.5})


def test_where_processor_time_cannot_be_read_there_is_none() -> None:
    assert spent(None, None) is None
    (row,) = rows_of([run(request("a"))])
    assert row.cpu_ms == {}


def request(recipient: str, **changed: Any) -> Request:
    plain = {"offset": 2.0, "due": 10.0, "committed": 10.5, "ended": 11.0, "error": ""}
    return Request(recipient=recipient, **{**plain, **changed})


def run(*requests: Request, accepted: dict[str, list[float]] | None = None, **changed: Any) -> Run:
    plain: dict[str, Any] = {"warm_up_seconds": 1.0, "left_open": (), "outcomes": {}, "cpu_seconds": {}}
    return run_of(CELL, requests, accepted or {}, **{**plain, **changed})


def test_a_request_lasts_from_arrival_to_answer_also_while_it_waits_for_a_thread() -> None:
    assert run(request("a", due=10.0, ended=10.75)).request_seconds == [0.75]


def test_the_first_acceptance_after_the_commit_counts() -> None:
    found = run(request("a", committed=10.5), accepted={"a": [12.0, 11.5]})
    assert (found.accepted_seconds, found.duplicates, found.expired) == ([1.0], 1, 0)


def test_what_nobody_accepted_is_expired() -> None:
    found = run(request("a"), request("b"), request("c"), accepted={"b": [11.0]})
    assert (found.stored, found.expired) == (3, 2)


def test_what_was_never_stored_is_an_error_and_not_expired() -> None:
    found = run(request("a", committed=None, error="OperationalError"))
    assert (found.stored, found.expired, found.errors) == (0, 0, {"OperationalError": 1})


def test_the_warm_up_is_not_measured_but_its_processor_time_is_shared_out() -> None:
    found = run(request("a", offset=0.5), request("b"), accepted={"a": [10.6], "b": [10.6]})
    assert (len(found.request_seconds), len(found.accepted_seconds)) == (1, 1)
    assert found.delivered_for == 2


def test_what_the_warm_up_left_open_is_not_counted() -> None:
    found = run(request("a", offset=0.5), request("b"), request("c"), left_open=["a", "b"])
    assert found.left_open == 1


def test_a_run_comes_back_from_json_as_it_was() -> None:
    before = run(request("a"), accepted={"a": [11.0]}, cpu_seconds={"web": 0.5}, outcomes={"accepted": 1})
    assert run_from_json(json.loads(json.dumps(dataclasses.asdict(before)))) == before


def test_runs_of_one_configuration_are_one_row_of_all_their_requests() -> None:
    one = run(request("a", ended=10.5), accepted={"a": [11.0]}, cpu_seconds={"web": 0.01, "sink": 9.0})
    other = run(request("a", ended=11.5), cpu_seconds={"web": 0.03, "poller": 0.02})
    (row,) = rows_of([one, other])
    assert (row.runs, row.requests, row.expired) == (2, 2, 0.5)
    assert row.request == pytest.approx((1000, 1500))
    # Of two resets; what the mail server spends is the provider's.
    assert row.cpu_ms == pytest.approx({"web": 20, "poller": 10})


def test_what_failed_is_said_in_words() -> None:
    asked = (request("a", committed=None, error="AccountBusy"), request("b"))
    (row,) = rows_of([run(*asked, left_open=["b"], outcomes={"ambiguous": 2})])
    assert row.failed == "1 requests raised AccountBusy, 2 attempts ambiguous, 1 left open"
    (fine,) = rows_of([run(request("a"))])
    assert fine.failed == ""


@pytest.mark.parametrize(
    ("milliseconds", "expected"),
    [
        (0.04, "0.0 ms"),
        (9.94, "9.9 ms"),
        (9.96, "10 ms"),
        (523.4, "523 ms"),
        (999.4, "999 ms"),
        (1640.0, "1.6 s"),
    ],
)
def test_a_time_is_written_as_short_as_its_size_deserves(milliseconds: float, expected: str) -> None:
    assert table.shown(milliseconds) == expected


SURROUNDINGS = {
    "cores": 2,
    "python": "3.11.7",
    "system": "Linux",
    "per_second": 15.0,
    "seconds": 6.0,
    "seed": 1,
    "dead": "refused",
}


def rows() -> list[Row]:
    """A row for each configuration, each with times of its own; nothing gets through where it is dead."""
    return [
        Row(
            configuration=one,
            runs=2,
            requests=180,
            request=(2.0 + number, 20.0 + number),
            accepted=None if one.health is Health.DEAD else (300.0 + number, 1200.0),
            expired=1.0 if one.health is Health.DEAD else 0.0,
            duplicates=0,
            cpu_ms={"web": 12.0},
            failed="",
        )
        for number, one in enumerate(EVERY)
    ]


def test_the_page_has_a_line_for_each_configuration_and_one_for_who_has_to_run() -> None:
    lines = table.page(rows(), SURROUNDINGS).splitlines()
    assert sum(line.startswith(("| healthy |", "| slow |", "| dead |")) for line in lines) == 18
    assert "| broker | SQLite | 4: web 12 ms, redis, worker-all, beat |" in lines
    dead = "| dead | inline | SQLite | 14 ms / 32 ms | none | 100 % | 0 | 12 ms | 1 | nothing |"
    assert dead in lines


def test_the_page_says_how_the_dead_server_is_dead() -> None:
    said = table.page(rows(), {**SURROUNDINGS, "dead": "silent"})
    assert "a dead one takes connections and says nothing" in said


def test_only_what_stands_between_the_marks_is_replaced() -> None:
    before = f"above\n{table.BEGIN}\nold\n{table.END}\nbelow\n"
    after = table.put_between_marks(before, "new")
    assert after == f"above\n{table.BEGIN}\nnew\n{table.END}\nbelow\n"
    assert table.put_between_marks(after, "new") == after


@pytest.mark.parametrize("text", ["no marks", table.BEGIN, table.END])
def test_a_page_without_both_marks_is_left_alone(text: str) -> None:
    with pytest.raises(ValueError, match="no place for the table"):
        table.put_between_marks(text, "new")


def test_the_documentation_has_a_place_for_the_table() -> None:
    page = (ROOT / "docs" / "boundaries.md").read_text()
    assert table.BEGIN in table.put_between_marks(page, "new")


def test_the_picture_has_a_title_and_every_number_in_words() -> None:
    picture = ET.fromstring(chart.svg(rows()))
    named = picture.attrib["aria-labelledby"].split()
    texts = {one.attrib["id"]: one.text or "" for one in picture if "id" in one.attrib}
    assert (picture.attrib["role"], sorted(named)) == ("img", sorted(texts))
    assert all(f"{row.configuration}: request {table.pair(row.request)}" in texts["desc"] for row in rows())


def test_the_picture_needs_nothing_from_elsewhere() -> None:
    picture = chart.svg(rows()).replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|href|url\(|@import|<script|<image", picture)


def test_the_picture_can_be_read_on_a_phone_of_375_pixels() -> None:
    """Scaled down to that width, its smallest letters are ten pixels high."""
    sizes = [int(size) for size in re.findall(r"(\d+)px", chart.STYLE)]
    assert min(sizes) * min(1, 375 / chart.WIDTH) >= 10


def test_nothing_in_the_picture_lies_outside_of_it() -> None:
    picture = ET.fromstring(chart.svg(rows()))
    height = float(picture.attrib["height"])
    placed = [(float(one.attrib["x"]), float(one.attrib["y"])) for one in picture.iter(f"{SVG}text")]
    assert all(0 < x < chart.WIDTH and 0 < y < height for x, y in placed)


@pytest.mark.parametrize(
    ("milliseconds", "share"), [(1, 0), (10, 0.25), (1000, 0.75), (10000, 1), (0, 0), (99999, 1)]
)
def test_each_power_of_ten_takes_as_much_of_the_scale(milliseconds: float, share: float) -> None:
    assert chart.across(milliseconds) == pytest.approx(chart.LEFT + share * (chart.RIGHT - chart.LEFT))


def test_databases_differ_by_the_shape_of_their_mark_not_by_colour_alone() -> None:
    drawn = chart.svg(rows())
    # One in the legend, one in each panel's row: five panels of three rows for each database.
    assert (drawn.count("<circle"), drawn.count("<rect")) == (16, 16 + 1)


def test_the_mail_server_takes_a_message_and_notes_for_whom_and_when(tmp_path: Path) -> None:
    ready, record = tmp_path / "port", tmp_path / "accepted"
    files = ("--ready-file", str(ready), "--record", str(record))
    place = Place(environment=dict(os.environ), folder=tmp_path)
    command = place.command("sink", "-m", "bench.boundaries.sink", *files)
    with launch(Server(url="", answers=ready.exists), command):
        with smtplib.SMTP("127.0.0.1", int(ready.read_text())) as client:
            for recipient in ("one@shop.example", "two@shop.example", "one@shop.example"):
                client.sendmail("no-reply@shop.example", [recipient], b"Subject: hello\r\n\r\n.\r\n.dots\r\n")
        found = acceptances(record)
    assert {recipient: len(moments) for recipient, moments in found.items()} == {
        "one@shop.example": 2,
        "two@shop.example": 1,
    }
    first, last = found["one@shop.example"]
    assert first < found["two@shop.example"][0] < last
