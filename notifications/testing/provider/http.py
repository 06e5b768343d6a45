"""The HTTP side: the providers' forms, the inbox pages, and the control of faults."""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import re
import socket
import socketserver
import ssl
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import cast

from notifications.testing.provider import pages
from notifications.testing.provider.aws import SendTextMessage
from notifications.testing.provider.connections import Replier, reset
from notifications.testing.provider.faults import Fault, Faults
from notifications.testing.provider.form import Form, HttpAnswer, HttpRequest, json_answer
from notifications.testing.provider.generic import GenericMessages
from notifications.testing.provider.letters import Letter, read_letter
from notifications.testing.provider.postmark import SendEmail
from notifications.testing.provider.store import Store, Submission
from notifications.testing.provider.twilio import MessagesResource
from notifications.testing.provider.vonage import SmsJson

FORMS: tuple[type[Form], ...] = (MessagesResource, SmsJson, SendTextMessage, GenericMessages, SendEmail)

_MESSAGE = re.compile(r"/messages/(?P<id>[0-9]{1,18})(?P<part>/html)?\Z")
_ASSETS = {"inbox.css": "text/css", "inbox.js": "text/javascript", "icon.svg": "image/svg+xml"}
_MAX_BODY = 1_000_000
_LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
_PAGE_HEADERS = (
    ("Content-Security-Policy", pages.CSP),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
)


class HttpServer(ThreadingHTTPServer):
    """Listens; ``connections`` counts them."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(
        self,
        address: tuple[str, int],
        *,
        store: Store,
        faults: Faults,
        credentials: tuple[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(address, HttpSession)
        self.store = store
        self.faults = faults
        self.tls = tls
        self.forms = [form(store, faults, credentials) for form in FORMS]
        self.connections = 0
        self._lock = threading.Lock()

    def server_bind(self) -> None:
        """Bind without the base class's look-up of our own name, which may take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def finish_request(self, request: object, client_address: object) -> None:
        """Serve a connection, unless the script refuses it."""
        if self.faults.take("sms", "connect") is None:
            super().finish_request(request, client_address)  # type: ignore[arg-type]  # passed on as it came
            return
        connection = cast(socket.socket, request)
        if self.tls is not None:
            # Reset before a client begins to shake hands, its ssl module loses the socket (CPython).
            connection.recv(1)
        reset(connection)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away in the middle is what the tests do: no traceback for it."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # passed on as it came

    def note_connection(self) -> None:
        """Count one more."""
        with self._lock:
            self.connections += 1


class HttpSession(BaseHTTPRequestHandler):
    """One connection, kept alive between requests."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_version = "FakeProvider"
    sys_version = ""

    @property
    def _http(self) -> HttpServer:
        return cast(HttpServer, self.server)

    def log_message(self, *_: object) -> None:
        """Requests hold numbers and links: nothing is logged."""

    def setup(self) -> None:
        """Start the session, over TLS where that is so."""
        if self._http.tls is not None:
            self.request = self._http.tls.wrap_socket(self.request, server_side=True)
        super().setup()
        self._http.note_connection()

    def finish(self) -> None:
        """Close what TLS put over the server's own socket, too."""
        with contextlib.suppress(OSError):
            super().finish()
        self.request.close()

    def do_GET(self) -> None:
        """Pages and the control's list."""
        path, _, query = self.path.partition("?")
        if not self._is_local():
            return self._send_json(403, {"error": "Only this machine is served."})
        if path == "/":
            return self._send_page(200, pages.inbox_page(map(read_letter, reversed(self._http.store.list()))))
        if path == "/_control/submissions":
            return self._send_json(200, self._submissions(query.removeprefix("channel=")))
        if path.startswith("/assets/"):
            return self._send_asset(path.removeprefix("/assets/"))
        return self._send_message(path)

    def do_POST(self) -> None:
        """The providers' forms and the control."""
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), _MAX_BODY))
        form = next((one for one in self._http.forms if one.path.match(self.path)), None)
        if form is not None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            return self._send(form.post(HttpRequest(path=self.path, headers=headers, body=body)))
        control = self._controls().get(self.path)
        if control is None or not self._is_local() or "Origin" in self.headers:
            return self._send_json(404, {"error": "Not found."})
        try:
            control(body)
        except ValueError as error:
            return self._send_json(400, {"error": str(error)})
        return self._send_json(200, {})

    def _controls(self) -> dict[str, Callable[[bytes], None]]:
        return {
            "/_control/faults": lambda body: self._http.faults.add(Fault.from_json(json.loads(body))),
            "/_control/release": lambda _: self._http.faults.release(),
            "/_control/reset": lambda _: self._reset(),
        }

    def _reset(self) -> None:
        self._http.faults.clear()
        self._http.store.clear()

    def _is_local(self) -> bool:
        # A page elsewhere could reach this server through a name that resolves to it.
        return self.headers.get("Host", "").rpartition(":")[0] in _LOCAL_NAMES

    def _submissions(self, channel: str) -> list[dict[str, object]]:
        return [_as_json(submission) for submission in self._http.store.list(channel)]

    def _send_message(self, path: str) -> None:
        match = _MESSAGE.match(path)
        submission = self._http.store.get(int(match["id"])) if match else None
        if match is None or submission is None:
            return self._send_page(404, pages.missing_page())
        letter = read_letter(submission)
        if match["part"]:
            return self._send_mail(letter)
        return self._send_page(200, pages.letter_page(letter))

    def _send_mail(self, letter: Letter) -> None:
        headers = (("Content-Security-Policy", pages.MAIL_CSP), *_PAGE_HEADERS[1:])
        self._send_typed(200, "text/html; charset=utf-8", pages.email_document(letter).encode(), headers)

    def _send_page(self, status: int, page: str) -> None:
        self._send_typed(status, "text/html; charset=utf-8", page.encode(), _PAGE_HEADERS)

    def _send_asset(self, name: str) -> None:
        if name not in _ASSETS:
            return self._send_page(404, pages.missing_page())
        return self._send_typed(200, _ASSETS[name], _asset(name), _PAGE_HEADERS)

    def _send_json(self, status: int, value: object) -> None:
        self._send(json_answer(status, value))

    def _send_typed(
        self, status: int, content_type: str, body: bytes, headers: tuple[tuple[str, str], ...]
    ) -> None:
        self._send(HttpAnswer(status=status, body=body, headers=(("Content-Type", content_type), *headers)))

    def _send(self, answer: HttpAnswer) -> None:
        if not answer.status:
            self.close_connection = True
            return
        self.send_response(answer.status)
        if not any(name == "Content-Type" for name, _ in answer.headers):
            self.send_header("Content-Type", "application/json")
        for name, value in answer.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        Replier(self.wfile, self._http.faults).write(answer.body, drip_seconds=answer.drip_seconds)


@functools.cache
def _asset(name: str) -> bytes:
    return (resources.files(__package__) / "assets" / name).read_bytes()


def _as_json(submission: Submission) -> dict[str, object]:
    return {
        "id": submission.id,
        "channel": submission.channel,
        "recipient": submission.recipient,
        "key": submission.key,
        "received_at": submission.received_at,
        "text": read_letter(submission).text,
        "body_base64": base64.b64encode(submission.body).decode("ascii"),
    }
