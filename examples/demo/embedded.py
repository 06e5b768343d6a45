"""A real Redis and a real PostgreSQL without root: from a URL, a wheel or the machine, in that order.

Servers started here listen on the loopback address only, on a free port, behind a random password, and end
when the process that started them ends, whatever ended it.

    with start_redis(folder) as redis, start_postgres(folder, durable=False) as postgres:
        run(REDIS_URL=redis.url, DATABASE_URL=postgres.url)
"""

from __future__ import annotations

from examples.demo.child import StartFailure
from examples.demo.postgres_server import start_postgres
from examples.demo.redis_server import start_redis
from examples.demo.server import Server

__all__ = ["Server", "StartFailure", "start_postgres", "start_redis"]
