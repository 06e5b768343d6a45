"""Email over SMTP: connections are reused, and each failure is known by its phase."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.conf import settings

from notifications.deadline import Deadline, DeadlinePassed
from notifications.email.addresses import AddressRefused, wire_address
from notifications.email.connection import DeadlineSmtp, open_connection
from notifications.email.deliver_by import DeliverBy
from notifications.email.dkim_options import DkimSetup, read_dkim
from notifications.email.mime import Sender, build_mime, parse_sender
from notifications.email.server import smtp_server
from notifications.email.transaction import Envelope, Transaction, stuff_dots
from notifications.exceptions import InvalidMessage, TransportMisconfigured
from notifications.failures import before_submit
from notifications.message import EmailMessage, Message
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.pool import Lease, Pool

_GOODBYE_SECONDS = 1.0


def utc_now() -> dt.datetime:
    """The wall clock, aware."""
    return dt.datetime.now(dt.UTC)


class SmtpTransport:
    """Submits to one SMTP server, from several threads at once.

    Options that are ``None`` come from Django's own settings (``EMAIL_HOST``, ``EMAIL_PORT``,
    ``EMAIL_HOST_USER``, ``EMAIL_HOST_PASSWORD``, ``EMAIL_USE_TLS``, ``EMAIL_USE_SSL``,
    ``EMAIL_SSL_CERTFILE``, ``EMAIL_SSL_KEYFILE``, ``DEFAULT_FROM_EMAIL``; the default entry of
    ``MAILERS`` where there is one). ``tls`` is ``"starttls"``, ``"implicit"`` or ``"none"``;
    ``ca_file`` is a PEM bundle that replaces the system's trust store. ``connect_seconds``
    bounds the whole opening (DNS, TCP, TLS, login) within each submission's deadline.
    ``dkim`` says who signs (see :mod:`notifications.email.dkim_options`); ``deliver_by`` is
    ``"notify"``, ``"return"`` or ``"off"`` (see :class:`~notifications.email.deliver_by.DeliverBy`)
    and only counts where the server offers it. ``clock`` gives the wall time.

    A recipient's internationalised domain goes out as A-labels (IDNA 2008). SMTPUTF8 is not
    spoken: an address that is not ASCII before its @ is an invalid destination.

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
        dkim: Mapping[str, Any] | None = None,
        deliver_by: str = DeliverBy.NOTIFY,
        clock: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self._server = smtp_server(
            host=host, port=port, username=username, password=password, tls=tls, ca_file=ca_file
        )
        self.sender = _sender(settings.DEFAULT_FROM_EMAIL if from_address is None else from_address)
        from_domain = self.sender.address.rpartition("@")[2]
        #: Who signs, and the keys that wait for their turn; ``None`` where nothing is signed.
        self.dkim: DkimSetup | None = None if dkim is None else read_dkim(dkim, from_domain=from_domain)
        self._deliver_by = _deliver_by(deliver_by)
        self._clock = clock
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

    def wire_bytes(self, message: EmailMessage) -> bytes:
        """What goes over the wire, signed, before its dots are stuffed.

        All but the signatures' time is the same on every try. Raises :class:`InvalidMessage`.
        """
        data = build_mime(message, self.sender)
        if self.dkim is None:
            return data
        return self.dkim.signer.signature_fields(data, signed_at=int(self._clock().timestamp())) + data

    def _envelope(self, message: EmailMessage) -> Envelope:
        try:
            recipient = wire_address(message.to)
        except AddressRefused:
            raise InvalidMessage(Reason.INVALID_DESTINATION) from None
        return Envelope(
            sender=self.sender.address,
            recipient=recipient,
            data=stuff_dots(self.wire_bytes(dataclasses.replace(message, to=recipient))),
            expires_at=message.expires_at,
            deliver_by=self._deliver_by,
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
        transaction = Transaction(lease.connection, envelope, self._clock)
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


def _sender(from_address: str) -> Sender:
    try:
        return parse_sender(from_address)
    except ValueError as error:
        raise TransportMisconfigured(
            f"The SMTP option 'from_address' (or DEFAULT_FROM_EMAIL) cannot be used: {error}. "
            "Write it as no-reply@shop.example or 'Shop <no-reply@shop.example>'."
        ) from None


def _deliver_by(value: str) -> DeliverBy:
    try:
        return DeliverBy(value)
    except ValueError:
        known = ", ".join(repr(str(mode)) for mode in DeliverBy)
        raise TransportMisconfigured(
            f"The SMTP option 'deliver_by' is {value!r}: use one of {known}."
        ) from None


def _say_goodbye(connection: DeadlineSmtp) -> None:
    connection.rearm(Deadline.after(_GOODBYE_SECONDS))
    try:
        connection.docmd("QUIT")
    except Exception:  # noqa: S110  # a good-bye that nobody hears is as good  # nosec B110
        pass
    finally:
        connection.close()
