"""Where providers send receipts; ``include()`` it at the path of ``RECEIPTS_BASE_URL``."""

from __future__ import annotations

from django.urls import path

from resetdelivery.callbacks import receipt_callback

app_name = "resetdelivery_receipts"

urlpatterns = [
    path("<slug:provider>/", receipt_callback, name="provider"),
    path("<slug:provider>/<uuid:attempt>/", receipt_callback, name="attempt"),
]
