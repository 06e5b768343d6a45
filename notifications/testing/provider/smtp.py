"""The SMTP side: RFC 5321 as far as a submission needs it, with STARTTLS and AUTH on request."""

from __future__ import annotations

import base64
import contextlib
import email
import email.policy
import re
import socketserver
import ssl
import sys
import threading
from collections.abc import Callable, Sequence
from typing import cast

from notifications.testing.provider.connections import Replier, reset
from notifications.testing.provider.faults import Behaviour, Fault, Faults
from notifications.testing.provider.store import Store

_PATH = re.compile(rb"(?:MAIL FROM|RCPT TO):<([^\r\n]*)>", re.IGNORECASE)
_MAX_LINE = 4096


class SmtpServer(socketserver.ThreadingTCPServer):
    """Listens; ``commands`` keeps every command line as raw bytes, in order."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(
        self,
        address: tuple[str, int],
        *,
        store: Store,
        faults: Faults,
        tls: ssl.SSLContext | None = None,
        implicit_tls: bool = False,
        credentials: tuple[str, str] | None = None,
        offers: Sequence[str] = (),
    ) -> None:
        super().__init__(address, SmtpSession)
        self.store = store
        self.faults = faults
        self.tls = tls
        self.implicit_tls = implicit_tls
        self.credentials = credentials
        self.offers = offers
        self.commands: list[bytes] = []
        self.connections = 0
        self._lock = threading.Lock()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away in the middle is what the tests do: no traceback for it."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # passed on as it came

    def note_connection(self) -> None:
        """Count one more."""
        with self._lock:
            self.connections += 1


class SmtpSession(socketserver.StreamRequestHandler):
    """One connection."""

    disable_nagle_algorithm = True

    @property
    def _smtp(self) -> SmtpServer:
        return cast(SmtpServer, self.server)

    def setup(self) -> None:
        """Start the session, over TLS where that is implicit."""
        self._smtp.note_connection()
        if self._smtp.implicit_tls and self._smtp.tls is not None:
            self.request = self._smtp.tls.wrap_socket(self.request, server_side=True)
        self._is_secure = self._smtp.implicit_tls
        self._is_authenticated = False
        self._recipient = b""
        super().setup()

    def finish(self) -> None:
        """Close what TLS put over the server's own socket, too."""
        with contextlib.suppress(OSError):
            super().finish()
        self.request.close()

    def handle(self) -> None:
        """Greet, then answer command by command."""
        if self._meet("connect", b"220 fake.provider.invalid ESMTP") != b"220":
            return
        while (line := self.rfile.readline(_MAX_LINE)).endswith(b"\n"):
            self._smtp.commands.append(line)
            verb = line.split(maxsplit=1)[0].strip().upper().decode("latin-1") if line.strip() else ""
            command = self._commands().get(verb)
            if command is None:
                self._say(b"500 5.5.1 Unknown command")
            elif not command(line.strip()):
                return

    def _commands(self) -> dict[str, Callable[[bytes], bool]]:
        return {
            "EHLO": self._ehlo,
            "HELO": lambda _: self._answer("ehlo", b"250 fake.provider.invalid"),
            "STARTTLS": self._starttls,
            "AUTH": self._auth,
            "MAIL": self._mail,
            "RCPT": self._rcpt,
            "DATA": self._data,
            "RSET": self._rset,
            "NOOP": lambda _: self._answer("noop", b"250 2.0.0 OK"),
            "QUIT": self._quit,
        }

    def _ehlo(self, _: bytes) -> bool:
        offers = [b"fake.provider.invalid", b"SIZE 1000000", b"8BITMIME", b"ENHANCEDSTATUSCODES"]
        if self._smtp.tls is not None and not self._is_secure:
            offers.append(b"STARTTLS")
        if self._smtp.credentials is not None:
            offers.append(b"AUTH PLAIN")
        offers.extend(offer.encode("ascii") for offer in self._smtp.offers)
        lines = [b"250-" + offer for offer in offers[:-1]] + [b"250 " + offers[-1]]
        return self._answer("ehlo", b"\r\n".join(lines))

    def _starttls(self, _: bytes) -> bool:
        if self._smtp.tls is None:
            return self._say(b"502 5.5.1 Not offered")
        if not self._answer("starttls", b"220 2.0.0 Go ahead"):
            return False
        try:
            self.request = self._smtp.tls.wrap_socket(self.request, server_side=True)
        except OSError:
            return False
        super().setup()
        self._is_secure = True
        return True

    def _auth(self, line: bytes) -> bool:
        expected = self._smtp.credentials
        given = base64.b64decode(line.split()[-1]).decode().split("\0")[1:]
        if expected is None or given != list(expected):
            return self._answer("auth", b"535 5.7.8 Credentials invalid")
        self._is_authenticated = True
        return self._answer("auth", b"235 2.7.0 Welcome")

    def _mail(self, _: bytes) -> bool:
        if self._smtp.credentials is not None and not self._is_authenticated:
            return self._say(b"530 5.7.0 Authentication required")
        return self._answer("mail", b"250 2.1.0 OK")

    def _rcpt(self, line: bytes) -> bool:
        match = _PATH.match(line)
        if match is None:
            return self._say(b"501 5.5.4 Syntax")
        self._recipient = match[1]
        return self._answer("rcpt", b"250 2.1.5 OK")

    def _rset(self, _: bytes) -> bool:
        self._recipient = b""
        return self._answer("rset", b"250 2.0.0 OK")

    def _quit(self, _: bytes) -> bool:
        self._say(b"221 2.0.0 Bye")
        return False

    def _data(self, _: bytes) -> bool:
        if not self._recipient:
            return self._say(b"503 5.5.1 RCPT first")
        verdict = self._meet("data", b"354 Go on")
        if verdict != b"354":
            return verdict != b""
        message = self._read_message()
        return message is not None and self._accept(message)

    def _read_message(self) -> bytes | None:
        lines: list[bytes] = []
        while (line := self.rfile.readline()) != b".\r\n":
            if not line.endswith(b"\n"):
                return None
            lines.append(line[1:] if line.startswith(b".") else line)
        return b"".join(lines)

    def _accept(self, message: bytes) -> bool:
        fault = self._smtp.faults.take("email", "dot")
        if fault is None or fault.records:
            self._record(message)
        self._recipient = b""
        return self._perform(fault, b"250 2.0.0 Accepted") != b""

    def _record(self, message: bytes) -> None:
        headers = email.message_from_bytes(message, policy=email.policy.default)
        self._smtp.store.record(
            channel="email",
            recipient=self._recipient.decode("latin-1"),
            key=str(headers["Message-ID"] or "").strip(),
            body=message,
        )

    def _answer(self, phase: str, usual: bytes) -> bool:
        """Whether the session goes on."""
        return self._meet(phase, usual) != b""

    def _meet(self, phase: str, usual: bytes) -> bytes:
        """Say ``usual`` or what the script says here; the code that was said, empty if none was."""
        return self._perform(self._smtp.faults.take("email", phase), usual)

    def _perform(self, fault: Fault | None, usual: bytes) -> bytes:
        said = usual if fault is None else self._scripted(fault, usual)
        if said:
            self._say(said, drip_seconds=_drip_seconds(fault))
        return b"" if said.startswith(b"421") else said[:3]

    def _scripted(self, fault: Fault, usual: bytes) -> bytes:
        if fault.behaviour is Behaviour.REFUSE:
            reset(self.request)
        if fault.behaviour in (Behaviour.HANG, Behaviour.HOLD):
            self._smtp.faults.wait()
        replies = {
            Behaviour.REPLY: f"{fault.code} {fault.text or 'Scripted'}".encode(),
            Behaviour.ERROR: f"{fault.code or 451} {fault.text or '4.3.0 Scripted'}".encode(),
            Behaviour.THROTTLE: b"454 4.7.28 Too fast",
            Behaviour.GARBAGE: b"\x00\xff what is this",
            Behaviour.DRIP: usual,
            Behaviour.HOLD: usual,
        }
        return replies.get(fault.behaviour, b"")

    def _say(self, reply: bytes, *, drip_seconds: float = 0.0) -> bool:
        Replier(self.wfile, self._smtp.faults).write(reply + b"\r\n", drip_seconds=drip_seconds)
        return True


def _drip_seconds(fault: Fault | None) -> float:
    return fault.seconds if fault is not None and fault.behaviour is Behaviour.DRIP else 0.0
