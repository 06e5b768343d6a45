"""Ports on the loopback address that nobody else has."""

from __future__ import annotations

import contextlib
import socket

LOOPBACK = "127.0.0.1"


def listen(preferred: int) -> socket.socket:
    """A listening socket on the preferred port or, when that is taken, on a free one.

    Handed to a server as an open file it leaves no moment in which another program could take the port.
    """
    try:
        return _listener(preferred)
    except OSError:
        return _listener(0)


def pick(preferred: int = 0) -> int:
    """A port that was free a moment ago, the preferred one if possible, for servers that open their own."""
    with contextlib.closing(listen(preferred)) as listener:
        return int(listener.getsockname()[1])


def address(port: int) -> str:
    """The address of the pages on a port of this machine."""
    return f"http://{LOOPBACK}:{port}"


def _listener(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener
