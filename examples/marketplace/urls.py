from __future__ import annotations

from django.contrib.auth.views import LoginView, LogoutView, PasswordResetCompleteView
from django.contrib.staticfiles.urls import staticfiles_urlpatterns
from django.urls import path

from examples.marketplace import views
from resetdelivery.views import PasswordResetConfirmView

SIGN_IN = LoginView.as_view(template_name="marketplace/sign_in.html", redirect_authenticated_user=True)
CONFIRM = PasswordResetConfirmView.as_view(template_name="marketplace/reset_confirm.html")
COMPLETE = PasswordResetCompleteView.as_view(template_name="marketplace/reset_done.html")

urlpatterns = [
    path("", views.home, name="home"),
    path("accounts/login/", SIGN_IN, name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("accounts/forgot/", views.forgot_password, name="forgot_password"),
    path("accounts/forgot/sent/", views.forgot_password_sent, name="forgot_password_sent"),
    path("api/me/", views.me, name="me"),
    path("reset/done/", COMPLETE, name="password_reset_complete"),
    # Short, because it goes out by SMS.
    path("reset/<uidb64>/<token>/", CONFIRM, name="password_reset_confirm"),
    # With DEBUG any server can then serve the style sheet; without it this list is empty.
    *staticfiles_urlpatterns(),
]
