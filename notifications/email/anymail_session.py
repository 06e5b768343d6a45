"""One API request of django-anymail, held to a deadline, and known by how far it came.

anymail's backends speak HTTP through requests. Its timeouts bound each read and not the whole
exchange, and its exceptions do not say whether the request went out; so the session's
connections are ours: each stops before its request once the deadline has passed.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any, Protocol

from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from notifications.deadline import Deadline, DeadlinePassed
from notifications.sockets import PeerTimeout, within


class Backend(Protocol):
    """What we use of an anymail backend."""

    timeout: Any
    session: Session | None
    send_defaults: dict[str, Any]

    def open(self) -> bool | None:
        """Make the session."""
        ...

    def close(self) -> None:
        """End the session."""
        ...

    def send_messages(self, email_messages: list[Any]) -> int:
        """Send, and return how many were sent."""
        ...


class Submission:
    """One request: whether it began, and whether it still may; shared by two threads."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._lock = threading.Lock()
        self.connection: HTTPConnection | None = None
        self.is_stopped = False
        self._is_over = False

    @property
    def has_begun(self) -> bool:
        """Whether the provider may have it."""
        return self.connection is not None

    def begin(self, connection: HTTPConnection) -> None:
        """The point of no return: ``DeadlinePassed`` for whoever comes to it too late."""
        with self._lock:
            if self.is_stopped:
                raise DeadlinePassed
            self._deadline.check()
            self.connection = connection

    def end(self) -> bool:
        """The request is over; whether it was stopped before."""
        with self._lock:
            self._is_over = True
            return self.is_stopped

    def stop(self) -> bool:
        """Nobody waits any longer: do not begin, or hang up; whether the request was over already."""
        with self._lock:
            self.is_stopped = True
            is_over = self._is_over
            sock = self.connection.sock if self.connection is not None else None
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        return is_over


class ApiConnection:
    """An anymail backend with its session; one submission at a time.

    ``ca_file`` replaces the trust store. Proxies, certificates and passwords that the process's
    environment names for requests are left alone.
    """

    def __init__(self, backend: Backend, *, ca_file: str, connect_seconds: float) -> None:
        self._backend = backend
        self._connect_seconds = connect_seconds
        self.submission: Submission | None = None
        backend.open()
        session = backend.session or Session()
        session.trust_env = False
        session.verify = ca_file or True
        for scheme in ("https://", "http://"):
            session.mount(scheme, _Adapter(max_retries=0))

    @property
    def sock(self) -> socket.socket | None:
        """The socket of the last submission, ``None`` once closed."""
        connection = self.submission.connection if self.submission is not None else None
        return connection.sock if connection is not None else None

    @property
    def has_begun(self) -> bool:
        """Whether the provider may have the message of the last submission."""
        return self.submission is not None and self.submission.has_begun

    @property
    def is_reusable(self) -> bool:
        """Whether another submission may follow: the last one was not left to its own thread."""
        return self.submission is not None and not self.submission.is_stopped

    def send(self, message: object, deadline: Deadline) -> int:
        """How many messages the backend says that it sent: 1, or 0 if a receiver called it off.

        Raises what anymail raises, ``DeadlinePassed``, or :class:`PeerTimeout` at the deadline:
        then the exchange is cut in its own thread. :attr:`submission` knows how far it came.
        """
        self.submission = submission = Submission(deadline)
        remaining = max(deadline.remaining(), 0.001)
        self._backend.timeout = (min(self._connect_seconds, remaining), remaining)
        try:
            return within(deadline, lambda: self._run(message, submission))
        except PeerTimeout:
            # Of the two threads, the later one closes what both may still use.
            if submission.stop():
                self.close()
            raise

    def close(self) -> None:
        """End the session at once."""
        self._backend.close()

    def _run(self, message: object, submission: Submission) -> int:
        _current.submission = submission
        try:
            return self._backend.send_messages([message])
        finally:
            if submission.end():
                self.close()


class _Current(threading.local):
    submission: Submission | None = None


_current = _Current()


class _Asking:
    """A connection that asks before its request goes out."""

    def endheaders(self: Any, *args: Any, **kwargs: Any) -> None:
        if self.sock is None:
            self.connect()
        if _current.submission is not None:
            _current.submission.begin(self)
        super().endheaders(*args, **kwargs)  # type: ignore[misc]  # http.client's, of the class beside this one


class _PlainConnection(_Asking, HTTPConnection):
    pass


class _SecureConnection(_Asking, HTTPSConnection):
    pass


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _PlainConnection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class _Adapter(HTTPAdapter):
    """Our connections, and no redirects."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        response = super().send(request, *args, **kwargs)
        # Followed, it would carry the link and the API key elsewhere.
        response.headers.pop("Location", None)
        return response
