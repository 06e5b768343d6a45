"""The page behind the link: Django's own view, with our tokens, under a row lock."""

from __future__ import annotations

import datetime as dt
import functools
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.views import PasswordResetConfirmView as DjangoPasswordResetConfirmView
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import DatabaseError, router, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.decorators import method_decorator
from django.utils.http import urlsafe_base64_decode
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables

from resetdelivery.after_reset import run_hooks
from resetdelivery.csp import PAGE_POLICY, Policy
from resetdelivery.directory import DjangoUserDirectory, get_directory
from resetdelivery.domain.gcra import Rate
from resetdelivery.exceptions import ResetDeliveryError, without_text
from resetdelivery.legacy_links import TokenGenerator, with_legacy_links
from resetdelivery.links import ResetTokenGenerator
from resetdelivery.logs import get_logger
from resetdelivery.page_headers import harden, name_hidden_origin, referrer_policy
from resetdelivery.services import notify_password_changed
from resetdelivery.telemetry import traces
from resetdelivery.throttles.callers import wait_seconds
from resetdelivery.throttles.conversion import note_used
from resetdelivery.throttles.decorators import too_many_requests
from resetdelivery.throttles.meters import take

if TYPE_CHECKING:
    from django.contrib.auth.models import _User

log = get_logger("resetdelivery.views")

#: Methods that change nothing (RFC 9110, 9.2.1): mail scanners and link previews use them.
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

#: Links of one account that did not work: NIST SP 800-63B-4, 3.2.2, allows a hundred in a row.
FAILURES = Rate(limit=100, period=dt.timedelta(hours=1))


class _NotChanged(Exception):
    """What belongs to a new password failed, and the transaction must not commit."""


# Django marks its own dispatch so; an override has to say it again for LoginRequiredMiddleware.
# The CSRF check is not left out: dispatch makes it, after it has looked for a hidden origin.
@method_decorator([login_not_required, csrf_exempt], name="dispatch")
class PasswordResetConfirmView(DjangoPasswordResetConfirmView):
    """Sets a new password for whoever holds a live link; mounted with ``uidb64`` and ``token``.

    Two uses of one link at once give one success: whatever is not a safe method runs in one
    transaction, with the account's row locked before the token is checked. Looking at the page
    consumes nothing. In the same transaction run the hooks of ``AFTER_RESET``, and a notice is
    stored for every contact point of the account; if one of these fails the password stays as it was.

    A directory that is no ``DjangoUserDirectory`` needs ``as_view(token_generator=...)``, and an
    override of :meth:`account_ref` where its references are not primary keys. While
    ``LEGACY_TOKEN_GENERATOR`` is set, the page accepts the existing sender's links as well.
    """

    token_generator: TokenGenerator | None = None
    #: A page that has more to load than its own style sheet and pictures says so here.
    content_security_policy: Policy = PAGE_POLICY
    #: Shown on the form when the new password could not be kept.
    not_changed = _("Your password has not been changed. Please try again in a moment.")

    @method_decorator(sensitive_post_parameters())
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Django's, throttled, and checked for its form's origin; with headers of its own on every answer."""
        name_hidden_origin(request)
        wait = wait_seconds(request, purpose="confirm")
        if wait:
            response: HttpResponseBase = too_many_requests(request, wait)
        else:
            response = csrf_protect(self._answer)(request, *args, **kwargs)
        in_address = kwargs["token"] != self.reset_url_token
        harden(response, self.content_security_policy, referrer_policy(request, response, in_address))
        return response

    @sensitive_variables()
    def _answer(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Django's dispatch; in one transaction, with all that belongs to it, unless the method is safe."""
        # The directory's own unless there is another, so that making and checking cannot differ.
        self.token_generator = with_legacy_links(self.token_generator or directory_token_generator())
        try:
            if request.method in SAFE_METHODS:
                response = super().dispatch(request, *args, **kwargs)
            else:
                with transaction.atomic(using=_users_database()):
                    response = super().dispatch(request, *args, **kwargs)
        except _NotChanged:
            return self._try_again()
        is_refused = response.status_code == 200 and not self.validlink
        if is_refused:
            traces.stale_token()
        wait = self._seconds_after_failure(kwargs["uidb64"]) if is_refused else 0.0
        return too_many_requests(request, wait) if wait else response

    def get_user(self, uidb64: str) -> _User | None:
        """The account, locked and read again for a method that is not safe."""
        user = super().get_user(uidb64)
        if user is None or self.request.method in SAFE_METHODS:
            return user
        return locked(user)

    @sensitive_variables()
    def form_valid(self, form: SetPasswordForm[Any]) -> HttpResponse:
        """Set the password and do what belongs to it; nobody is signed in."""
        response = super().form_valid(form)
        self._form = form
        try:
            self._complete(without_text(self.account_ref, form.user))
        except (ResetDeliveryError, DatabaseError) as error:
            # The text may name the account or repeat a row.
            log.error("reset_undone", error_class=type(error).__name__)
        else:
            return response
        raise _NotChanged

    def account_ref(self, user: _User) -> str:
        """``user`` as the account directory names it."""
        return str(user.pk)

    @sensitive_variables()
    def _complete(self, account_ref: str) -> None:
        using = _users_database()
        run_hooks(account_ref=account_ref, using=using)
        notify_password_changed(account_ref=account_ref)
        phone = without_text(_phone, account_ref)
        transaction.on_commit(functools.partial(note_used, phone), using=using, robust=True)

    def _try_again(self) -> HttpResponse:
        """The form again. The session keeps the token, as Django stores no session with a 5xx."""
        self._form.add_error(None, str(self.not_changed))
        return self.render_to_response(
            self.get_context_data(form=self._form), status=503, headers={"Retry-After": "5"}
        )

    def _seconds_after_failure(self, uidb64: str) -> float:
        """Note that a link did not work; how long to wait if too many of that account did not.

        A link that works is never refused: 128 bits are not guessed, but anybody could lock somebody
        else out of their reset by asking for a hundred wrong ones.
        """
        return take("failed-link", _named(uidb64), rate=FAILURES)


def locked(user: _User) -> _User | None:
    """``user`` as its row is once nobody else holds it, locked until the transaction ends.

    Of a model that inherits from another model the rows of both are locked. ``None`` if it is gone.
    SQLite has no row locks; there the transaction itself is IMMEDIATE.
    """
    model = type(user)
    using = router.db_for_write(model)
    # By no manager of the project's: one may join what PostgreSQL cannot lock (outer joins, groups).
    QuerySet(model, using=using).select_for_update().filter(pk=user.pk).first()
    # Asked anew: who waited in the first statement may have been given what was there before.
    return model._default_manager.using(using).filter(pk=user.pk).first()


@sensitive_variables()
def _phone(account_ref: str) -> str | None:
    account = get_directory().get_many({account_ref}).get(account_ref)
    return account.phone if account else None


@sensitive_variables()
def _named(uidb64: str) -> str:
    """The account that ``uidb64`` names, in one spelling for all of its own, whether there is one or not.

    Read as Django's page reads it. What names nothing that could be a key stands for itself.
    """
    try:
        octets = urlsafe_base64_decode(uidb64)
    except ValueError:
        return uidb64
    try:
        return str(get_user_model()._meta.pk.to_python(octets.decode()))
    except (ValidationError, TypeError, ValueError, OverflowError):
        return octets.hex()


def directory_token_generator() -> ResetTokenGenerator:
    """The configured directory's token generator; ``ImproperlyConfigured`` if it has none."""
    directory = get_directory()
    if isinstance(directory, DjangoUserDirectory):
        return directory.token_generator
    raise ImproperlyConfigured(
        f"RESETDELIVERY['DIRECTORY'] is a {type(directory).__name__}, which has no token generator for "
        "this page. Pass one: PasswordResetConfirmView.as_view(token_generator=...)."
    )


def _users_database() -> str:
    return router.db_for_write(get_user_model())
