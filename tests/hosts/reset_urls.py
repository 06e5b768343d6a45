from __future__ import annotations

from django.contrib.auth.views import PasswordResetCompleteView
from django.urls import path

from resetdelivery.views import PasswordResetConfirmView

urlpatterns = [
    path("reset/done/", PasswordResetCompleteView.as_view(), name="password_reset_complete"),
    path("reset/<uidb64>/<token>/", PasswordResetConfirmView.as_view(), name="password_reset_confirm"),
]
