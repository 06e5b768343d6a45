"""An SMTP connection with one budget for everything, opened by Django's own email backend.

Django's backend knows how a session is opened (host name, TLS, login) and lets a subclass say
which class of connection it opens; ours makes deadline sockets and remembers its phase.
"""

from __future__ import annotations

import functools
import smtplib
import ssl
from typing import Any, cast

from django.core.mail.backends.smtp import EmailBackend
from django.core.mail.utils import DNS_NAME

from notifications import failures, sockets
from notifications.deadline import Deadline
from notifications.email.replies import Phase, classify, enhanced_code
from notifications.email.server import SmtpServer, Tls
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.sockets import AnyDeadlineSocket


class StartTlsMissing(smtplib.SMTPException):
    """The server does not offer STARTTLS, or somebody in between removed the offer."""


class DeadlineSmtp(smtplib.SMTP):
    """``smtplib.SMTP`` on deadline sockets; ``phase`` says how far opening has come."""

    sock: AnyDeadlineSocket | None

    def __init__(
        self,
        host: str,
        port: int,
        *,
        deadline: Deadline,
        progress: list[Phase],
        context: ssl.SSLContext | None = None,
        **kwargs: Any,
    ) -> None:
        self._server_name = host
        self._deadline = deadline
        self._progress = progress
        self._implicit_context = context
        #: A transaction was refused half-way: RSET comes before the next one.
        self.needs_reset = False
        try:
            super().__init__(host, port, **kwargs)
        except BaseException:
            self.close()
            raise

    def rearm(self, deadline: Deadline) -> None:
        """Bind what follows on this connection to ``deadline``."""
        self._deadline = deadline
        if self.sock is not None:
            self.sock.deadline = deadline

    def _get_socket(self, host: str, port: int, _timeout: float) -> AnyDeadlineSocket:
        sock = sockets.connect(host, port, self._deadline)
        if self._implicit_context is None:
            return sock
        self._progress.append(Phase.TLS)
        return sockets.secure(sock, self._implicit_context, host, self._deadline)

    def starttls(self, *_: Any, context: ssl.SSLContext | None = None, **__: Any) -> tuple[int, bytes]:
        """As in ``smtplib``, but the handshake keeps to the budget and a missing offer is an error."""
        self._progress.append(Phase.EHLO)
        self.ehlo_or_helo_if_needed()
        self._progress.append(Phase.TLS)
        if context is None or self.sock is None or not self.has_extn("starttls"):
            raise StartTlsMissing
        code, text = self.docmd("STARTTLS")
        if code != 220:
            raise smtplib.SMTPResponseException(code, text)
        self.sock = sockets.secure(self.sock, context, self._server_name, self._deadline)
        self._forget_plaintext()
        return code, text

    def login(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        """As in ``smtplib``."""
        self._progress.append(Phase.EHLO)
        self.ehlo_or_helo_if_needed()
        self._progress.append(Phase.AUTH)
        return super().login(*args, **kwargs)

    def _forget_plaintext(self) -> None:
        # RFC 3207 section 4.2: nothing that was said before the handshake counts, and what was
        # already buffered was injected by somebody else (CVE-2011-0411).
        self.file = None
        self.helo_resp = None
        self.ehlo_resp = None
        self.esmtp_features = {}
        self.does_esmtp = False


class _Backend(EmailBackend):
    """Opens one connection for us; the pool keeps it, so the backend never sends or closes it."""

    def __init__(self, server: SmtpServer, deadline: Deadline, progress: list[Phase]) -> None:
        # The alias says "built by configuration" to Django 6.1; Django 5.2 ignores it.
        super().__init__(
            alias="resetdelivery",
            host=server.host,
            port=server.port,
            username=server.username,
            password=server.password,
            use_tls=server.tls is Tls.STARTTLS,
            use_ssl=server.tls is Tls.IMPLICIT,
            timeout=None,
            ssl_keyfile=None,
            ssl_certfile=None,
        )
        self._server = server
        self._connection_class = functools.partial(DeadlineSmtp, deadline=deadline, progress=progress)

    @property
    def connection_class(self) -> Any:
        return self._connection_class

    @property
    def ssl_context(self) -> Any:
        return self._server.context

    def take_connection(self) -> DeadlineSmtp:
        """Open, and hand over for good."""
        try:
            self.open()
        except BaseException:
            unfinished: DeadlineSmtp | None = getattr(self, "_partial_connection", None)
            if unfinished is not None:
                unfinished.close()
            raise
        return cast(DeadlineSmtp, self.connection)


def open_connection(server: SmtpServer, deadline: Deadline) -> DeadlineSmtp | Outcome:
    """A connection that is ready for MAIL, or why there is none. Never raises for the network."""
    progress = [Phase.CONNECT]
    connection = None
    try:
        # The first look-up of our own name may hang; Django keeps it afterwards.
        sockets.within(deadline, DNS_NAME.get_fqdn)
        connection = _Backend(server, deadline, progress).take_connection()
        progress.append(Phase.EHLO)
        connection.ehlo_or_helo_if_needed()
    except Exception as error:
        if connection is not None:
            connection.close()
        return opening_failure(error, progress[-1])
    return connection


def opening_failure(error: Exception, phase: Phase) -> Outcome:
    """The outcome of an exception while opening, in ``phase``; nothing was sent yet."""
    if isinstance(error, smtplib.SMTPResponseException):
        text = error.smtp_error if isinstance(error.smtp_error, bytes) else b""
        kind, reason = classify(phase, error.smtp_code, enhanced_code(error.smtp_code, text))
        return Outcome(kind=kind, reason=reason)
    if isinstance(error, StartTlsMissing):
        return Outcome(kind=OutcomeKind.MISCONFIGURED, reason=Reason.TLS_FAILED)
    if isinstance(error, smtplib.SMTPException) and not isinstance(error, smtplib.SMTPServerDisconnected):
        # No AUTH offered, or no mechanism in common.
        return Outcome(kind=OutcomeKind.MISCONFIGURED, reason=Reason.AUTHENTICATION_FAILED)
    return failures.before_submit(error)
