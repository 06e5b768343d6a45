"""Every reason code in plain words. Each reads on behind "Not sent by email: "."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from notifications.outcome import Reason
from resetdelivery.domain.reasons import DeliveryReason

_OURS: Mapping[DeliveryReason, str] = {
    DeliveryReason.SUPERSEDED: "a newer request of the same account took its place",
    DeliveryReason.WITHDRAWN: "it was withdrawn, by the shop or by an operator",
    DeliveryReason.NOT_NEEDED: "another channel was enough",
    DeliveryReason.UNKNOWN_ACCOUNT: "there is no such account",
    DeliveryReason.ACCOUNT_CHANGED: "the account changed after the request",
    DeliveryReason.ACCOUNT_INACTIVE: "the account is not active, or signs in without a password",
    DeliveryReason.NO_DESTINATION: "the account has no verified destination on this channel",
    DeliveryReason.INVALID_MESSAGE: "no valid message could be made of it",
    DeliveryReason.NO_USEFUL_TIME_LEFT: "too little of its lifetime was left to be of use",
    DeliveryReason.RETRY_DOES_NOT_FIT: "one more try would not have been in time",
    DeliveryReason.ATTEMPTS_USED_UP: "all its attempts were used up",
    DeliveryReason.CLAIMS_USED_UP: "too many workers took it and did not finish it",
    DeliveryReason.AMBIGUOUS_RESENDS_USED_UP: "the provider may have it already, and it must not be doubled",
    DeliveryReason.LEASE_RAN_OUT: "the worker that held it did not come back",
    DeliveryReason.PROVIDER_REMOVED: "the only provider that may send it is not configured any more",
    DeliveryReason.SENT_BY_EXISTING_SENDER: "the existing sender sends it, not this one",
    DeliveryReason.SHADOW: "the channel is in shadow mode: all was done but the sending",
    DeliveryReason.ACCOUNT_LIMIT: "the account had asked too often",
    DeliveryReason.DESTINATION_LIMIT: "its destination had been asked for too often",
    DeliveryReason.SMS_PREFIX_LIMIT: "too many messages went to this range of numbers",
    DeliveryReason.SMS_BUDGET_SPENT: "the budget for text messages was spent",
}

_PROVIDERS: Mapping[Reason, str] = {
    Reason.CONNECT_FAILED: "the provider could not be connected to",
    Reason.DNS_FAILED: "the provider's name could not be resolved",
    Reason.TLS_FAILED: "no encrypted connection to the provider came about",
    Reason.DISCONNECTED_BEFORE_SUBMIT: "the connection broke before the provider had the message",
    Reason.DISCONNECTED_AFTER_SUBMIT: "the connection broke when the provider may have had the message",
    Reason.TIMEOUT_BEFORE_SUBMIT: "the provider took too long, and does not have the message",
    Reason.TIMEOUT_AFTER_SUBMIT: "the provider took too long, and may have the message",
    Reason.DEADLINE_PASSED: "its deadline passed before the provider had the message",
    Reason.PROVIDER_BUSY: "the provider was busy",
    Reason.PROVIDER_ERROR: "the provider had an error of its own",
    Reason.UNREADABLE_REPLY: "the provider's reply made no sense",
    Reason.RATE_LIMITED: "the provider takes no more so fast",
    Reason.GREYLISTED: "the receiving server asked to come back later",
    Reason.MAILBOX_FULL: "the mailbox is full",
    Reason.MAILBOX_UNAVAILABLE: "the mailbox cannot be used just now",
    Reason.RECIPIENT_REFUSED: "the recipient was refused",
    Reason.SENDER_REFUSED: "our sender was refused",
    Reason.CONTENT_REFUSED: "the message's content was refused",
    Reason.MESSAGE_TOO_LARGE: "the message is too large",
    Reason.POLICY_REFUSED: "a policy of the receiving side refused it",
    Reason.INVALID_DESTINATION: "its destination is not one that can be sent to",
    Reason.OPTED_OUT: "the recipient wants no messages",
    Reason.UNROUTABLE: "no way leads to its destination",
    Reason.UNREACHABLE: "the handset was off or out of reach",
    Reason.EXPIRED_AT_PROVIDER: "the provider held it until it was out of date",
    Reason.AUTHENTICATION_FAILED: "the provider does not accept our credentials",
    Reason.ACCOUNT_SUSPENDED: "our account at the provider is suspended",
    Reason.LIFETIME_TOO_SHORT: "the provider needs more time than was left",
    Reason.TRANSPORT_BUG: "an error in our own code for this provider",
    Reason.LOST: "the worker died while it was sending, and the provider may have the message",
}

#: By code. A code of a newer release than this one is told as it is.
WORDS: Mapping[str, str] = MappingProxyType(
    {code.value: words for code, words in (*_PROVIDERS.items(), *_OURS.items())}
)


def spelled(code: str) -> str:
    """The code itself with spaces, for a step of the timeline."""
    return code.replace("_", " ")


def in_words(code: str) -> str:
    """What the code means, with the code in brackets."""
    return f"{WORDS.get(code, spelled(code))} ({code})"
