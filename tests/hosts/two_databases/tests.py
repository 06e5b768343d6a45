from __future__ import annotations

from django.contrib.auth import get_user_model
from django.test import TestCase

from resetdelivery.models import ResetIntent
from resetdelivery.services import cancel_resets, explain, request_reset
from resetdelivery.testing import deliver_now


class OtherDatabaseTests(TestCase):
    """Resets under ``using="resets"``, accounts in the default database."""

    databases = {"default", "resets"}

    def setUp(self) -> None:
        user = get_user_model().objects.create_user("ada", "ada@shop.example", "old password")
        self.account = str(user.pk)

    def test_a_reset_is_kept_and_delivered_in_the_database_asked_for(self) -> None:
        request_reset(account_ref=self.account, channels=["email"], using="resets")
        assert deliver_now() == []
        (email,) = deliver_now(using="resets")
        assert email.to == "ada@shop.example"
        assert not ResetIntent.objects.exists()

    def test_it_is_explained_and_withdrawn_there(self) -> None:
        admission = request_reset(account_ref=self.account, channels=["email"], using="resets")
        assert cancel_resets(account_ref=self.account, using="resets") == 1
        texts = [event.text for event in explain(admission.reference, using="resets").events]
        assert "asked to stop: withdrawn" in texts

    def test_the_hint_waits_for_the_commit_of_that_database(self) -> None:
        with (
            self.captureOnCommitCallbacks(using="default") as elsewhere,
            self.captureOnCommitCallbacks(using="resets") as there,
        ):
            request_reset(account_ref=self.account, channels=["email"], using="resets")
        assert (len(elsewhere), len(there)) == (0, 1)
