"""Who may tell us what became of a message, and where."""

from __future__ import annotations

from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, register
from django.urls import NoReverseMatch, reverse

from notifications.receipts.problems import ReceiverMisconfigured, ReceiverProblem
from resetdelivery.checks.messages import TAG, error, settings_if_valid
from resetdelivery.conf import Settings
from resetdelivery.receivers import (
    ANYMAIL,
    base_url_problem,
    get_anymail_receiver,
    get_receiver,
    provider_names,
)


@register(TAG)
def check_receivers(**_: Any) -> list[CheckMessage]:
    """E050 and E052 to E054."""
    settings = settings_if_valid()
    found: list[CheckMessage] = []
    for name in settings.receipts if settings else ():
        try:
            get_anymail_receiver() if name == ANYMAIL else get_receiver(name)
        except ReceiverMisconfigured as cause:
            found.append(_message(name, cause))
        except Exception as cause:
            # Of a receiver that is not ours: its text may quote a secret.
            text = f"RESETDELIVERY['RECEIPTS'][{name!r}] cannot be used: {type(cause).__name__}."
            found.append(error(52, text, "See that its options fit its receiver."))
    return found


def _message(name: str, cause: ReceiverMisconfigured) -> CheckMessage:
    text = f"RESETDELIVERY['RECEIPTS'][{name!r}]: {cause.what}"
    match cause.problem:
        case ReceiverProblem.SECRET:
            return error(50, text, cause.hint)
        case ReceiverProblem.PROVIDER:
            return error(52, text, cause.hint)
        case ReceiverProblem.TOPIC:
            return error(53, text, cause.hint)
        case ReceiverProblem.WINDOW:
            return error(54, text, cause.hint)


@register(TAG)
def check_address(**_: Any) -> list[CheckMessage]:
    """E051."""
    settings = settings_if_valid()
    if settings is None or not provider_names():
        return []
    if problem := base_url_problem(settings.receipts_base_url, debug=django_settings.DEBUG):
        hint = (
            "Write where resetdelivery.urls_receipts is mounted, as providers see it, such as "
            "'https://shop.example/receipts'; 'http://' is for DEBUG on a loopback host."
        )
        return [error(51, problem, hint)]
    return _unmounted(settings)


def _unmounted(settings: Settings) -> list[CheckMessage]:
    try:
        reverse("resetdelivery_receipts:provider", urlconf=django_settings.ROOT_URLCONF, args=["sns"])
    except NoReverseMatch:
        url = settings.receipts_base_url
        text = f"RESETDELIVERY['RECEIPTS_BASE_URL'] is {url!r}, and no page takes receipts."
        hint = "Add path('receipts/', include('resetdelivery.urls_receipts')) to the root URLconf."
        return [error(51, text, hint)]
    return []
