"""Both servers over one store and one script."""

from __future__ import annotations

import contextlib
import socketserver
import ssl
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from notifications.testing.provider.faults import Faults
from notifications.testing.provider.http import HttpServer
from notifications.testing.provider.smtp import SmtpServer
from notifications.testing.provider.store import Store

HOST = "127.0.0.1"


class FakeProvider:
    """Listens on the loopback address between :meth:`start` and :meth:`stop`, or as a context.

    Ports are 0 for any free one. ``tls`` is a server-side context: STARTTLS is offered then, or
    with ``implicit_tls`` required; ``http_tls`` makes HTTP https. ``smtp_credentials`` and
    ``sms_credentials`` (a name and a secret: each HTTP form has its own way of sending or signing
    with them) are demanded when given. ``smtp_offers`` are further lines of the reply to EHLO.
    """

    def __init__(
        self,
        *,
        store: Store | str | Path = ":memory:",
        smtp_port: int = 0,
        http_port: int = 0,
        tls: ssl.SSLContext | None = None,
        implicit_tls: bool = False,
        http_tls: ssl.SSLContext | None = None,
        smtp_credentials: tuple[str, str] | None = None,
        sms_credentials: tuple[str, str] | None = None,
        smtp_offers: Sequence[str] = (),
    ) -> None:
        self.store = store if isinstance(store, Store) else Store(store)
        self.faults = Faults()
        self._threads: list[threading.Thread] = []
        with contextlib.ExitStack() as undo:
            undo.callback(self.store.close)
            self.smtp = SmtpServer(
                (HOST, smtp_port),
                store=self.store,
                faults=self.faults,
                tls=tls,
                implicit_tls=implicit_tls,
                credentials=smtp_credentials,
                offers=smtp_offers,
            )
            undo.callback(self.smtp.server_close)
            self.http = HttpServer(
                (HOST, http_port),
                store=self.store,
                faults=self.faults,
                credentials=sms_credentials,
                tls=http_tls,
            )
            undo.pop_all()

    @property
    def smtp_port(self) -> int:
        """The port that SMTP listens on."""
        return int(self.smtp.server_address[1])

    @property
    def http_port(self) -> int:
        """The port that HTTP listens on."""
        return int(self.http.server_address[1])

    @property
    def http_url(self) -> str:
        """The base address for a transport and for a browser."""
        if self.http.tls is not None:
            return f"https://localhost:{self.http_port}"
        return f"http://{HOST}:{self.http_port}"

    def start(self) -> None:
        """Serve in daemon threads."""
        servers: tuple[socketserver.BaseServer, ...] = (self.smtp, self.http)
        for server in servers:
            thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Stop listening, let everything that waits go, close the store."""
        self.faults.close()
        for server in (self.smtp, self.http):
            if self._threads:
                server.shutdown()
            server.server_close()
        for thread in self._threads:
            thread.join(timeout=5)
        self._threads.clear()
        self.store.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
