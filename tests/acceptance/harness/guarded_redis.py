"""A real Valkey under ``ops/redis/users.acl``, with a password drawn for each user."""

from __future__ import annotations

import functools
import os
import secrets
import subprocess
from collections.abc import Mapping
from pathlib import Path

import redis

from examples.demo import ports
from examples.demo.child import Command
from examples.demo.redis_server import redis_program
from examples.demo.server import Server, on_a_free_port
from tests.acceptance.harness.processes import ROOT

USERS = ("operator", "web", "beat", "worker", "flower", "limits")

CONFIGURATION = """\
bind {host}
port {port}
dir "{folder}"
save ""
aclfile "{users}"
"""


class GuardedRedis:
    """The server; ``url(user)`` is its address for one of the file's users."""

    def __init__(self, folder: Path) -> None:
        self._passwords = {user: secrets.token_urlsafe(24) for user in USERS}
        self._users = folder / "users.acl"
        self._users.write_text(filled_in(self._passwords))
        self._server = on_a_free_port(functools.partial(self._described, folder))

    def url(self, user: str) -> str:
        """The address, with the password of ``user``."""
        return self._server.url.replace("@", f"{user}:{self._passwords[user]}@", 1)

    def client(self, user: str) -> redis.Redis[bytes]:
        """A client that signs in as ``user``."""
        return redis.Redis.from_url(self.url(user), socket_timeout=5)

    def refusals(self) -> list[tuple[str, str]]:
        """What was refused until now: each user and the command, key or channel."""
        with self.client("operator") as client:
            entries = client.acl_log()
        return sorted({(_text(one["username"]), _text(one["object"])) for one in entries})

    def forget_refusals(self) -> None:
        """ACL LOG RESET."""
        with self.client("operator") as client:
            client.acl_log_reset()

    def stop(self) -> None:
        """The end."""
        self._server.stop()

    def _described(self, folder: Path, port: int) -> tuple[Server, Command]:
        values = {"host": ports.LOOPBACK, "port": port, "folder": folder, "users": self._users}
        command = Command(
            arguments=(str(redis_program()), "-"),
            environment={},
            log=folder / "redis.log",
            folder=folder,
            input=CONFIGURATION.format(**values).encode(),
        )
        url = f"redis://@{ports.LOOPBACK}:{port}/0"
        return Server(url=url, answers=functools.partial(self._answers, port)), command

    def _answers(self, port: int) -> bool:
        try:
            password = self._passwords["operator"]
            with redis.Redis(port=port, username="operator", password=password, socket_timeout=1) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False


def filled_in(passwords: Mapping[str, str]) -> str:
    """What ``ops/redis/fill-in`` prints for these passwords."""
    named = {f"{user.upper()}_PASSWORD": password for user, password in passwords.items()}
    done = subprocess.run(
        [ROOT / "ops/redis/fill-in"],
        env={"PATH": os.environ["PATH"], **named},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
