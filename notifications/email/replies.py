"""What an SMTP reply means for one recipient's message, as a table. Pure: standard library only.

Three readings decide most rows. Before RCPT the server knows nothing of the recipient, so a
refusal there is about us: no message passes. From RCPT on a refusal is about this message. And
a 4yz or 5yz in answer to the final dot is an answer: the server did not take the message
(RFC 5321 section 4.2.5, 6.1); only silence or nonsense there is ambiguous.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from notifications.outcome import OutcomeKind, Reason


class Phase(enum.StrEnum):
    """How far a session has come; the reply belongs to the command of this name."""

    CONNECT = "connect"
    EHLO = "ehlo"
    TLS = "tls"
    AUTH = "auth"
    MAIL = "mail"
    RCPT = "rcpt"
    DATA = "data"
    #: The final dot was sent, or may have been.
    DOT = "dot"


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: shell patterns for the code and the enhanced code, and what they mean."""

    code: str
    enhanced: str
    phases: frozenset[Phase]
    kind: OutcomeKind
    reason: Reason
    source: str


ANY = frozenset(Phase)
SESSION = frozenset({Phase.CONNECT, Phase.EHLO, Phase.TLS, Phase.AUTH})
AUTH = frozenset({Phase.AUTH})
TLS = frozenset({Phase.TLS})
MAIL = frozenset({Phase.MAIL})
RCPT = frozenset({Phase.RCPT})
CONTENT = frozenset({Phase.DATA, Phase.DOT})
DOT = frozenset({Phase.DOT})
MESSAGE = frozenset({Phase.MAIL, Phase.RCPT, Phase.DATA, Phase.DOT})

_ACCEPTED = OutcomeKind.ACCEPTED
_TRANSIENT = OutcomeKind.TRANSIENT
_THROTTLED = OutcomeKind.THROTTLED
_PERMANENT = OutcomeKind.PERMANENT
_AMBIGUOUS = OutcomeKind.AMBIGUOUS
_OURS = OutcomeKind.MISCONFIGURED

#: First match wins. ``*`` as enhanced pattern also matches a reply that has no enhanced code.
RULES: tuple[Rule, ...] = (
    Rule("2??", "*", DOT, _ACCEPTED, Reason.OK, "RFC 5321 4.2.5: 250 hands over responsibility"),
    # Temporary refusals.
    Rule("4??", "4.7.28", ANY, _THROTTLED, Reason.RATE_LIMITED, "IANA enhanced codes: X.7.28 mail flood"),
    Rule("454", "*", CONTENT, _THROTTLED, Reason.RATE_LIMITED, "Amazon SES: 454 Throttling failure"),
    Rule("432", "*", AUTH, _OURS, Reason.AUTHENTICATION_FAILED, "RFC 4954 6: password transition"),
    Rule("454", "*", TLS, _TRANSIENT, Reason.TLS_FAILED, "RFC 3207 4: TLS not available for now"),
    Rule("450", "4.7.1", MESSAGE, _TRANSIENT, Reason.GREYLISTED, "RFC 6647 5"),
    Rule("451", "4.7.1", MESSAGE, _TRANSIENT, Reason.GREYLISTED, "RFC 6647 5"),
    Rule("4??", "4.2.2", MESSAGE, _TRANSIENT, Reason.MAILBOX_FULL, "RFC 3463 3.3: X.2.2 mailbox full"),
    Rule("450", "*", MESSAGE, _TRANSIENT, Reason.MAILBOX_UNAVAILABLE, "RFC 5321 4.2.3: mailbox busy"),
    Rule("421", "*", ANY, _TRANSIENT, Reason.PROVIDER_BUSY, "RFC 5321 3.8: closing the channel"),
    Rule("452", "*", ANY, _TRANSIENT, Reason.PROVIDER_BUSY, "RFC 5321 4.2.3: insufficient storage"),
    Rule("451", "*", ANY, _TRANSIENT, Reason.PROVIDER_ERROR, "RFC 5321 4.2.3: local error in processing"),
    Rule("4??", "*", ANY, _TRANSIENT, Reason.PROVIDER_BUSY, "RFC 5321 4.2.1: try again later"),
    # Our credentials, and our standing with the server.
    Rule("530", "*", ANY, _OURS, Reason.AUTHENTICATION_FAILED, "RFC 4954 6: authentication required"),
    Rule("534", "*", ANY, _OURS, Reason.AUTHENTICATION_FAILED, "RFC 4954 6: mechanism too weak"),
    Rule("535", "*", ANY, _OURS, Reason.AUTHENTICATION_FAILED, "RFC 4954 6: credentials invalid"),
    Rule("538", "*", ANY, _OURS, Reason.AUTHENTICATION_FAILED, "RFC 4954 6: encryption required"),
    Rule("5??", "*", AUTH, _OURS, Reason.AUTHENTICATION_FAILED, "RFC 4954 4"),
    Rule("5??", "*", TLS, _OURS, Reason.TLS_FAILED, "RFC 3207 4: STARTTLS refused"),
    Rule("554", "*", SESSION, _OURS, Reason.POLICY_REFUSED, "RFC 5321 3.1: no service for this client"),
    Rule("5??", "*", SESSION, _OURS, Reason.PROVIDER_ERROR, "RFC 5321 3.1, 4.1.1.1"),
    # Size, before the sender: a 552 at MAIL answers the SIZE that we declared.
    Rule("5??", "5.3.4", MESSAGE, _PERMANENT, Reason.MESSAGE_TOO_LARGE, "RFC 3463 3.4; RFC 1870 6"),
    Rule("5??", "5.2.3", MESSAGE, _PERMANENT, Reason.MESSAGE_TOO_LARGE, "RFC 3463 3.3"),
    Rule("552", "5.2.2", MESSAGE, _TRANSIENT, Reason.MAILBOX_FULL, "RFC 3463 3.3: a full mailbox empties"),
    Rule("552", "*", RCPT, _TRANSIENT, Reason.MAILBOX_FULL, "RFC 5321 4.5.3.1.10: treat 552 as temporary"),
    Rule("552", "*", MESSAGE, _PERMANENT, Reason.MESSAGE_TOO_LARGE, "RFC 1870 6"),
    Rule("5??", "*", MAIL, _OURS, Reason.SENDER_REFUSED, "RFC 5321 3.3: about the sender, none passes"),
    # This recipient.
    Rule("5??", "5.1.1", MESSAGE, _PERMANENT, Reason.RECIPIENT_REFUSED, "RFC 3463 3.2: no such mailbox"),
    Rule("5??", "5.1.2", MESSAGE, _PERMANENT, Reason.UNROUTABLE, "RFC 3463 3.2: no such system"),
    Rule("5??", "5.1.3", MESSAGE, _PERMANENT, Reason.INVALID_DESTINATION, "RFC 3463 3.2: bad syntax"),
    Rule("5??", "5.1.6", MESSAGE, _PERMANENT, Reason.RECIPIENT_REFUSED, "RFC 3463 3.2: moved"),
    Rule("5??", "5.1.10", MESSAGE, _PERMANENT, Reason.UNROUTABLE, "RFC 7505 4.2: null MX"),
    Rule("5??", "5.2.1", MESSAGE, _PERMANENT, Reason.MAILBOX_UNAVAILABLE, "RFC 3463 3.3: disabled"),
    Rule("5??", "5.2.2", MESSAGE, _PERMANENT, Reason.MAILBOX_FULL, "RFC 3463 3.3, said to be for good"),
    Rule("5??", "5.4.*", RCPT, _PERMANENT, Reason.UNROUTABLE, "RFC 3463 3.5"),
    Rule("5??", "5.6.*", MESSAGE, _PERMANENT, Reason.CONTENT_REFUSED, "RFC 3463 3.7"),
    Rule("5??", "5.7.*", MESSAGE, _PERMANENT, Reason.POLICY_REFUSED, "RFC 3463 3.8; RFC 7372 3"),
    Rule("550", "*", RCPT, _PERMANENT, Reason.RECIPIENT_REFUSED, "RFC 5321 4.2.3: mailbox unavailable"),
    Rule("551", "*", RCPT, _PERMANENT, Reason.RECIPIENT_REFUSED, "RFC 5321 3.4: not local"),
    Rule("553", "*", RCPT, _PERMANENT, Reason.INVALID_DESTINATION, "RFC 5321 4.2.3: name not allowed"),
    Rule("501", "*", RCPT, _PERMANENT, Reason.INVALID_DESTINATION, "RFC 5321 4.2.2: syntax of parameters"),
    Rule("554", "*", RCPT, _PERMANENT, Reason.POLICY_REFUSED, "RFC 5321 3.6.2: relaying refused"),
    Rule("550", "*", CONTENT, _PERMANENT, Reason.POLICY_REFUSED, "RFC 5321 3.3: refused for policy reasons"),
    Rule("554", "*", CONTENT, _PERMANENT, Reason.CONTENT_REFUSED, "RFC 5321 4.2.3: transaction failed"),
    Rule("5??", "*", ANY, _PERMANENT, Reason.PROVIDER_ERROR, "RFC 5321 4.2.1: do not repeat"),
    # Neither a refusal nor the answer that the command asks for.
    Rule("*", "*", DOT, _AMBIGUOUS, Reason.UNREADABLE_REPLY, "RFC 5321 4.2.1: no such class of reply here"),
    Rule("*", "*", ANY, _TRANSIENT, Reason.UNREADABLE_REPLY, "RFC 5321 4.2.1: no such class of reply here"),
)

_ENHANCED = re.compile(rb"([245]\.\d{1,3}\.\d{1,3})(?:\s|\Z)")


def classify(phase: Phase, code: int, enhanced: str = "") -> tuple[OutcomeKind, Reason]:
    """The meaning of a reply that is not the success of its phase (at the dot: of any reply).

    ``code`` is the three-digit code, ``-1`` for a reply without one; ``enhanced`` is the RFC 3463
    code, ``""`` if there was none. Always finds a row.
    """
    rule = matching_rule(phase, code, enhanced)
    return rule.kind, rule.reason


def matching_rule(phase: Phase, code: int, enhanced: str) -> Rule:
    """The row that decides."""
    return next(rule for rule in RULES if _matches(rule, phase, str(code), enhanced))


def _matches(rule: Rule, phase: Phase, code: str, enhanced: str) -> bool:
    return phase in rule.phases and fnmatchcase(code, rule.code) and fnmatchcase(enhanced, rule.enhanced)


def enhanced_code(code: int, text: bytes) -> str:
    """The RFC 3463 code that starts a reply's text, ``""`` if there is none.

    One whose class contradicts the reply's own first digit is ignored (RFC 2034 section 4).
    """
    match = _ENHANCED.match(text)
    if match is None:
        return ""
    enhanced = match[1].decode("ascii")
    return enhanced if enhanced[0] == str(code)[0] else ""
