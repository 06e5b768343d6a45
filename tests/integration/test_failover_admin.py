from __future__ import annotations

from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from resetdelivery.models import ProviderCircuit


def test_on_call_sees_which_providers_are_out_and_changes_nothing(db: None, client: Client) -> None:
    row = ProviderCircuit.objects.create(channel="sms", provider="main", outages=4, reason="connect_failed")
    client.force_login(get_user_model().objects.create_superuser("ops", "ops@shop.example", "pw"))
    listed = client.get(reverse("admin:resetdelivery_providercircuit_changelist"))
    shown = client.get(reverse("admin:resetdelivery_providercircuit_change", args=[row.pk]))
    assert "connect_failed" in listed.content.decode()
    assert "main" in shown.content.decode()
    assert client.get(reverse("admin:resetdelivery_providercircuit_add")).status_code == 403
    deleting = client.post(reverse("admin:resetdelivery_providercircuit_delete", args=[row.pk]))
    assert deleting.status_code == 403
