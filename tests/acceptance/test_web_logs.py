"""A real web server, with nothing of a link in its logs."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.demo import child, ports
from tests.acceptance.harness.processes import Running, start
from tests.acceptance.harness.waiting import eventually

pytestmark = pytest.mark.acceptance

UID, TOKEN = "OTg3NjU0MzIx", "ditab6-378a2f1dd9e42bb6548118d507ac006d"
SECRETS = (UID, TOKEN)


@pytest.fixture
def port() -> int:
    return ports.pick()


@pytest.fixture
def gunicorn(port: int, tmp_path: Path) -> Iterator[Running]:
    """The shop as the Procfile starts it, in production's settings, on a database without tables."""
    arguments = ("config.wsgi:application", "--config", "config/gunicorn.py", "--bind", f"127.0.0.1:{port}")
    running = start(
        *("-m", "gunicorn", *arguments),
        environment={
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DEBUG": "off",
            "SECRET_KEY": "a secret key for this test, long enough not to be complained about",
            "SECURE_SSL_REDIRECT": "off",
            "RESET_BASE_URL": "https://shop.example",
            "DATABASE_URL": f"sqlite:///{tmp_path / 'empty.sqlite3'}",
            "WEB_CONCURRENCY": "1",
        },
        log=tmp_path / "gunicorn.log",
    )
    yield running
    child.stop(running.process)


def get(port: int, path: str, **headers: str) -> int:
    """The status of the answer, once the server answers."""
    found: list[int] = []

    def answered() -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        with contextlib.closing(connection):
            try:
                connection.request("GET", path, headers=headers)
                found.append(connection.getresponse().status)
            except (OSError, http.client.HTTPException):
                return False
        return True

    eventually(answered, f"an answer on port {port}")
    return found[0]


def test_a_link_that_leads_to_an_error_is_in_no_log(gunicorn: Running, port: int) -> None:
    link = f"/reset/{UID}/{TOKEN}/"
    assert get(port, link, Referer=f"https://shop.example{link}") == 500
    gunicorn.wait_until_log_says('"GET /reset/[link]/ HTTP/1.1" 500')
    log = gunicorn.log.read_text()
    assert '"event":"Internal Server Error: <str>"' in log
    assert '"route":"reset/<uidb64>/<token>/"' in log
    assert "sqlite3.OperationalError at " in log
    assert "no such table" not in log
    assert [secret for secret in SECRETS if secret in log] == []


@pytest.mark.parametrize(
    "path", [f"/elsewhere/{UID}/{TOKEN}/", f"/reset/{UID}/{TOKEN}", f"/nothing/?next=/reset/{UID}/{TOKEN}/"]
)
def test_a_link_in_an_address_that_is_none_is_in_no_log(gunicorn: Running, port: int, path: str) -> None:
    get(port, path)
    assert get(port, "/the-last-one/") == 404
    gunicorn.wait_until_log_says('"GET /the-last-one/ HTTP/1.1" 404')
    log = gunicorn.log.read_text()
    assert '"event":"Not Found: <str>"' in log
    assert [secret for secret in SECRETS if secret in log] == []


def test_the_server_itself_logs_in_the_same_form(gunicorn: Running, port: int) -> None:
    get(port, "/anything/")
    gunicorn.wait_until_log_says('"GET /anything/ HTTP/1.1" 404')
    lines = gunicorn.log.read_text().splitlines()
    access = [line for line in lines if line.startswith("[")]
    said = [json.loads(line)["event"] for line in lines if line not in access]
    assert "Using worker: gthread" in said
    assert len(access) == 1
