"""Django's error reports, by mail or on a page, without reset links.

A report shows the address, the headers and the variables of every frame: a link many times over.
"""

from __future__ import annotations

import re

from django.http import HttpRequest
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.views.debug import ExceptionReporter

from resetdelivery.log_scrubbing import scrubbed


class LinkFreeReporter(ExceptionReporter):
    """For ``DEFAULT_EXCEPTION_REPORTER``. Of a request to the reset page the account's part goes too."""

    def get_traceback_html(self) -> SafeString:
        return self._without_links(super().get_traceback_html())

    def get_traceback_text(self) -> SafeString:
        return self._without_links(super().get_traceback_text())

    def _without_links(self, report: str) -> SafeString:
        clean = scrubbed(report)
        for uid in _uids(self.request):
            clean = re.sub(rf"(?<![\w-]){re.escape(uid)}(?![\w-])", "[link]", clean)
        # Django escaped it; what was put in holds nothing to escape.
        return SafeString(clean)  # nosec B703


def _uids(request: HttpRequest | None) -> set[str]:
    """The account's part of the link that ``request`` followed, as text and as HTML."""
    match = getattr(request, "resolver_match", None)
    uid = str(match.kwargs.get("uidb64", "")) if match else ""
    return {uid, escape(uid)} - {""}
