"""What an answer of AWS End User Messaging SMS means, as tables. Pure: standard library only.

Sources: the errors of ``SendTextMessage`` and their reasons, in the API reference of End User
Messaging SMS, version 2 (``docs.aws.amazon.com/pinpoint/latest/apireference_smsvoicev2``, pages
``API_SendTextMessage`` and ``API_<error>``), and its page ``CommonErrors`` for what every AWS
service may say. The error's name comes in the body's ``__type`` or in the header
``x-amzn-errortype``, perhaps behind a namespace and ``#``, perhaps before a colon.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping

from notifications.http_replies import Meaning, accepted, by_status, json_object, outcome
from notifications.outcome import Outcome, OutcomeKind, Reason

_MESSAGE_ID = re.compile(r"[0-9A-Za-z-]{1,64}", re.ASCII)

#: By the error's name and its ``Reason``; the row with an empty one is for all other reasons.
ERRORS: Mapping[tuple[str, str], Meaning] = {
    # Too fast: certainly not taken.
    ("ThrottlingException", ""): (OutcomeKind.THROTTLED, Reason.RATE_LIMITED),
    # Conflict: "not valid for the current state or configuration of the resource".
    ("ConflictException", "DESTINATION_PHONE_NUMBER_OPTED_OUT"): (OutcomeKind.PERMANENT, Reason.OPTED_OUT),
    ("ConflictException", "DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION"): (
        OutcomeKind.PERMANENT,
        Reason.POLICY_REFUSED,
    ),
    ("ConflictException", "DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE"): (
        OutcomeKind.PERMANENT,
        Reason.POLICY_REFUSED,
    ),
    # It depends on the country written to, so it is no reason to pause.
    ("ConflictException", "NO_ORIGINATION_IDENTITIES_FOUND"): (OutcomeKind.PERMANENT, Reason.UNROUTABLE),
    # An account in the sandbox reaches verified numbers only.
    ("ConflictException", "DESTINATION_PHONE_NUMBER_NOT_VERIFIED"): (
        OutcomeKind.MISCONFIGURED,
        Reason.SENDER_REFUSED,
    ),
    ("ConflictException", "MESSAGE_TYPE_MISMATCH"): (OutcomeKind.MISCONFIGURED, Reason.SENDER_REFUSED),
    ("ConflictException", "NUMBER_CAPABILITIES_MISMATCH"): (OutcomeKind.MISCONFIGURED, Reason.SENDER_REFUSED),
    ("ConflictException", "RESOURCE_NOT_ACTIVE"): (OutcomeKind.MISCONFIGURED, Reason.SENDER_REFUSED),
    ("ConflictException", "REGISTRATION_NOT_COMPLETE"): (OutcomeKind.MISCONFIGURED, Reason.SENDER_REFUSED),
    ("ConflictException", ""): (OutcomeKind.PERMANENT, Reason.PROVIDER_ERROR),
    # Validation: this request.
    ("ValidationException", "COUNTRY_NOT_ENABLED"): (OutcomeKind.PERMANENT, Reason.UNROUTABLE),
    ("ValidationException", "DESTINATION_COUNTRY_BLOCKED"): (OutcomeKind.PERMANENT, Reason.UNROUTABLE),
    ("ValidationException", "INTERNATIONAL_SENDING_NOT_SUPPORTED"): (
        OutcomeKind.PERMANENT,
        Reason.UNROUTABLE,
    ),
    ("ValidationException", "INVALID_IDENTITY_FOR_DESTINATION_COUNTRY"): (
        OutcomeKind.PERMANENT,
        Reason.UNROUTABLE,
    ),
    ("ValidationException", "SENDER_ID_NOT_SUPPORTED"): (OutcomeKind.PERMANENT, Reason.UNROUTABLE),
    ("ValidationException", "SENDER_ID_REQUIRES_REGISTRATION"): (OutcomeKind.PERMANENT, Reason.UNROUTABLE),
    ("ValidationException", "SENDER_ID_NOT_REGISTERED"): (OutcomeKind.PERMANENT, Reason.UNROUTABLE),
    ("ValidationException", "PRICE_OVER_THRESHOLD"): (OutcomeKind.PERMANENT, Reason.POLICY_REFUSED),
    ("ValidationException", "MAXIMUM_SIZE_EXCEEDED"): (OutcomeKind.PERMANENT, Reason.MESSAGE_TOO_LARGE),
    ("ValidationException", "RESOURCE_NOT_ACCESSIBLE"): (OutcomeKind.MISCONFIGURED, Reason.SENDER_REFUSED),
    ("ValidationException", "INVALID_ARN"): (OutcomeKind.MISCONFIGURED, Reason.SENDER_REFUSED),
    ("ValidationException", "CHANNEL_NOT_ENABLED"): (OutcomeKind.MISCONFIGURED, Reason.ACCOUNT_SUSPENDED),
    ("ValidationException", "UNKNOWN_OPERATION"): (OutcomeKind.MISCONFIGURED, Reason.PROVIDER_ERROR),
    ("ValidationException", ""): (OutcomeKind.PERMANENT, Reason.INVALID_MESSAGE),
    # Our account: no message passes.
    ("AccessDeniedException", "ACCOUNT_DISABLED"): (OutcomeKind.MISCONFIGURED, Reason.ACCOUNT_SUSPENDED),
    ("AccessDeniedException", "INSUFFICIENT_ACCOUNT_REPUTATION"): (
        OutcomeKind.MISCONFIGURED,
        Reason.ACCOUNT_SUSPENDED,
    ),
    ("AccessDeniedException", ""): (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    ("ServiceQuotaExceededException", ""): (OutcomeKind.MISCONFIGURED, Reason.ACCOUNT_SUSPENDED),
    ("ResourceNotFoundException", ""): (OutcomeKind.MISCONFIGURED, Reason.SENDER_REFUSED),
    # CommonErrors: credentials, signature, clock.
    ("ExpiredTokenException", ""): (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    ("IncompleteSignature", ""): (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    ("IncompleteSignatureException", ""): (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    ("InvalidClientTokenId", ""): (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    ("InvalidSignatureException", ""): (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    ("MissingAuthenticationToken", ""): (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    ("MissingAuthenticationTokenException", ""): (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    ("NotAuthorized", ""): (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    ("OptInRequired", ""): (OutcomeKind.MISCONFIGURED, Reason.ACCOUNT_SUSPENDED),
    ("RequestExpired", ""): (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    ("SignatureDoesNotMatch", ""): (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
    ("UnknownOperationException", ""): (OutcomeKind.MISCONFIGURED, Reason.PROVIDER_ERROR),
    ("UnrecognizedClientException", ""): (OutcomeKind.MISCONFIGURED, Reason.AUTHENTICATION_FAILED),
}


def read_reply(status: int, headers: Mapping[str, str], body: bytes, now: dt.datetime) -> Outcome:
    """The outcome of a complete reply; ``headers`` has lower-case names, ``now`` is aware."""
    value = json_object(body)
    if 200 <= status < 300:
        return accepted(value.get("MessageId"), _MESSAGE_ID)
    if status >= 500:
        return outcome(by_status(status), headers, now)
    known = _refusal(_error_name(value, headers), value)
    return outcome(known or by_status(status), headers, now)


def _refusal(name: str, value: Mapping[str, object]) -> Meaning | None:
    if name == "InternalServerException":
        return OutcomeKind.AMBIGUOUS, Reason.PROVIDER_ERROR
    if name == "ValidationException" and _is_about_the_number(value.get("Fields")):
        return OutcomeKind.PERMANENT, Reason.INVALID_DESTINATION
    return ERRORS.get((name, str(value.get("Reason")))) or ERRORS.get((name, ""))


def _is_about_the_number(fields: object) -> bool:
    """Whether ``Fields``, a list of names and messages, names the destination."""
    names = (
        [field.get("Name") for field in fields if isinstance(field, dict)] if isinstance(fields, list) else []
    )
    return "DestinationPhoneNumber" in names


def _error_name(value: Mapping[str, object], headers: Mapping[str, str]) -> str:
    written = str(value.get("__type") or headers.get("x-amzn-errortype", ""))
    return written.rpartition("#")[2].partition(":")[0]
