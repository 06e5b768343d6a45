"""Asks the Redis that this project's settings name for limits, and says whether it answered."""

from __future__ import annotations

import sys

import django

if __name__ == "__main__":
    django.setup()
    from resetdelivery.conf import get_settings
    from resetdelivery.throttles import connection

    # However long a busy machine takes for its handshake.
    server = connection.LimitsServer(get_settings().limits_redis_url, 10, 1)
    try:
        with server.bounded() as client:
            client.ping()
    except connection.LimitsUnavailable:
        sys.stdout.write("unavailable")
    else:
        sys.stdout.write("answered")
