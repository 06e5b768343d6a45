"""Where a link leads, and the words around it."""

from __future__ import annotations

from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, register
from django.urls import NoReverseMatch, reverse

from resetdelivery.checks.messages import TAG, error, settings_if_valid
from resetdelivery.links import base_url_problem
from resetdelivery.template_choice import has_templates


@register(TAG)
def check_link(**_: Any) -> list[CheckMessage]:
    """E007 and E008."""
    settings = settings_if_valid()
    if settings is None:
        return []
    found: list[CheckMessage] = []
    if problem := base_url_problem(settings.reset_base_url, debug=django_settings.DEBUG):
        found.append(error(7, problem))
    if not _has_page(settings.reset_url_name):
        text = f"RESETDELIVERY['RESET_URL_NAME'] is {settings.reset_url_name!r}, which no URL pattern is."
        hint = (
            "Add path('reset/<uidb64>/<token>/', PasswordResetConfirmView.as_view(), "
            f"name={settings.reset_url_name!r}) from resetdelivery.views to the root URLconf."
        )
        found.append(error(8, text, hint))
    return found


def _has_page(url_name: str) -> bool:
    try:
        reverse(
            url_name,
            urlconf=getattr(django_settings, "ROOT_URLCONF", None),
            kwargs={"uidb64": "MQ", "token": "a-" + "0" * 32},
        )
    except NoReverseMatch:
        return False
    return True


@register(TAG)
def check_templates(**_: Any) -> list[CheckMessage]:
    """E012."""
    settings = settings_if_valid()
    if settings is None or has_templates(settings.template_version):
        return []
    version = settings.template_version
    text = f"RESETDELIVERY['TEMPLATE_VERSION'] is {version!r}, of which no templates are found."
    hint = (
        "Have 'notifications' in INSTALLED_APPS and 'APP_DIRS': True in TEMPLATES, or add "
        f"templates/notifications/reset/{version}/en/."
    )
    return [error(12, text, hint)]
