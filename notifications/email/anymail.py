"""Email through the API of any provider that django-anymail speaks to over HTTP."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Mapping
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any, ClassVar

from django.conf import settings

from notifications.deadline import Deadline, DeadlinePassed
from notifications.email.addresses import AddressRefused, wire_address
from notifications.email.anymail_options import (
    backend_factory,
    checked_defaults,
    sender_mailbox,
    tracking_options,
)
from notifications.email.mime import Sender, build_mime
from notifications.exceptions import InvalidMessage
from notifications.failures import before_submit
from notifications.message import EmailMessage, Message
from notifications.outcome import Outcome, OutcomeKind, Reason
from notifications.pool import Lease, Pool

if TYPE_CHECKING:
    from notifications.email.anymail_session import ApiConnection

#: Under this name the attempt's reference is in every event about the message.
METADATA_KEY = "reference"


def utc_now() -> dt.datetime:
    """The wall clock, aware."""
    return dt.datetime.now(dt.UTC)


class AnymailTransport:
    """Submits through one backend of django-anymail.

    ``backend`` is its dotted path (``anymail.backends.postmark.EmailBackend``) and
    ``backend_options`` its options, in lower case as anymail's documentation of the provider has
    them without its prefix (``server_token``); what is not given comes from ``settings.ANYMAIL``.
    ``send_defaults`` replaces anymail's setting of that name. ``tracking`` is ``"off"``: each
    message asks for no tracking of clicks and opens, which would rewrite the link; or
    ``"provider"`` for an API without such options: turn both off in the provider's own settings.
    ``from_address``, ``ca_file`` and ``clock`` are as in
    :class:`~notifications.email.smtp.SmtpTransport`. Needs the extra ``anymail``. Raises
    :class:`~notifications.exceptions.TransportMisconfigured`.

    What this cannot do, and SMTP can: sign with our DKIM keys (the provider signs with its own),
    tell the provider the remaining lifetime (only the header ``Expires`` is there), or keep
    ``Date``, and with some providers ``Message-ID``, the same on a second try. A look-up of a name
    that outlasts the deadline goes on in a thread of its own; what comes after it is not sent.
    """

    name: ClassVar[str] = "anymail"

    def __init__(
        self,
        *,
        backend: str,
        backend_options: Mapping[str, Any] | None = None,
        send_defaults: Mapping[str, Any] | None = None,
        tracking: str = "off",
        from_address: str | None = None,
        ca_file: str = "",
        connect_seconds: float = 10.0,
        pool_size: int = 32,
        max_idle_seconds: float = 20.0,
        max_messages: int = 1000,
        clock: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self._factory = backend_factory(backend, backend_options or {})
        self._send_defaults = checked_defaults(send_defaults or {})
        self._tracking = tracking_options(tracking)
        self._from_address = settings.DEFAULT_FROM_EMAIL if from_address is None else from_address
        self._sender = sender_mailbox(self._from_address)
        self._ca_file = ca_file
        self._connect_seconds = connect_seconds
        self._clock = clock
        self._pool: Pool[ApiConnection] = Pool(
            size=pool_size, max_idle_seconds=max_idle_seconds, max_uses=max_messages
        )

    def submit(self, message: Message, deadline: Deadline) -> Outcome:
        """Submit one email. An SMS is a caller's mistake: ``TypeError``."""
        if not isinstance(message, EmailMessage):
            raise TypeError("AnymailTransport submits EmailMessage only.")
        try:
            recipient = _recipient(message, self._sender)
            deadline.check()
        except InvalidMessage as error:
            return Outcome(kind=OutcomeKind.PERMANENT, reason=error.reason)
        except DeadlinePassed as error:
            return before_submit(error)
        lease = self._pool.take() or Lease(connection=self._open())
        return self._submit(lease, self._prepared(message, recipient), recipient, deadline)

    def close(self) -> None:
        """End idle sessions."""
        for connection in self._pool.drain():
            connection.close()

    def _submit(
        self, lease: Lease[ApiConnection], prepared: Any, recipient: str, deadline: Deadline
    ) -> Outcome:
        from notifications.email.anymail_outcomes import of_exception, of_status

        connection = lease.connection
        try:
            sent = connection.send(prepared, deadline)
        except Exception as error:
            return of_exception(error, has_begun=connection.has_begun, now=self._clock())
        finally:
            if connection.is_reusable:
                self._pool.give(lease)
        if not sent:
            # A receiver of anymail's pre_send signal called it off.
            return Outcome(kind=OutcomeKind.PERMANENT, reason=Reason.POLICY_REFUSED)
        status = prepared.anymail_status.recipients.get(recipient)
        return of_status(getattr(status, "status", None), getattr(status, "message_id", None))

    def _open(self) -> ApiConnection:
        from notifications.email.anymail_session import ApiConnection

        backend = self._factory()
        backend.send_defaults = dict(self._send_defaults)
        return ApiConnection(backend, ca_file=self._ca_file, connect_seconds=self._connect_seconds)

    def _prepared(self, message: EmailMessage, recipient: str) -> Any:
        from anymail.message import AnymailMessage

        prepared = AnymailMessage(
            subject=message.subject,
            body=message.text,
            from_email=self._from_address,
            to=[recipient],
            headers={
                "Message-ID": message.message_id,
                "Expires": format_datetime(message.expires_at.astimezone(dt.UTC), usegmt=True),
                "Auto-Submitted": "auto-generated",
                "X-Auto-Response-Suppress": "All",
            },
            metadata={METADATA_KEY: message.reference},
            **self._tracking,
        )
        prepared.attach_alternative(message.html, "text/html")
        return prepared


def _recipient(message: EmailMessage, sender: Sender) -> str:
    """The address to write to, once the message is as sound as one that SMTP would take."""
    try:
        recipient = wire_address(message.to)
    except AddressRefused:
        raise InvalidMessage(Reason.INVALID_DESTINATION) from None
    build_mime(dataclasses.replace(message, to=recipient), sender)
    return recipient
