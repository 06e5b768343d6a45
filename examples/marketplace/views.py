from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_safe

from examples.marketplace import access_tokens
from examples.marketplace.forms import ForgotPasswordForm
from examples.marketplace.goods import GOODS
from resetdelivery.exceptions import AccountBusy, IdempotencyConflict, InvalidAccountRef
from resetdelivery.services import request_reset
from resetdelivery.throttles.decorators import throttled

CHANNELS = ("email", "sms")


@require_safe
@login_not_required
def home(request: HttpRequest) -> HttpResponse:
    """The front page: a few goods, and who is signed in."""
    return render(request, "marketplace/home.html", {"goods": GOODS})


# Never cached: each showing of the form has a request key of its own.
@throttled("forgot")
@never_cache
@login_not_required
@sensitive_post_parameters("email")
def forgot_password(request: HttpRequest) -> HttpResponse:
    """Ask for a reset. Whatever was typed, and whoever it belongs to, the answer is one page."""
    form = ForgotPasswordForm(request.POST or None)
    status = 200
    try:
        if form.is_valid() and admitted(form):
            return redirect("forgot_password_sent")
    except AccountBusy:
        form.add_error(None, "We could not take this just now. Please send it again in a moment.")
        status = 503
    return render(request, "marketplace/forgot_password.html", {"form": form}, status=status)


@require_safe
@login_not_required
def forgot_password_sent(request: HttpRequest) -> HttpResponse:
    """The same words for everybody."""
    return render(request, "marketplace/forgot_password_sent.html")


@sensitive_variables()
def admitted(form: ForgotPasswordForm) -> bool:
    """Ask for the reset; if what was typed can belong to no account, say so on the form."""
    submitted, key = form.cleaned_data["email"], form.cleaned_data["request_key"]
    try:
        request_reset(submitted=submitted, channels=CHANNELS, idempotency_key=key)
    except IdempotencyConflict:
        # Somebody went back and typed another address into the same page: a request of its own.
        request_reset(submitted=submitted, channels=CHANNELS)
    except InvalidAccountRef:
        form.add_error("email", "That cannot be an email address or username. Check the spelling.")
        return False
    return True


@require_safe
@never_cache
@login_not_required
@sensitive_variables()
def me(request: HttpRequest) -> JsonResponse:
    """Who an app with an access token acts for (RFC 6750); 401 where that is nobody."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    user = access_tokens.owner(token) if scheme.lower() == "bearer" else None
    if user is None:
        return JsonResponse({"error": "sign in"}, status=401, headers={"WWW-Authenticate": "Bearer"})
    return JsonResponse({"username": user.get_username()})
