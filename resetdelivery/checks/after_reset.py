"""What happens when a password was set by a link: hooks, notices, and who is told too much."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, register
from django.utils.module_loading import import_string

from notifications.message import MessageKind
from resetdelivery.after_reset import hook_problem
from resetdelivery.checks.link import page_view
from resetdelivery.checks.messages import TAG, error, settings_if_valid, warning
from resetdelivery.conf import Settings
from resetdelivery.error_reports import LinkFreeReporter
from resetdelivery.template_choice import has_templates


@register(TAG)
def check_after_reset(**_: Any) -> list[CheckMessage]:
    """E090 to E092, W090 and W091."""
    settings = settings_if_valid()
    if settings is None:
        return []
    return [
        *_hook_problems(settings),
        *_notice_problems(settings),
        *_sign_in_problems(settings),
        *_report_problems(),
    ]


def _hook_problems(settings: Settings) -> Iterator[CheckMessage]:
    for path in settings.after_reset:
        if problem := hook_problem(path):
            text = f"RESETDELIVERY['AFTER_RESET'] names {path!r}, which {problem}."
            hint = "Write the dotted path of a function(*, account_ref: str, using: str) -> None."
            yield error(90, text, hint)


def _notice_problems(settings: Settings) -> Iterator[CheckMessage]:
    for channel, options in settings.channels.items():
        useful = options.expected_queue_delay + options.expected_latency + settings.min_useful
        if settings.notice_lifetime < useful:
            text = (
                f"RESETDELIVERY['NOTICE_LIFETIME'] is {settings.notice_lifetime}, but a notice on "
                f"{channel.value!r} takes {useful} to be of any use."
            )
            yield error(91, text, "Raise it: an hour is the default.")
    version = settings.notice_template_version
    if not has_templates(version, MessageKind.SECURITY_NOTICE):
        text = f"RESETDELIVERY['NOTICE_TEMPLATE_VERSION'] is {version!r}, of which no templates are found."
        yield error(92, text, f"Add templates/notifications/security_notice/{version}/en/, or set it to '1'.")


def _sign_in_problems(settings: Settings) -> Iterator[CheckMessage]:
    view = page_view(settings.reset_url_name)
    options = getattr(view, "view_initkwargs", {})
    of_class = getattr(getattr(view, "view_class", None), "post_reset_login", False)
    if options.get("post_reset_login", of_class):
        text = "The reset page signs in whoever used a link (post_reset_login)."
        hint = "Leave it off: OWASP asks for an ordinary sign-in after a reset, with its second factor."
        yield warning(90, text, hint)


def _report_problems() -> Iterator[CheckMessage]:
    path = django_settings.DEFAULT_EXCEPTION_REPORTER
    if django_settings.ADMINS and not issubclass(import_string(path), LinkFreeReporter):
        text = f"Error reports go to ADMINS by {path}, which shows the links of the requests that failed."
        hint = "Set DEFAULT_EXCEPTION_REPORTER to 'resetdelivery.error_reports.LinkFreeReporter'."
        yield warning(91, text, hint)
