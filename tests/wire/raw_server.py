"""A server that says exactly the bytes a test wants, for what the fake provider is too polite for."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

Conversation = Callable[[socket.socket], object]


@contextlib.contextmanager
def raw_server(*conversations: Conversation) -> Iterator[int]:
    """Listen; hold one conversation per connection, in order; yields the port.

    A conversation that meets a closed connection is over. The socket closes after each.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    # A listener that is closed under accept() wakes it, so the thread ends with the test.
    thread = threading.Thread(target=_serve, args=(listener, conversations), daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(timeout=10)


def _serve(listener: socket.socket, conversations: tuple[Conversation, ...]) -> None:
    for conversation in conversations:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, contextlib.suppress(OSError):
            connection.settimeout(10)
            conversation(connection)


def read_until(connection: socket.socket, end: bytes) -> bytes:
    """Everything up to and including ``end``; what came, if the other side closed first."""
    received = b""
    while not received.endswith(end):
        octet = connection.recv(1)
        if not octet:
            return received
        received += octet
    return received


def wait_for_close(connection: socket.socket) -> None:
    """Return once the other side closed."""
    while connection.recv(1024):
        pass


def reply(answer: bytes, *, after: bytes = b"\r\n") -> Conversation:
    """A conversation of one answer, once ``after`` was received."""

    def converse(connection: socket.socket) -> None:
        read_until(connection, after)
        connection.sendall(answer)

    return converse
