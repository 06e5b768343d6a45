"""The options of :class:`~notifications.email.anymail.AnymailTransport`, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from notifications.email.mime import Sender, parse_sender
from notifications.option_problems import OptionMisconfigured, OptionProblem

if TYPE_CHECKING:
    from notifications.email.anymail_session import Backend

_DEFAULTS_THAT_ARE_OURS = (
    "to",
    "cc",
    "bcc",
    "from_email",
    "subject",
    "metadata",
    "track_clicks",
    "track_opens",
)


def backend_factory(path: str, options: Mapping[str, Any]) -> Callable[[], Backend]:
    """What makes the backend ``path`` with ``options``; one was made, to see that it can be."""
    try:
        from anymail.backends.base_requests import AnymailRequestsBackend
    except ImportError:
        raise OptionMisconfigured(
            OptionProblem.PACKAGE,
            "The transport AnymailTransport needs the package django-anymail.",
            "Install resetdelivery[anymail].",
        ) from None
    try:
        backend = import_string(path)
    except ImportError:
        hint = "Write the dotted path of a backend, such as 'anymail.backends.postmark.EmailBackend'."
        raise _bad_backend(f"is {path!r}, which cannot be imported", hint) from None
    if not (isinstance(backend, type) and issubclass(backend, AnymailRequestsBackend)):
        hint = (
            "Its client repeats requests on its own and cannot be held to a deadline. "
            "Use SmtpTransport with the provider's SMTP server."
        )
        raise _bad_backend(f"is {path!r}, which does not speak HTTP through requests", hint)

    def make() -> Backend:
        # Printing whole requests, for debugging, would print links.
        made: Backend = backend(**options, debug_api_requests=False, ignore_recipient_status=True)
        return made

    _check_made(make)
    return make


def _check_made(make: Callable[[], Backend]) -> None:
    try:
        make()
    except ImproperlyConfigured:
        raise OptionMisconfigured(
            OptionProblem.CREDENTIALS,
            "The anymail option 'backend_options' lacks what the backend must have.",
            "See anymail's documentation of the provider: credentials, perhaps a sender's domain.",
        ) from None


def _bad_backend(what: str, hint: str) -> OptionMisconfigured:
    return OptionMisconfigured(OptionProblem.BACKEND, f"The anymail option 'backend' {what}.", hint)


def checked_defaults(defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The option ``send_defaults``, once it leaves alone what a reset must not be."""
    ours = sorted(set(defaults) & set(_DEFAULTS_THAT_ARE_OURS))
    if ours:
        raise OptionMisconfigured(
            OptionProblem.VALUE,
            f"The anymail option 'send_defaults' sets {', '.join(map(repr, ours))}.",
            "A reset goes to one recipient, untracked: leave it out.",
        )
    return dict(defaults)


def tracking_options(value: str) -> dict[str, bool]:
    """What each message says about tracking, for the option ``tracking``."""
    if value not in {"off", "provider"}:
        raise OptionMisconfigured(
            OptionProblem.VALUE,
            f"The anymail option 'tracking' is {value!r}.",
            "Use 'off' or 'provider'.",
        )
    return {"track_clicks": False, "track_opens": False} if value == "off" else {}


def sender_mailbox(from_address: str) -> Sender:
    """The one mailbox in ``from_address``."""
    try:
        return parse_sender(from_address)
    except ValueError as error:
        raise OptionMisconfigured(
            OptionProblem.SENDER,
            f"The anymail option 'from_address' (or DEFAULT_FROM_EMAIL) cannot be used: {error}.",
            "Write it as no-reply@shop.example or 'Shop <no-reply@shop.example>'.",
        ) from None
