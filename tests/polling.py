"""A poller that runs beside a test, in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections

from resetdelivery.poller import Poller

CEILING_SECONDS = 20.0


@contextmanager
def polling() -> Iterator[None]:
    """One runs until the end of the block."""
    poller = Poller()

    def poll() -> None:
        try:
            poller.run()
        finally:
            connections.close_all()

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield
    finally:
        poller.stop()
        thread.join(CEILING_SECONDS)
        assert not thread.is_alive()
