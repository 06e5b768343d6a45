"""Which of the provider's submissions are copies of which delivery."""

from __future__ import annotations

import email
import email.policy
from collections.abc import Sequence

from notifications.channels import Channel
from notifications.testing.provider import Submission
from resetdelivery.conf import get_settings
from resetdelivery.directory import get_directory
from resetdelivery.gate import message_id
from resetdelivery.models import Delivery


def copies_of(delivery: Delivery, submissions: Sequence[Submission]) -> list[Submission]:
    """The submissions of ``delivery``: by Message-ID, or for an SMS by the link that is in it."""
    of_channel = [one for one in submissions if one.channel == delivery.channel]
    if delivery.channel == Channel.EMAIL:
        wanted = message_id(delivery.reference, get_settings())
        return [one for one in of_channel if one.key == wanted]
    link = link_of(delivery)
    return [one for one in of_channel if link and link in one.key]


def link_of(delivery: Delivery) -> str:
    """The link that every copy must carry; empty where there is no account."""
    ref = delivery.intent.account_ref
    account = get_directory().get_many([ref]).get(ref)
    return get_directory().make_link(account, delivery.expires_at) if account else ""


def text_of(submission: Submission) -> str:
    """What its reader sees: an email's plain text, an SMS's text."""
    if submission.channel == Channel.SMS:
        return submission.key
    message = email.message_from_bytes(submission.body, policy=email.policy.default)
    plain = message.get_body(("plain",))
    return str(plain.get_content()) if plain else ""
