"""The embedded Redis and PostgreSQL: real servers, started without root's rights."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from examples.demo import postgres_server, redis_server
from examples.demo.embedded import Server, StartFailure, start_postgres, start_redis

NO_URLS: dict[str, str] = {}


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with start_postgres(tmp_path_factory.mktemp("postgres"), durable=False, environ=NO_URLS) as server:
        yield server


def setting(server: Server, name: str) -> str:
    with psycopg.connect(server.url) as connection:
        row = connection.execute("SELECT current_setting(%s)", [name]).fetchone()
    assert row is not None
    return str(row[0])


def address(server: Server) -> tuple[str, int]:
    host, _, port = server.url.rpartition("@")[2].partition("/")[0].partition(":")
    return host, int(port)


def test_redis_answers_at_its_url(tmp_path: Path) -> None:
    with start_redis(tmp_path, environ=NO_URLS) as server:
        client = redis.Redis.from_url(server.url)
        assert client.echo("here") == b"here"
        client.close()


def test_redis_refuses_a_stranger_on_the_same_machine(tmp_path: Path) -> None:
    with (
        start_redis(tmp_path, environ=NO_URLS) as server,
        socket.create_connection(address(server)) as stranger,
    ):
        stranger.sendall(b"PING\r\n")
        assert stranger.recv(100).startswith(b"-NOAUTH")


def test_a_stopped_redis_leaves_its_port(tmp_path: Path) -> None:
    server = start_redis(tmp_path, environ=NO_URLS)
    server.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address(server))


def test_a_killed_redis_can_be_started_again_at_the_same_url(tmp_path: Path) -> None:
    first = start_redis(tmp_path, environ=NO_URLS)
    assert first.process is not None
    first.process.kill()
    first.process.wait()
    with first.start_again() as second:
        assert second.answers()
        assert second.url == first.url


def test_a_redis_named_by_url_is_neither_started_nor_stopped(tmp_path: Path) -> None:
    server = start_redis(tmp_path, environ={"REDIS_URL": "redis://queue.example/3"})
    server.stop()
    assert (server.url, server.process) == ("redis://queue.example/3", None)


def test_a_server_that_is_not_ours_cannot_be_started_again() -> None:
    with pytest.raises(StartFailure, match="not started here"):
        Server(url="redis://queue.example/3").start_again()


def test_no_redis_anywhere_says_what_would_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_server, "package_folder", lambda _name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        StartFailure, match="set REDIS_URL, install the extra 'embedded', or put redis-server"
    ):
        start_redis(tmp_path, environ=NO_URLS)


def test_without_the_wheel_a_server_on_path_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "redis-server"
    own.write_text("#!/bin/sh\necho this machine has its own; exit 5\n")
    own.chmod(own.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(redis_server, "package_folder", lambda _name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StartFailure, match=r"redis-server ended with exit code 5:(?s:.)*has its own"):
        start_redis(tmp_path, environ=NO_URLS)


def test_a_port_taken_in_between_is_given_up_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as free:
        offers = [taken.getsockname()[1], free.getsockname()[1]]
        free.close()
        monkeypatch.setattr("examples.demo.ports.pick", lambda: offers.pop(0))
        with start_redis(tmp_path, environ=NO_URLS) as server:
            assert (server.answers(), offers) == (True, [])


def test_the_password_is_not_in_the_servers_repr(tmp_path: Path) -> None:
    with start_redis(tmp_path, environ=NO_URLS) as server:
        password = server.url.partition("//:")[2].partition("@")[0]
        assert password
        assert password not in repr(server)


def test_postgres_speaks_utf8_and_sorts_by_code_point(postgres: Server) -> None:
    with psycopg.connect(postgres.url) as connection:
        row = connection.execute("SELECT current_setting('server_encoding'), 'Z' < 'a', 'z' < 'ä'").fetchone()
    assert row == ("UTF8", True, True)


@pytest.mark.parametrize(
    ("name", "value"),
    [("fsync", "off"), ("listen_addresses", "127.0.0.1"), ("TimeZone", "UTC"), ("max_connections", "100")],
)
def test_postgres_runs_with_the_settings_of_a_test_server(postgres: Server, name: str, value: str) -> None:
    assert setting(postgres, name) == value


def test_postgres_refuses_a_wrong_password(postgres: Server) -> None:
    host, port = address(postgres)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(host=host, port=port, user="postgres", password="guess", dbname="postgres")


@pytest.mark.skipif(os.geteuid() != 0, reason="rights are given up only by root")
def test_postgres_started_by_root_runs_as_an_ordinary_user(postgres: Server) -> None:
    assert postgres.process is not None
    assert Path(f"/proc/{postgres.process.pid}").stat().st_uid != 0


def test_a_durable_postgres_keeps_fsync(tmp_path: Path) -> None:
    with start_postgres(tmp_path, environ=NO_URLS) as server:
        assert setting(server, "fsync") == "on"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's cluster is outside the caller's folder")
def test_a_stopped_postgres_of_root_leaves_no_folder_behind(tmp_path: Path) -> None:
    server = start_postgres(tmp_path, durable=False, environ=NO_URLS)
    server.stop()
    assert server.command is not None
    assert not server.command.folder.exists()


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "psql", "pgsql"])
def test_a_postgres_named_by_url_is_neither_started_nor_stopped(tmp_path: Path, scheme: str) -> None:
    server = start_postgres(tmp_path, environ={"DATABASE_URL": f"{scheme}://db.example/shop"})
    server.stop()
    assert (server.url, server.process) == (f"{scheme}://db.example/shop", None)


def test_no_postgres_anywhere_says_what_would_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_server, "package_folder", lambda _name: None)
    monkeypatch.setattr(postgres_server, "SYSTEM_FOLDERS", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StartFailure, match="set DATABASE_URL, install the extra 'embedded', or put initdb"):
        start_postgres(tmp_path, environ=NO_URLS)
