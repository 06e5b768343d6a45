"""Email over SMTP: connections are reused, and each failure is known by its phase."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings

from notifications.deadline import Deadline, DeadlinePassed
from notifications.email.connection import DeadlineSmtp, open_connection
from notifications.email.mime import build_mime, parse_sender
from notifications.email.server import smtp_server
from notifications.email.transaction import Envelope, Transaction, stuff_dots
from notifications.exceptions import InvalidMessage, TransportMisconfigured
from notifications.failures import before_submit
from notifications.message import EmailMessage, Message
from notifications.outcome import Outcome, OutcomeKind
from notifications.pool import Lease, Pool

_GOODBYE_SECONDS = 1.0


class SmtpTransport:
    """Submits to one SMTP server, from several threads at once.

    Options that are ``None`` come from Django's own settings (``EMAIL_HOST``, ``EMAIL_PORT``,
    ``EMAIL_HOST_USER``, ``EMAIL_HOST_PASSWORD``, ``EMAIL_USE_TLS``, ``EMAIL_USE_SSL``,
    ``EMAIL_SSL_CERTFILE``, ``EMAIL_SSL_KEYFILE``, ``DEFAULT_FROM_EMAIL``; the default entry of
    ``MAILERS`` where there is one). ``tls`` is ``"starttls"``, ``"implicit"`` or ``"none"``;
    ``ca_file`` is a PEM bundle that replaces the system's trust store. ``connect_seconds``
    bounds the whole opening (DNS, TCP, TLS, login) within each submission's deadline.

    ``provider_reference`` of an accepted message is its Message-ID. Raises
    :class:`TransportMisconfigured` for options that cannot work.
    """

    name: ClassVar[str] = "smtp"

    def __init__(
        self,
        *,
        host: str | None = None,
        port: int | None = None,
        username: str | None = None,
        password: str | None = None,
        tls: str | None = None,
        from_address: str | None = None,
        ca_file: str = "",
        connect_seconds: float = 10.0,
        pool_size: int = 32,
        max_idle_seconds: float = 20.0,
        max_messages: int = 100,
    ) -> None:
        self._server = smtp_server(
            host=host, port=port, username=username, password=password, tls=tls, ca_file=ca_file
        )
        try:
            self._sender = parse_sender(settings.DEFAULT_FROM_EMAIL if from_address is None else from_address)
        except ValueError as error:
            raise TransportMisconfigured(
                f"The SMTP option 'from_address' (or DEFAULT_FROM_EMAIL) cannot be used: {error}. "
                "Write it as no-reply@shop.example or 'Shop <no-reply@shop.example>'."
            ) from None
        self._connect_seconds = connect_seconds
        self._pool: Pool[DeadlineSmtp] = Pool(
            size=pool_size, max_idle_seconds=max_idle_seconds, max_uses=max_messages
        )

    def submit(self, message: Message, deadline: Deadline) -> Outcome:
        """Submit one email. An SMS is a caller's mistake: ``TypeError``."""
        if not isinstance(message, EmailMessage):
            raise TypeError("SmtpTransport submits EmailMessage only.")
        try:
            envelope = self._envelope(message)
            deadline.check()
        except InvalidMessage as error:
            return Outcome(kind=OutcomeKind.PERMANENT, reason=error.reason)
        except DeadlinePassed as error:
            return before_submit(error)
        outcome = self._submit(envelope, deadline)
        if outcome.kind is not OutcomeKind.ACCEPTED:
            return outcome
        return Outcome(kind=outcome.kind, provider_reference=message.message_id)

    def close(self) -> None:
        """Say good-bye on idle connections and close them."""
        for connection in self._pool.drain():
            _say_goodbye(connection)

    def _envelope(self, message: EmailMessage) -> Envelope:
        return Envelope(
            sender=self._sender.address,
            recipient=message.to,
            data=stuff_dots(build_mime(message, self._sender)),
        )

    def _submit(self, envelope: Envelope, deadline: Deadline) -> Outcome:
        lease = self._pool.take()
        if lease is not None:
            outcome, is_stale = self._transact(lease, envelope, deadline)
            if not is_stale:
                return outcome
        opened = open_connection(self._server, self._opening_deadline(deadline))
        if isinstance(opened, Outcome):
            return opened
        outcome, _ = self._transact(Lease(connection=opened), envelope, deadline)
        return outcome

    def _transact(
        self, lease: Lease[DeadlineSmtp], envelope: Envelope, deadline: Deadline
    ) -> tuple[Outcome, bool]:
        transaction = Transaction(lease.connection, envelope)
        try:
            outcome = transaction.run(deadline)
        finally:
            if transaction.reusable:
                self._pool.give(lease)
            else:
                lease.connection.close()
        return outcome, transaction.is_stale

    def _opening_deadline(self, deadline: Deadline) -> Deadline:
        return Deadline(min(deadline.at, deadline.clock() + self._connect_seconds), deadline.clock)


def _say_goodbye(connection: DeadlineSmtp) -> None:
    connection.rearm(Deadline.after(_GOODBYE_SECONDS))
    try:
        connection.docmd("QUIT")
    except Exception:  # noqa: S110  # a good-bye that nobody hears is as good
        pass
    finally:
        connection.close()
