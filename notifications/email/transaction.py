"""One mail transaction (RFC 5321 section 3.3) on an open connection, with its phases known."""

from __future__ import annotations

import datetime as dt
import re
import smtplib
from collections.abc import Callable
from dataclasses import dataclass, field

from notifications import failures
from notifications.deadline import Deadline, DeadlinePassed
from notifications.email.connection import DeadlineSmtp
from notifications.email.deliver_by import DeliverBy, deliver_by_parameter
from notifications.email.replies import Phase, classify, enhanced_code
from notifications.outcome import Outcome, OutcomeKind, Reason

_LINE_START_DOT = re.compile(rb"^\.", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """What is submitted: addresses for the envelope, and the message with its dots stuffed.

    ``expires_at`` is when it stops being of use, and ``deliver_by`` what the server is told of it.
    """

    sender: str
    recipient: str = field(repr=False)
    data: bytes = field(repr=False)
    expires_at: dt.datetime
    deliver_by: DeliverBy


class Transaction:
    """MAIL, RCPT, DATA, the message, the dot; used once.

    ``clock`` is the wall clock. After :meth:`run`, ``reusable`` says whether the connection can
    carry another one, and ``is_stale`` that it had been closed before we said anything of this
    message.
    """

    def __init__(
        self, connection: DeadlineSmtp, envelope: Envelope, clock: Callable[[], dt.datetime]
    ) -> None:
        self._connection = connection
        self._envelope = envelope
        self._clock = clock
        self._phase = Phase.MAIL
        self.reusable = False
        self.is_stale = False

    def run(self, deadline: Deadline) -> Outcome:
        """Submit by ``deadline``; whoever comes to the dot after it does not send it."""
        try:
            self._connection.rearm(deadline)
            return self._refused_command() or self._send_message(deadline)
        except smtplib.SMTPResponseException:
            return self._unreadable()
        except Exception as error:
            return self._failed(error)

    def _refused_command(self) -> Outcome | None:
        """Say what precedes the message; the refusal, if one was."""
        if self._connection.needs_reset:
            reset = self._command(Phase.MAIL, "RSET", "2")
            if reset is not None:
                self.is_stale, self.reusable = True, False
                return reset
            self._connection.needs_reset = False
        return (
            self._command(Phase.MAIL, f"MAIL FROM:<{self._envelope.sender}>{self._parameters()}", "2")
            or self._command(Phase.RCPT, f"RCPT TO:<{self._envelope.recipient}>", "2")
            or self._command(Phase.DATA, "DATA", "354")
        )

    def _parameters(self) -> str:
        offers = self._connection.esmtp_features
        size = f" SIZE={len(self._envelope.data)}" if "size" in offers else ""
        remaining = self._envelope.expires_at - self._clock()
        return size + deliver_by_parameter(self._envelope.deliver_by, offers.get("deliverby"), remaining)

    def _command(self, phase: Phase, command: str, expected: str) -> Outcome | None:
        self._phase = phase
        code, text = self._connection.docmd(command)
        if str(code).startswith(expected):
            return None
        return self._refused(code, text)

    def _refused(self, code: int, text: bytes) -> Outcome:
        kind, reason = classify(self._phase, code, enhanced_code(code, text))
        self.reusable = code not in (421, -1)
        self.is_stale = self._phase is Phase.MAIL and code == 421
        self._connection.needs_reset = True
        return Outcome(kind=kind, reason=reason)

    def _send_message(self, deadline: Deadline) -> Outcome:
        self._connection.send(self._envelope.data)
        deadline.check()
        self._phase = Phase.DOT
        self._connection.send(b".\r\n")
        code, text = self._connection.getreply()
        kind, reason = classify(Phase.DOT, code, enhanced_code(code, text))
        self.reusable = kind is OutcomeKind.ACCEPTED or (str(code)[0] in "45" and code != 421)
        return Outcome(kind=kind, reason=reason)

    def _unreadable(self) -> Outcome:
        kind = OutcomeKind.AMBIGUOUS if self._phase is Phase.DOT else OutcomeKind.TRANSIENT
        return Outcome(kind=kind, reason=Reason.UNREADABLE_REPLY)

    def _failed(self, error: Exception) -> Outcome:
        # The sockets say "passed" before they send anything, of the dot as well.
        if self._phase is Phase.DOT and not isinstance(error, DeadlinePassed):
            return failures.after_submit(error)
        self.is_stale = self._phase is Phase.MAIL and isinstance(error, OSError)
        return failures.before_submit(error)


def stuff_dots(message: bytes) -> bytes:
    """``message`` with its leading dots doubled, ending in CRLF (RFC 5321 section 4.5.2)."""
    ended = message if message.endswith(b"\r\n") else message + b"\r\n"
    return _LINE_START_DOT.sub(b"..", ended)
