"""Sockets that share one total budget, however slowly the other side drips its bytes.

A plain socket timeout starts anew with every read, so a provider that sends one byte a second
is never late. These sockets set the timeout to what remains of a :class:`Deadline` before each
operation. Waiting in vain is :class:`PeerTimeout`; being about to send when nothing remains is
:class:`~notifications.deadline.DeadlinePassed`. Neither is an ``OSError``, so that ``smtplib`` and
``http.client`` cannot turn it into an ordinary disconnect.
"""

from __future__ import annotations

import queue
import socket
import ssl
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from notifications.deadline import Deadline, DeadlinePassed

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

P = ParamSpec("P")
T = TypeVar("T")


class PeerTimeout(Exception):
    """The other side did not get on with it before the deadline."""


class _NothingLeft(PeerTimeout):
    """The deadline had passed before the operation began: of a sender's bytes, none went out."""


class ConnectFailed(OSError):
    """No address of the host accepted a connection."""


class DeadlineSocket(socket.socket):
    """A TCP socket whose every operation ends by :attr:`deadline`."""

    deadline: Deadline | None = None

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        """Receive as :meth:`socket.socket.recv`; :class:`PeerTimeout` at the deadline."""
        return _operate(self, super().recv, bufsize, flags)

    def recv_into(self, buffer: WriteableBuffer, nbytes: int = 0, flags: int = 0) -> int:
        """Receive into ``buffer``; :class:`PeerTimeout` at the deadline."""
        return _operate(self, super().recv_into, buffer, nbytes, flags)

    def send(self, data: ReadableBuffer, flags: int = 0, /) -> int:
        """Send some of ``data``; :class:`PeerTimeout` at the deadline, ``DeadlinePassed`` after it."""
        return _send(self, super().send, data, flags)

    def sendall(self, data: ReadableBuffer, flags: int = 0, /) -> None:
        """Send all of ``data``; :class:`PeerTimeout` at the deadline, ``DeadlinePassed`` after it."""
        _send(self, super().sendall, data, flags)


class DeadlineSSLSocket(ssl.SSLSocket):
    """The same over TLS; made by a context whose ``sslsocket_class`` it is."""

    deadline: Deadline | None = None

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """Receive as :meth:`ssl.SSLSocket.recv`; :class:`PeerTimeout` at the deadline."""
        return _operate(self, super().recv, buflen, flags)

    def recv_into(self, buffer: WriteableBuffer, nbytes: int | None = None, flags: int = 0) -> int:
        """Receive into ``buffer``; :class:`PeerTimeout` at the deadline."""
        return _operate(self, super().recv_into, buffer, nbytes, flags)

    def send(self, data: ReadableBuffer, flags: int = 0) -> int:
        """Send some of ``data``, as the plain socket does; ``sendall`` goes through here."""
        return _send(self, super().send, data, flags)


AnyDeadlineSocket = DeadlineSocket | DeadlineSSLSocket


def _operate(sock: AnyDeadlineSocket, operation: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    if sock.deadline is not None:
        sock.settimeout(_time_left(sock.deadline))
    try:
        return operation(*args, **kwargs)
    except TimeoutError:
        raise PeerTimeout from None


def _send(sock: AnyDeadlineSocket, operation: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return _operate(sock, operation, *args, **kwargs)
    except _NothingLeft:
        raise DeadlinePassed from None


def _time_left(deadline: Deadline) -> float:
    remaining = deadline.remaining()
    if remaining <= 0:
        raise _NothingLeft
    return remaining


def within(deadline: Deadline, function: Callable[[], T]) -> T:
    """Call what has no timeout of its own (a name look-up), and stop waiting at the deadline.

    The call goes on in a daemon thread that nobody waits for. Its exception is raised here.
    """
    answers: queue.SimpleQueue[tuple[T | None, Exception | None]] = queue.SimpleQueue()

    def call() -> None:
        try:
            answers.put((function(), None))
        except Exception as error:  # handed to the waiting thread
            answers.put((None, error))

    threading.Thread(target=call, name="bounded-call", daemon=True).start()
    try:
        answer, error = answers.get(timeout=_time_left(deadline))
    except queue.Empty:
        raise PeerTimeout from None
    if error is not None:
        raise error
    return answer  # type: ignore[return-value]  # no error, so there is an answer


def connect(host: str, port: int, deadline: Deadline) -> DeadlineSocket:
    """A connected TCP socket, without Nagle's delay, bound to ``deadline``.

    Each address gets an equal part of what remains, so that one which swallows packets leaves
    time for the next. Raises :class:`socket.gaierror`, :class:`ConnectFailed` or :class:`PeerTimeout`.
    """
    addresses = _look_up(host, port, deadline)
    timed_out = False
    for tried, (family, kind, protocol, _, address) in enumerate(addresses):
        sock = DeadlineSocket(family, kind, protocol)
        try:
            sock.settimeout(_time_left(deadline) / (len(addresses) - tried))
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except (OSError, PeerTimeout) as error:
            timed_out = timed_out or isinstance(error, TimeoutError | PeerTimeout)
            sock.close()
        else:
            sock.deadline = deadline
            return sock
    raise PeerTimeout if timed_out else ConnectFailed


def _look_up(host: str, port: int, deadline: Deadline) -> list[tuple[Any, ...]]:
    def ask(flags: int = 0) -> list[tuple[Any, ...]]:
        return list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags))

    try:
        return ask(socket.AI_NUMERICHOST)
    except socket.gaierror:
        return within(deadline, ask)


def client_context(ca_file: str = "", cert_file: str = "", key_file: str = "") -> ssl.SSLContext:
    """A verifying client context that makes :class:`DeadlineSSLSocket`.

    ``ca_file`` replaces the system's trust store. Raises ``OSError`` for unreadable files.
    """
    context = ssl.create_default_context(cafile=ca_file or None)
    context.sslsocket_class = DeadlineSSLSocket
    if cert_file:
        context.load_cert_chain(cert_file, key_file or None)
    return context


def secure(
    sock: AnyDeadlineSocket, context: ssl.SSLContext, host: str, deadline: Deadline
) -> DeadlineSSLSocket:
    """``sock`` after a TLS handshake that verified ``host``, bound to the same deadline.

    Raises :class:`ssl.SSLError` (certificates included) or :class:`PeerTimeout`; ``sock`` is
    closed then.
    """
    try:
        sock.settimeout(_time_left(deadline))
        secured = cast(DeadlineSSLSocket, context.wrap_socket(sock, server_hostname=host))
    except TimeoutError:
        sock.close()
        raise PeerTimeout from None
    except BaseException:
        sock.close()
        raise
    secured.deadline = deadline
    return secured
