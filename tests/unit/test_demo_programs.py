"""The demo's table of programs, its environment, and what it reads from other programs."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from examples.demo import __main__ as command_line
from examples.demo import programs
from examples.demo.child import StartFailure
from examples.demo.demo import Account, Demo
from examples.demo.inbox import Message
from examples.demo.probes import json_written
from examples.demo.programs import Addresses, Place

ADDRESSES = Addresses(web="http://w:1", inbox="http://i:2", flower="http://f:3", smtp_port=25)
SQLITE, POSTGRES = "sqlite:////x/shop.sqlite3", "postgres://db.example/shop"


def place(folder: Path, database_url: str = SQLITE) -> Place:
    return Place(environment=settings(database_url), folder=folder)


def settings(database_url: str = SQLITE) -> dict[str, str]:
    base = {"PATH": "/bin", "SECRET_KEY": "the one of this machine"}
    return programs.environment(base, addresses=ADDRESSES, database_url=database_url, redis_url="redis://r")


def option(arguments: tuple[str, ...], name: str) -> str:
    return arguments[arguments.index(name) + 1]


@pytest.mark.parametrize(
    ("database_url", "queues"), [(SQLITE, ["email,sms,control"]), (POSTGRES, ["email", "sms", "control"])]
)
def test_sqlite_has_one_dispatching_process_and_postgres_one_per_queue(
    tmp_path: Path, database_url: str, queues: list[str]
) -> None:
    workers = programs.workers(place(tmp_path, database_url))
    assert [option(worker.command.arguments, "-Q") for worker in workers] == queues


@pytest.mark.parametrize("name", ["SECRET_KEY", "RESET_LINK_KEY", "PSEUDONYM_KEY", "TWILIO_AUTH_TOKEN"])
def test_secrets_are_drawn_anew_for_each_run(name: str) -> None:
    assert settings()[name] != settings()[name]


def test_no_secret_is_in_a_command_line_or_a_repr(tmp_path: Path) -> None:
    here = place(tmp_path)
    table = [
        programs.inbox(here, tmp_path / "ready"),
        programs.web(here, "http://w:1", 7),
        programs.beat(here),
    ]
    shown = repr([here, *table, *programs.workers(here), programs.flower(here, 5555)])
    assert [name for name, value in here.environment.items() if "KEY" in name and value in shown] == []


def test_every_program_of_the_table_runs_with_this_interpreter(tmp_path: Path) -> None:
    here = place(tmp_path)
    table = [programs.web(here, "http://w:1", 7), programs.beat(here), programs.flower(here, 5555)]
    assert {program.command.arguments[0] for program in table} == {sys.executable}


def test_flower_listens_on_this_machine_only(tmp_path: Path) -> None:
    arguments = programs.flower(place(tmp_path), 5555).command.arguments
    assert {"--address=127.0.0.1", "--port=5555"} <= set(arguments)


@pytest.mark.parametrize(
    "name", ["web", "worker-email", "worker-sms", "worker-control", "beat", "flower", "release"]
)
def test_the_procfile_has_a_line_for_every_process(name: str) -> None:
    lines = (programs.ROOT / "Procfile").read_text().splitlines()
    commands = {name: shlex.split(command) for name, _, command in (line.partition(": ") for line in lines)}
    assert commands[name]


def demo(accounts: str) -> Demo:
    return Demo(addresses=ADDRESSES, place=place(Path()), accounts=accounts)


def test_the_first_account_is_read_from_the_printed_table() -> None:
    printed = (
        "username  email             password\nanna      anna@shop.example  x\nben  ben@shop.example  y\n"
    )
    assert demo(printed).first_account == Account(username="anna", email="anna@shop.example")


@pytest.mark.parametrize("printed", ["", "username email\n", "Nothing to do.\nanna anna@shop.example\n"])
def test_accounts_that_cannot_be_read_are_said_to_be_missing(printed: str) -> None:
    with pytest.raises(StartFailure, match="printed no table with a username and an email"):
        _ = demo(printed).first_account


def test_the_block_shows_every_address_and_the_accounts() -> None:
    block = command_line.block(demo("username email\nanna anna@shop.example\n"))
    expected = [ADDRESSES.web, ADDRESSES.inbox, ADDRESSES.flower, "anna anna@shop.example", "Ctrl-C"]
    assert [words for words in expected if words not in block] == []


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("Go to\nhttps://shop.example/reset/MQ/a-1/\nsoon.", "https://shop.example/reset/MQ/a-1/"),
        ("Reset: http://127.0.0.1:8000/r/x (9 minutes)", "http://127.0.0.1:8000/r/x"),
        ("No link here", None),
    ],
)
def test_the_link_of_a_message_is_its_first_address(text: str, link: str | None) -> None:
    assert Message(channel="sms", text=text).link == link


@pytest.mark.parametrize(
    ("written", "read"),
    [('{"http_port": 8025}', {"http_port": 8025}), ("{", None), ("[1]", None), (None, None)],
)
def test_a_ready_file_counts_when_it_is_whole(
    tmp_path: Path, written: str | None, read: dict[str, object] | None
) -> None:
    file = tmp_path / "ready.json"
    if written is not None:
        file.write_text(written)
    assert json_written(file) == read


def test_the_demo_sets_every_setting_of_the_example_file_but_the_pools_size() -> None:
    lines = (programs.ROOT / ".env.example").read_text().splitlines()
    named = {line.partition("=")[0] for line in lines if line and not line.startswith("#")}
    assert named - set(settings()) == {"DATABASE_POOL_SIZE"}
