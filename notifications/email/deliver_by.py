"""How long a message is of use, said to the server: DELIVERBY (RFC 2852). Pure: standard library only."""

from __future__ import annotations

import datetime as dt
import enum

_SECOND = dt.timedelta(seconds=1)
#: RFC 2852: a by-time has at most nine digits.
_MAX_SECONDS = 999_999_999


class DeliverBy(enum.StrEnum):
    """What the server is asked to do with a message that it could not deliver in time."""

    #: Nothing is said.
    OFF = "off"
    #: ``N``: go on trying, and tell the sender that it is late.
    NOTIFY = "notify"
    #: ``R``: return it. Such a message may not be relayed to a server without DELIVERBY either, so
    #: this is for a server that delivers to mailboxes itself. A relay returns nearly everything
    #: at once (sendmail: "554 5.4.7 Server does not support Deliver By").
    RETURN = "return"


_MODES = {DeliverBy.NOTIFY: "N", DeliverBy.RETURN: "R"}


def deliver_by_parameter(mode: DeliverBy, offer: str | None, remaining: dt.timedelta) -> str:
    """The parameter for MAIL, with a leading space; ``""`` where there is nothing to ask for.

    ``offer`` is what EHLO says after ``DELIVERBY`` (empty, or the shortest time that the server
    takes, in seconds), ``None`` if it offers none. ``remaining`` is rounded down.
    """
    if mode is DeliverBy.OFF or offer is None:
        return ""
    seconds = min(remaining // _SECOND, _MAX_SECONDS)
    return f" BY={seconds};{_MODES[mode]}" if seconds >= _shortest(offer) else ""


def _shortest(offer: str) -> int:
    words = offer.split()
    return max(1, int(words[0])) if words and words[0].isdigit() and words[0].isascii() else 1
