"""A small HTTP/1.1 client that knows whether the request's body went out (RFC 9112)."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from notifications import failures, sockets
from notifications.deadline import Deadline
from notifications.exceptions import TransportMisconfigured
from notifications.hosts import is_loopback
from notifications.outcome import Outcome
from notifications.pool import Lease, Pool

MAX_REPLY_OCTETS = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A complete reply; header names are lower case. ``body`` is cut at :data:`MAX_REPLY_OCTETS`."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseUrl:
    """Where requests go: https anywhere, http only to this machine."""

    scheme: str
    host: str
    port: int
    path: str

    @classmethod
    def parse(cls, url: str) -> BaseUrl:
        """Raises :class:`TransportMisconfigured` for anything but a bare http(s) address."""
        try:
            parts = urlsplit(url)
            port = parts.port or {"https": 443, "http": 80}[parts.scheme]
        except (ValueError, KeyError):
            raise _bad_url(url, "it is no http(s) address") from None
        if not parts.hostname or parts.username or parts.password or parts.query or parts.fragment:
            raise _bad_url(url, "it must be scheme, host, port and path only")
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            raise _bad_url(url, "plain http is for this machine only, use https")
        return cls(scheme=parts.scheme, host=parts.hostname, port=port, path=parts.path.rstrip("/"))


def _bad_url(url: str, why: str) -> TransportMisconfigured:
    shown = url if "@" not in url else "(not shown: it holds credentials)"
    return TransportMisconfigured(f"The option 'base_url' is {shown!r}: {why}.")


class DeadlineHttp(http.client.HTTPConnection):
    """``http.client`` on deadline sockets, over TLS when it has a context."""

    sock: sockets.AnyDeadlineSocket | None

    def __init__(self, url: BaseUrl, context: ssl.SSLContext | None, deadline: Deadline) -> None:
        super().__init__(url.host, url.port)
        # The header Host names any other port, and a signature may cover that header.
        self.default_port = 80 if context is None else 443
        self._context = context
        self._deadline = deadline

    def connect(self) -> None:
        """Connect, and shake hands, within the deadline."""
        sock = sockets.connect(self.host, self.port, self._deadline)
        self.sock = (
            sock if self._context is None else sockets.secure(sock, self._context, self.host, self._deadline)
        )

    def rearm(self, deadline: Deadline) -> None:
        """Bind what follows on this connection to ``deadline``."""
        self._deadline = deadline
        if self.sock is not None:
            self.sock.deadline = deadline


class HttpClient:
    """Keeps connections to one base address; safe between threads. Redirects are not followed.

    ``max_idle_seconds`` should be shorter than the server's own limit: a request that meets a
    connection closing at that moment is ambiguous.
    """

    def __init__(
        self,
        base_url: str,
        *,
        ca_file: str = "",
        connect_seconds: float = 10.0,
        pool_size: int = 32,
        max_idle_seconds: float = 20.0,
        max_requests: int = 1000,
    ) -> None:
        self.url = BaseUrl.parse(base_url)
        self._context = _context(self.url, ca_file)
        self._connect_seconds = connect_seconds
        self._pool: Pool[DeadlineHttp] = Pool(
            size=pool_size, max_idle_seconds=max_idle_seconds, max_uses=max_requests
        )

    def post(self, path: str, headers: Mapping[str, str], body: bytes, deadline: Deadline) -> Reply | Outcome:
        """POST ``body`` once: the reply, or the outcome of not having one.

        A kept connection that turns out to be closed before the body went out is replaced once.
        """
        lease = self._pool.take()
        if lease is not None:
            exchange = _Exchange(lease.connection, self.url.path + path, headers, body)
            answer = self._run(lease, exchange, deadline)
            if not exchange.is_stale:
                return answer
        lease = Lease(connection=DeadlineHttp(self.url, self._context, deadline))
        try:
            lease.connection.rearm(self._opening_deadline(deadline))
            lease.connection.connect()
        except Exception as error:
            lease.connection.close()
            return failures.before_submit(error)
        return self._run(lease, _Exchange(lease.connection, self.url.path + path, headers, body), deadline)

    def close(self) -> None:
        """Close idle connections."""
        for connection in self._pool.drain():
            connection.close()

    def _run(self, lease: Lease[DeadlineHttp], exchange: _Exchange, deadline: Deadline) -> Reply | Outcome:
        try:
            answer = exchange.run(deadline)
        finally:
            if exchange.reusable:
                self._pool.give(lease)
            else:
                lease.connection.close()
        return answer

    def _opening_deadline(self, deadline: Deadline) -> Deadline:
        return Deadline(min(deadline.at, deadline.clock() + self._connect_seconds), deadline.clock)


class _Exchange:
    """One request and its reply; used once."""

    def __init__(
        self, connection: DeadlineHttp, target: str, headers: Mapping[str, str], body: bytes
    ) -> None:
        self._connection = connection
        self._target = target
        self._headers = headers
        self._body = body
        self._body_sent = False
        self.reusable = False
        self.is_stale = False

    def run(self, deadline: Deadline) -> Reply | Outcome:
        """Send and read by ``deadline``; whoever comes to the body after it does not send it."""
        try:
            self._connection.rearm(deadline)
            self._send_head()
            deadline.check()
            self._connection.send(self._body)
            self._body_sent = True
            return self._read()
        except Exception as error:
            if self._body_sent:
                return failures.after_submit(error)
            self.is_stale = isinstance(error, OSError)
            return failures.before_submit(error)

    def _send_head(self) -> None:
        # Accept-Encoding stays at its "identity" default, so that the bounded reply can be read.
        self._connection.putrequest("POST", self._target)
        for name, value in self._headers.items():
            self._connection.putheader(name, value)
        self._connection.putheader("Content-Length", str(len(self._body)))
        self._connection.endheaders()

    def _read(self) -> Reply:
        with self._connection.getresponse() as response:
            body = response.read(MAX_REPLY_OCTETS)
            self.reusable = response.isclosed()
            headers = {name.lower(): value for name, value in response.getheaders()}
            return Reply(status=response.status, headers=headers, body=body)


def _context(url: BaseUrl, ca_file: str) -> ssl.SSLContext | None:
    if url.scheme == "http":
        return None
    try:
        return sockets.client_context(ca_file)
    except OSError as error:
        raise TransportMisconfigured(
            f"The option 'ca_file' is {ca_file!r}: {error.strerror or type(error).__name__}. "
            "Name a readable PEM file."
        ) from None
