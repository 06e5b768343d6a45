"""Sockets with one budget for everything."""

from __future__ import annotations

import socket
import ssl
import threading
import time

import pytest

from notifications import sockets
from notifications.deadline import Deadline, DeadlinePassed
from notifications.sockets import ConnectFailed, DeadlineSocket, PeerTimeout
from tests.wire.conftest import CA_FILE
from tests.wire.raw_server import raw_server, wait_for_close


def drip(connection: socket.socket) -> None:
    """One byte every hundredth of a second, for as long as anybody listens."""
    connection.settimeout(0.01)
    while True:
        connection.sendall(b"x")
        try:
            if not connection.recv(1):
                return
        except TimeoutError:
            continue


def test_a_drip_cannot_outlast_the_deadline() -> None:
    with raw_server(drip) as port, sockets.connect("127.0.0.1", port, Deadline.after(0.2)) as sock:
        started = time.monotonic()
        with pytest.raises(PeerTimeout), sock.makefile("rb") as stream:
            stream.read()
    assert time.monotonic() - started < 5


def test_a_drip_over_tls_cannot_outlast_the_deadline(server_tls: ssl.SSLContext) -> None:
    def converse(connection: socket.socket) -> None:
        with server_tls.wrap_socket(connection, server_side=True) as secured:
            drip(secured)

    with raw_server(converse) as port:
        deadline = Deadline.after(10)
        plain = sockets.connect("localhost", port, deadline)
        with sockets.secure(plain, sockets.client_context(CA_FILE), "localhost", deadline) as sock:
            sock.deadline = Deadline.after(0.2)
            with pytest.raises(PeerTimeout), sock.makefile("rb") as stream:
                stream.read()


def test_a_peer_that_says_nothing_cannot_outlast_the_deadline() -> None:
    with (
        raw_server(wait_for_close) as port,
        sockets.connect("127.0.0.1", port, Deadline.after(0.2)) as sock,
        pytest.raises(PeerTimeout),
    ):
        sock.recv(1)


@pytest.mark.parametrize("operation", ["send", "sendall"])
def test_a_peer_that_does_not_read_cannot_outlast_the_deadline(operation: str) -> None:
    released = threading.Event()
    with raw_server(lambda _: released.wait(10)) as port:
        sock = sockets.connect("127.0.0.1", port, Deadline.after(0.5))
        with pytest.raises((PeerTimeout, DeadlinePassed)):
            _fill(sock, operation)
        sock.close()
        released.set()


def _fill(sock: DeadlineSocket, operation: str) -> None:
    while True:
        getattr(sock, operation)(b"x" * 1_000_000)


def test_nothing_is_sent_once_the_deadline_passed() -> None:
    with raw_server(wait_for_close) as port, sockets.connect("127.0.0.1", port, Deadline.after(10)) as sock:
        sock.deadline = Deadline.after(-1)
        with pytest.raises(DeadlinePassed):
            sock.sendall(b"x")
        with pytest.raises(PeerTimeout):
            sock.recv(1)


def test_a_new_deadline_gives_a_connection_new_time() -> None:
    def greet(connection: socket.socket) -> None:
        connection.sendall(b"hello")

    with raw_server(greet) as port, sockets.connect("127.0.0.1", port, Deadline.after(10)) as sock:
        sock.deadline = Deadline.after(-1)
        sock.deadline = Deadline.after(10)
        assert sock.recv(5) == b"hello"


def test_small_packets_are_not_held_back() -> None:
    with raw_server(wait_for_close) as port, sockets.connect("127.0.0.1", port, Deadline.after(10)) as sock:
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_connecting_fails_with_an_error_of_its_own() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ConnectFailed):
        sockets.connect("127.0.0.1", port, Deadline.after(10))


def test_an_address_that_refuses_leaves_the_next_one_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        dead = closed.getsockname()
    with raw_server(wait_for_close) as port:
        entries = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in (dead, ("127.0.0.1", port))
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: entries)
        with sockets.connect("two.addresses.invalid", 1, Deadline.after(10)) as sock:
            assert sock.getpeername()[1] == port


def test_a_look_up_that_hangs_cannot_outlast_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()

    def look_up(*_: object, flags: int = 0, **__: object) -> list[object]:
        if flags & socket.AI_NUMERICHOST:
            raise socket.gaierror
        answered.wait(10)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    started = time.monotonic()
    with pytest.raises(PeerTimeout):
        sockets.connect("slow.invalid", 25, Deadline.after(0.1))
    assert time.monotonic() - started < 5
    answered.set()


def test_a_bounded_call_hands_over_its_answer_or_its_error() -> None:
    def fail() -> None:
        raise LookupError("none")

    assert sockets.within(Deadline.after(10), lambda: 42) == 42
    with pytest.raises(LookupError, match="none"):
        sockets.within(Deadline.after(10), fail)


def test_a_handshake_that_stalls_ends_at_the_deadline_and_closes_the_socket() -> None:
    with raw_server(wait_for_close) as port:
        plain = sockets.connect("127.0.0.1", port, Deadline.after(10))
        started = time.monotonic()
        with pytest.raises(PeerTimeout):
            sockets.secure(plain, sockets.client_context(), "127.0.0.1", Deadline.after(0.1))
    assert time.monotonic() - started < 5
    assert plain.fileno() == -1
    assert isinstance(plain, DeadlineSocket)
