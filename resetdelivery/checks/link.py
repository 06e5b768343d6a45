"""Where a link leads, and the words around it."""

from __future__ import annotations

from typing import Any

from django.conf import settings as django_settings
from django.contrib.auth.views import PasswordResetConfirmView as DjangoPasswordResetConfirmView
from django.core.checks import CheckMessage, register
from django.urls import NoReverseMatch, Resolver404, get_script_prefix, resolve, reverse, set_script_prefix

from resetdelivery.checks.messages import TAG, error, settings_if_valid
from resetdelivery.legacy_links import generator_problem
from resetdelivery.links import base_url_problem
from resetdelivery.template_choice import has_templates


@register(TAG)
def check_link(**_: Any) -> list[CheckMessage]:
    """E007, E008 and E118."""
    settings = settings_if_valid()
    if settings is None:
        return []
    found: list[CheckMessage] = []
    if problem := base_url_problem(settings.reset_base_url, debug=django_settings.DEBUG):
        found.append(error(7, problem))
    found += _page_problems(settings.reset_url_name)
    found += _legacy_problems(settings.legacy_token_generator)
    return found


def _page_problems(name: str) -> list[CheckMessage]:
    view = page_view(name)
    page = getattr(view, "view_class", view)
    if page is None:
        text = f"RESETDELIVERY['RESET_URL_NAME'] is {name!r}, which no URL pattern is."
        hint = (
            "Add path('reset/<uidb64>/<token>/', PasswordResetConfirmView.as_view(), "
            f"name={name!r}) from resetdelivery.views to the root URLconf."
        )
        return [error(8, text, hint)]
    if page is DjangoPasswordResetConfirmView:
        text = (
            f"The page of RESETDELIVERY['RESET_URL_NAME'] ({name!r}) is Django's own: it refuses our links."
        )
        hint = (
            "Put our path before include('django.contrib.auth.urls'), or give it a name of its own and "
            "set RESET_URL_NAME to that."
        )
        return [error(8, text, hint)]
    return []


def _legacy_problems(path: str) -> list[CheckMessage]:
    problem = generator_problem(path) if path else ""
    if not problem:
        return []
    hint = (
        "Name the existing sender's generator, a class or an instance, such as "
        "'django.contrib.auth.tokens.default_token_generator'; or leave it out when its links are over."
    )
    return [error(118, f"RESETDELIVERY['LEGACY_TOKEN_GENERATOR'] is {path!r}, which {problem}.", hint)]


def page_view(url_name: str) -> object | None:
    """What answers the address that a link has: by its name, and then by its path, as a request would."""
    urlconf = getattr(django_settings, "ROOT_URLCONF", None)
    before = get_script_prefix()
    set_script_prefix("/")
    try:
        path = reverse(url_name, urlconf=urlconf, kwargs={"uidb64": "MQ", "token": "a-" + "0" * 32})
        return resolve(path, urlconf=urlconf).func
    except (NoReverseMatch, Resolver404):
        return None
    finally:
        set_script_prefix(before)


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
