"""The host project's own tests: nothing of pytest is known here."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.test import TestCase

from resetdelivery.models import Delivery, ResetIntent
from resetdelivery.services import request_reset
from resetdelivery.testing import deliver_now


class ResetTests(TestCase):
    """What a member who forgot the password sees."""

    def setUp(self) -> None:
        self.member = get_user_model().objects.create_user("ada", "shared@shop.example", "old password")

    def set_password(self, link: str, password: str) -> None:
        form = self.client.get(link, follow=True).redirect_chain[-1][0]
        self.client.post(form, {"new_password1": password, "new_password2": password})

    def test_a_member_sets_a_new_password_through_the_link(self) -> None:
        request_reset(submitted="ada", channels=["email"])
        (email,) = deliver_now()
        self.set_password(email.link, "a new password")
        self.member.refresh_from_db()
        assert self.member.check_password("a new password")

    def test_a_link_works_once(self) -> None:
        request_reset(submitted="ada", channels=["email"])
        (email,) = deliver_now()
        self.set_password(email.link, "a new password")
        assert not self.client.get(email.link, follow=True).context["validlink"]

    def test_the_reference_of_an_account_is_its_uuid(self) -> None:
        request_reset(account_ref=str(self.member.pk), channels=["email"])
        assert [one.to for one in deliver_now()] == ["shared@shop.example"]

    def test_members_without_a_phone_get_no_sms(self) -> None:
        request_reset(submitted="ada", channels=["email", "sms"])
        assert [one.channel for one in deliver_now()] == ["email"]
        assert Delivery.objects.get(channel="sms").reason == "no_destination"

    def test_two_members_who_share_an_address_each_get_their_own_link(self) -> None:
        other = get_user_model().objects.create_user("eve", "shared@shop.example", "old password")
        request_reset(submitted="Shared@Shop.Example", channels=["email"])
        links = {one.link for one in deliver_now()}
        assert len(links) == 2
        for link, password in zip(sorted(links), ("first password", "second password"), strict=True):
            self.set_password(link, password)
        changed = set()
        for member in (self.member, other):
            member.refresh_from_db()
            changed |= {p for p in ("first password", "second password") if member.check_password(p)}
        assert changed == {"first password", "second password"}

    def test_keys_of_our_tables_are_big_whatever_the_projects_default(self) -> None:
        assert ResetIntent._meta.pk.get_internal_type() == "BigAutoField"
