"""What every transport of a channel refuses before it asks anybody, for a message that none is given."""

from __future__ import annotations

import dataclasses

from notifications.email.addresses import AddressRefused, wire_address
from notifications.email.mime import check_message
from notifications.exceptions import InvalidMessage
from notifications.message import EmailMessage, Message
from notifications.outcome import Reason
from notifications.sms.phone import is_e164


def check_sound(message: Message) -> None:
    """Raises :class:`InvalidMessage` where no transport of ours would submit it, with the reason of those."""
    if isinstance(message, EmailMessage):
        check_message(dataclasses.replace(message, to=_recipient(message)))
    elif not is_e164(message.to):
        raise InvalidMessage(Reason.INVALID_DESTINATION)


def _recipient(message: EmailMessage) -> str:
    try:
        return wire_address(message.to)
    except AddressRefused:
        raise InvalidMessage(Reason.INVALID_DESTINATION) from None
