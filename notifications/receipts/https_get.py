"""One bounded GET to an address that we put together ourselves."""

from __future__ import annotations

import ssl
from urllib.parse import urlsplit, urlunsplit

from notifications import sockets
from notifications.deadline import Deadline
from notifications.sms.http import BaseUrl, DeadlineHttp

MAX_OCTETS = 32 * 1024


class GetFailed(Exception):
    """There is no complete answer with status 200."""


class HttpsGet:
    """Fetches over verified TLS, follows no redirect, and ends within ``seconds``, drip or no drip.

    ``ca_file`` replaces the system's trust store.
    """

    def __init__(self, *, seconds: float = 3.0, ca_file: str = "") -> None:
        self._seconds = seconds
        self._ca_file = ca_file
        self._context: ssl.SSLContext | None = None

    def __call__(self, url: str) -> bytes:
        """The body of ``url``. Raises :class:`GetFailed`, whose text says nothing."""
        parts = urlsplit(url)
        if parts.scheme != "https":
            raise GetFailed
        base = BaseUrl.parse(f"https://{parts.netloc}")
        connection = DeadlineHttp(base, self._trust(), Deadline.after(self._seconds))
        try:
            return _body(connection, urlunsplit(("", "", parts.path or "/", parts.query, "")))
        except GetFailed:
            raise
        except Exception:
            # Of the network or of http.client: their texts quote addresses and answers.
            raise GetFailed from None
        finally:
            connection.close()

    def _trust(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = sockets.client_context(self._ca_file)
        return self._context


def _body(connection: DeadlineHttp, target: str) -> bytes:
    connection.request("GET", target, headers={"User-Agent": "resetdelivery", "Connection": "close"})
    with connection.getresponse() as response:
        body = response.read(MAX_OCTETS)
        if response.status != 200 or not response.isclosed():
            raise GetFailed
        return body
