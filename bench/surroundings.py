"""Where the measurements run: both databases and a Redis of their own, gone when they end."""

from __future__ import annotations

import logging
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from examples.demo.embedded import start_postgres, start_redis

_CHILD = "RESETDELIVERY_BENCH_DATABASE"


def on_each_database(
    module: str, measure: Callable[[], None], *, databases: Sequence[str] = ("sqlite", "postgresql")
) -> None:
    """Run ``measure`` in a process per database, with tables and a Redis that nobody else uses.

    The process gets the same arguments as this one.
    Rates drift from run to run: only numbers of one run may be compared.
    """
    if _CHILD in os.environ:
        _prepare()
        measure()
        return
    with tempfile.TemporaryDirectory(prefix="resetdelivery-bench-") as name, ExitStack() as servers:
        folder = Path(name)
        redis = servers.enter_context(start_redis(folder, environ={}))
        postgres = servers.enter_context(start_postgres(folder, environ={}))
        urls = {"sqlite": f"sqlite:///{folder / 'bench.sqlite3'}", "postgresql": postgres.url}
        command = [sys.executable, "-m", module, *sys.argv[1:]]
        for database in databases:
            url = urls[database]
            environment = {**os.environ, "DATABASE_URL": url, "REDIS_URL": redis.url, _CHILD: database}
            subprocess.run(command, env=environment, check=True)


def _prepare() -> None:
    os.environ.update(DJANGO_SETTINGS_MODULE="config.settings", DEBUG="true", DISPATCH="broker")
    import django
    from django.core.management import call_command

    django.setup()
    logging.disable(logging.WARNING)
    call_command("migrate", verbosity=0)
    sys.stdout.write(f"\n{os.environ[_CHILD]}\n")


def make_accounts(number: int) -> list[str]:
    """References of new accounts that a reset can be sent to."""
    from django.contrib.auth import get_user_model
    from django.contrib.auth.hashers import make_password

    model = get_user_model()
    first, password = model.objects.count(), make_password("a password")
    users = model.objects.bulk_create(
        model(username=f"buyer{n}", email=f"buyer{n}@shop.example", password=password)
        for n in range(first, first + number)
    )
    return [str(user.pk) for user in users]


@contextmanager
def changed(**values: Any) -> Iterator[None]:
    """RESETDELIVERY with some values changed."""
    from django.conf import settings
    from django.test import override_settings

    with override_settings(RESETDELIVERY={**settings.RESETDELIVERY, **values}):
        yield


def p50_p99(seconds: Sequence[float]) -> tuple[float, float]:
    """Median and 99th percentile, in milliseconds."""
    ordered = sorted(seconds)
    return statistics.median(ordered) * 1000, ordered[int(len(ordered) * 0.99)] * 1000
