"""The page behind the link: Django's own view, with our tokens, under a row lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import PasswordResetConfirmView as DjangoPasswordResetConfirmView
from django.core.exceptions import ImproperlyConfigured
from django.db import router, transaction
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import method_decorator

from resetdelivery.directory import DjangoUserDirectory, get_directory
from resetdelivery.links import ResetTokenGenerator

if TYPE_CHECKING:
    from django.contrib.auth.models import _User

#: Methods that change nothing (RFC 9110, 9.2.1): mail scanners and link previews use them.
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


# Django marks its own dispatch so; an override has to say it again for LoginRequiredMiddleware.
@method_decorator(login_not_required, name="dispatch")
class PasswordResetConfirmView(DjangoPasswordResetConfirmView):
    """Sets a new password for whoever holds a live link; mounted with ``uidb64`` and ``token``.

    Two uses of one link at once give one success: whatever is not a safe method runs in one
    transaction, with the account's row locked before the token is checked. Looking at the page
    consumes nothing. A directory that is no ``DjangoUserDirectory`` needs
    ``as_view(token_generator=...)``.
    """

    token_generator: ResetTokenGenerator | None = None

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Take the directory's own token generator, so that making and checking cannot differ."""
        super().setup(request, *args, **kwargs)
        if self.token_generator is None:
            self.token_generator = directory_token_generator()

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Django's, in a transaction unless the method is safe; not cached, indexed or told elsewhere."""
        if request.method in SAFE_METHODS:
            response = super().dispatch(request, *args, **kwargs)
        else:
            with transaction.atomic(using=router.db_for_write(get_user_model())):
                response = super().dispatch(request, *args, **kwargs)
        response["Referrer-Policy"] = referrer_policy(response)
        response["X-Robots-Tag"] = "noindex"
        return response

    def get_user(self, uidb64: str) -> _User | None:
        """The account, locked and read again for a method that is not safe."""
        user = super().get_user(uidb64)
        if user is None or self.request.method in SAFE_METHODS:
            return user
        return locked(user)


def referrer_policy(response: HttpResponseBase) -> str:
    """Nothing at all from the address that has the token; nothing to other sites from a page.

    Not ``no-referrer`` on a page: a browser then sends ``Origin: null`` with its forms (Fetch
    standard, "append a request Origin header"), which Django's CSRF check refuses.
    """
    return "no-referrer" if 300 <= response.status_code < 400 else "same-origin"


def locked(user: _User) -> _User | None:
    """``user`` as its row is once nobody else holds it, locked until the transaction ends.

    ``None`` if it is gone. SQLite has no row locks; there the transaction itself is IMMEDIATE.
    """
    model = type(user)
    rows = model._default_manager.using(router.db_for_write(model))
    return rows.select_for_update(of=("self",)).filter(pk=user.pk).first()


def directory_token_generator() -> ResetTokenGenerator:
    """The configured directory's token generator; ``ImproperlyConfigured`` if it has none."""
    directory = get_directory()
    if isinstance(directory, DjangoUserDirectory):
        return directory.token_generator
    raise ImproperlyConfigured(
        f"RESETDELIVERY['DIRECTORY'] is a {type(directory).__name__}, which has no token generator for "
        "this page. Pass one: PasswordResetConfirmView.as_view(token_generator=...)."
    )
