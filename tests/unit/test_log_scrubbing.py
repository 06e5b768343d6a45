"""Links in log records, in whatever part of a record they stand."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from resetdelivery.log_scrubbing import LOGGERS, LinkFilter, install, scrubbed, without_links

TOKEN = "ditab6-378a2f1dd9e42bb6548118d507ac006d"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"GET /reset/MQ/{TOKEN}/ HTTP/1.1", "GET /reset/[link]/ HTTP/1.1"),
        (f"/reset/OTk5-_k/{TOKEN}", "/reset/[link]"),
        (f"https://shop.example/r/{TOKEN}/?a=1", "https://shop.example/[link]/?a=1"),
        (f"{{'token': '{TOKEN}', 'n': 1}}", "{'token': '[link]', 'n': 1}"),
        (f"two: {TOKEN} {TOKEN}", "two: [link] [link]"),
        ("/reset/MQ/set-password/", "/reset/[link]/"),
        ("/account/set-password", "/account/set-password"),
        (TRACE, TRACE),
        ("378a2f1dd9e42bb6548118d507ac006d", "378a2f1dd9e42bb6548118d507ac006d"),
        ("9e7e3d84-1f4b-4b0e-9d9d-0f8f4f6f2b11", "9e7e3d84-1f4b-4b0e-9d9d-0f8f4f6f2b11"),
        ("", ""),
    ],
)
def test_a_link_is_replaced_and_nothing_else(text: str, clean: str) -> None:
    assert scrubbed(text) == clean


#: What a pattern may begin on at each of its places.
RUNS = ["a", "_", "-", "a-", "_a", "a/", "a/set-password", "a-" + "f" * 32 + "_", "0" * 13 + "-" + "f" * 31]
SCRUB_RUNS = """
import sys
from resetdelivery.log_scrubbing import scrubbed
for run in sys.argv[1:]:
    scrubbed(run * (2_000_000 // len(run)))
"""
HANGS_SECONDS = 60


def test_two_million_characters_of_one_run_do_not_hang() -> None:
    # Less than a second. One step for each pair of them would take hours.
    subprocess.run([sys.executable, "-c", SCRUB_RUNS, *RUNS], check=True, timeout=HANGS_SECONDS)


#: What is to be found, said plainly: slow on long texts.
SIGNED = r"(?<![0-9A-Za-z-])[0-9a-z]{1,13}-[0-9a-f]{32}(?![0-9A-Za-z-])"
PLAIN = re.compile(rf"[A-Za-z0-9_-]+/(?:{SIGNED}|set-password(?=/))|{SIGNED}")
PIECES = [TOKEN, "MQ", "/", "-", "_", "a", "0", "set-password", " ", ".", "reset", "\n", "\u00fc", TRACE]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@hypothesis_settings(deadline=None, max_examples=500)
def test_the_same_is_found_as_from_every_character_of_a_run(text: str) -> None:
    # From the middle of a run one could go on after a token that an underscore follows: no link does.
    assume(f"{TOKEN}_" not in text)
    assert scrubbed(text) == PLAIN.sub("[link]", text)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@hypothesis_settings(deadline=None, max_examples=500)
def test_no_token_is_left_whatever_is_around_it(text: str) -> None:
    assert re.search(SIGNED, scrubbed(text)) is None


def record(msg: Any, *args: Any, **fields: Any) -> logging.LogRecord:
    made = logging.LogRecord("any", logging.ERROR, "file.py", 1, msg, args, fields.pop("exc_info", None))
    made.__dict__.update(fields)
    return made


def printed(made: logging.LogRecord) -> str:
    assert LinkFilter().filter(made)
    return logging.Formatter().format(made)


def raised(text: str) -> Any:
    try:
        int(text)
    except ValueError as error:
        return type(error), error, error.__traceback__


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(record(f"at /reset/MQ/{TOKEN}/"), id="message"),
        pytest.param(record("%s: %s", "Not Found", f"/reset/MQ/{TOKEN}/"), id="argument"),
        pytest.param(record("%(U)s", {"U": f"/reset/MQ/{TOKEN}/"}), id="named argument"),
        pytest.param(record("%s", [f"/reset/MQ/{TOKEN}/"]), id="inside an argument"),
        pytest.param(record("failed", exc_info=raised(TOKEN)), id="exception"),
        pytest.param(record("failed", exc_text=f"ValueError: {TOKEN}"), id="rendered exception"),
        pytest.param(record("failed", stack_info=f"Stack: f('{TOKEN}')"), id="stack"),
    ],
)
def test_no_part_of_a_record_shows_a_link(made: logging.LogRecord) -> None:
    text = printed(made)
    assert TOKEN not in text
    assert "[link]" in text


def test_a_traceback_is_still_there_and_the_exception_too() -> None:
    made = record("failed", exc_info=raised(TOKEN))
    assert "in raised\n    int(text)\n" in (text := printed(made))
    assert text.endswith("ValueError: invalid literal for int() with base 10: '[link]'")
    assert made.exc_info is not None


def test_a_record_without_a_link_keeps_its_arguments() -> None:
    made = record("%s: %s", "Not Found", "/goods/")
    printed(made)
    assert (made.msg, made.args) == ("%s: %s", ("Not Found", "/goods/"))


def test_a_record_that_cannot_be_put_together_is_left_to_its_handlers() -> None:
    made = record("%d of %d", 1)
    assert LinkFilter().filter(made)
    assert made.args == (1,)


def test_a_structured_event_is_scrubbed_in_every_text() -> None:
    event = {"event": f"/reset/MQ/{TOKEN}/", "exception": f"ValueError: {TOKEN}", "status": 500}
    clean = {"event": "/reset/[link]/", "exception": "ValueError: [link]", "status": 500}
    assert without_links(None, "error", event) == clean


def test_the_filter_is_put_on_each_logger_once() -> None:
    install()
    install()
    found = [sum(isinstance(f, LinkFilter) for f in logging.getLogger(name).filters) for name in LOGGERS]
    assert found == [1] * len(LOGGERS)
