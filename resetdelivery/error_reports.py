"""Django's error reports, by mail or on a page, without reset links.

A report shows the address, the headers and the variables of every frame: a link many times over.
"""

from __future__ import annotations

import re

from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.views.debug import ExceptionReporter

from resetdelivery.log_scrubbing import scrubbed

#: RFC 4648, section 5, without padding.
_OF_A_LINK = re.compile(r"[A-Za-z0-9_-]+")


class LinkFreeReporter(ExceptionReporter):
    """For ``DEFAULT_EXCEPTION_REPORTER``. Of a request to the reset page the account's part goes too."""

    def get_traceback_html(self) -> SafeString:
        return self._without_links(super().get_traceback_html())

    def get_traceback_text(self) -> SafeString:
        return self._without_links(super().get_traceback_text())

    def _without_links(self, report: str) -> SafeString:
        clean = scrubbed(report)
        if uid := _uid(self.request):
            clean = re.sub(rf"(?<![\w-]){uid}(?![\w-])", "[link]", clean)
        # Django escaped it; what was put in holds nothing to escape.
        return SafeString(clean)  # nosec B703


def _uid(request: HttpRequest | None) -> str:
    """The account's part of the link that ``request`` followed; empty if it is none of ours.

    Anything can stand in its place in an address. Only what base64 is made of is looked for: a run
    of such characters is compared once, where a run of others could be at each of its places.
    """
    match = getattr(request, "resolver_match", None)
    uid = str(match.kwargs.get("uidb64", "")) if match else ""
    return uid if _OF_A_LINK.fullmatch(uid) else ""
