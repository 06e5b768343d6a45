from __future__ import annotations

import io
import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from notifications.channels import Channel
from notifications.outcome import Outcome
from notifications.testing import ScriptedTransport
from resetdelivery.clock import database_now
from resetdelivery.conf import get_settings
from resetdelivery.delivery import deliver
from resetdelivery.domain.states import FINISHED_STATES
from resetdelivery.models import Attempt, Delivery, ResetIntent
from resetdelivery.recovery import expire_overdue, sweep
from resetdelivery.services import cancel_resets, explain, request_reset
from resetdelivery.timeline.answers import lasting
from resetdelivery.timeline.words import WORDS
from tests.conftest import UseTransport, age, the_delivery
from tests.later_words import ask_in_turn, attempt_of, hear
from tests.steps import BUSY, CUT, REFUSED, answer, pause, record, store, take

pytestmark = pytest.mark.django_db

#: An end without an answer of its own: whatever ends it, its code is told.
NOT_SENT = sorted(FINISHED_STATES - {"accepted", "delivered"})


def ask(account: Any, *channels: str) -> ResetIntent:
    admission = request_reset(account_ref=str(account.pk), channels=list(channels) or ["email"])
    return ResetIntent.objects.get(reference=admission.reference)


def told(intent: ResetIntent) -> list[str]:
    """The answers of an intent as stored now."""
    return [one.text for one in explain(intent.reference).answers]


def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("explain", *arguments, stdout=out)
    return out.getvalue()


def script(use_transport: UseTransport, *outcomes: Outcome) -> None:
    use_transport(Channel.EMAIL, ScriptedTransport(outcomes=list(outcomes)))


# Answers.


def test_what_was_sent_says_after_how_many_attempts(account: Any, use_transport: UseTransport) -> None:
    script(use_transport, BUSY)
    intent = ask(account)
    deliver(Channel.EMAIL)
    deliver(Channel.EMAIL)
    assert told(intent) == [
        "Sent by email after 2 attempts. The provider accepted it; no receipt says that it arrived."
    ]


def test_what_arrived_says_who_says_so(account: Any, email: ScriptedTransport) -> None:
    intent = ask(account)
    deliver(Channel.EMAIL)
    hear(attempt_of(), "delivered")
    assert told(intent) == ["Delivered by email after 1 attempt: the provider says that it arrived."]


def test_what_was_sent_and_bounced_is_not_told_as_not_sent(account: Any, email: ScriptedTransport) -> None:
    intent = ask(account)
    deliver(Channel.EMAIL)
    hear(attempt_of(), "failed")
    assert told(intent) == [
        "Sent by email after 1 attempt, and it did not arrive: the mailbox is full (mailbox_full)."
    ]


def test_what_was_refused_says_so(account: Any, use_transport: UseTransport) -> None:
    script(use_transport, REFUSED)
    intent = ask(account)
    deliver(Channel.EMAIL)
    assert told(intent) == [
        "Not sent by email after 1 attempt: the recipient was refused (recipient_refused)."
    ]


def test_an_account_that_changed_after_the_request_is_told(account: Any, email: ScriptedTransport) -> None:
    intent = ask(account)
    account.set_password("another one")
    account.save()
    deliver(Channel.EMAIL)
    assert told(intent) == ["Not sent by email: the account changed after the request (account_changed)."]


def test_each_channel_has_its_answer_in_its_order(account: Any, email: ScriptedTransport) -> None:
    intent = ask_in_turn(account, "email", "sms")
    deliver(Channel.EMAIL)
    hear(attempt_of(), "delivered")
    assert told(intent) == [
        "Delivered by email after 1 attempt: the provider says that it arrived.",
        "Not sent by sms: another channel was enough (not_needed).",
    ]


def test_what_an_ambiguous_attempt_may_have_sent_is_not_told_as_not_sent(account: Any) -> None:
    intent = ask(account)
    marked = record(take())
    cancel_resets(account_ref=str(account.pk))
    answer(marked, CUT)
    assert told(intent) == [
        "Perhaps sent by email after 1 attempt, the provider may have it. It ended there: it was "
        "withdrawn, by the shop or by an operator (withdrawn). The last attempt: the connection broke "
        "when the provider may have had the message (disconnected_after_submit)."
    ]


def test_attempts_that_are_used_up_are_told_with_what_the_last_one_met(account: Any) -> None:
    (row,) = store(overdue=5, attempts=7)
    answer(record(take()), BUSY)
    assert told(row.intent) == [
        "Not sent by email after 1 attempt: all its attempts were used up (attempts_used_up). "
        "The last attempt: the provider was busy (provider_busy)."
    ]


def test_what_expired_unseen_says_that_no_worker_came_and_why(account: Any) -> None:
    intent = ask(account)
    Delivery.objects.update(first_hint="failed")
    age(3600)
    expire_overdue()
    assert told(intent) == [
        "Not sent by email: too little of its lifetime was left to be of use (no_useful_time_left). "
        "No worker ever took it. Its hint was not published, as the broker did not take it (failed)."
    ]


def test_claims_that_no_attempt_came_of_are_told(account: Any) -> None:
    (row,) = store(overdue=5)
    for _ in range(3):
        take(lease=1)
        age(5)
        sweep()
    assert told(row.intent) == [
        "Not sent yet by email: it is due again, as the worker that held it did not come back "
        "(lease_ran_out). Workers took it 3 times, and 3 times no attempt came of it: they gave it back, "
        "ended it or died."
    ]


def test_what_waits_in_a_paused_channel_says_that_it_is_paused(account: Any) -> None:
    intent = ask(account)
    pause()
    assert told(intent) == [
        "Not sent yet by email: it is due. No worker ever took it. The channel is paused and sends nothing."
    ]


def test_a_paused_channel_explains_nothing_that_ended_before(account: Any, email: ScriptedTransport) -> None:
    intent = ask(account)
    deliver(Channel.EMAIL)
    pause()
    assert "paused" not in " ".join(told(intent))


def test_what_a_worker_holds_is_told_as_under_way(account: Any) -> None:
    intent = ask(account)
    claimed = take()
    assert told(intent) == ["Not sent yet by email: a worker has taken it."]
    record(claimed)
    assert told(intent) == ["Just being sent by email: attempt 1 is under way."]


@pytest.mark.parametrize("code", sorted(WORDS))
@pytest.mark.parametrize("state", NOT_SENT)
def test_whatever_code_ends_a_delivery_is_in_its_answer(state: str, code: str) -> None:
    (row,) = store(state=state, reason=code, finished_at=database_now(connection))
    (text,) = told(row.intent)
    assert text.startswith(f"Not sent by email: {WORDS[code]} ({code}).")


# Data that is gone.


def test_deleted_attempts_are_told_as_deleted(account: Any, email: ScriptedTransport) -> None:
    intent = ask(account)
    deliver(Channel.EMAIL)
    Attempt.objects.all().delete()
    (text,) = told(intent)
    assert text.startswith("Sent by email after 1 attempt.")
    assert text.endswith("Its attempts are deleted: they are kept for 7 days.")


def test_a_scrubbed_account_is_told_as_deleted(account: Any, email: ScriptedTransport) -> None:
    intent = ask(account)
    deliver(Channel.EMAIL)
    now = database_now(connection)
    ResetIntent.objects.update(account_ref="", account_digest="", scrubbed_at=now)
    last = explain(intent.reference).events[-1]
    assert (last.at, last.text) == (now, "the account's reference was deleted")


@pytest.mark.parametrize("first_hint", ["published", "suppressed", "failed"])
def test_what_became_of_the_first_hint_is_a_step(account: Any, first_hint: str) -> None:
    intent = ask(account)
    Delivery.objects.update(first_hint=first_hint)
    steps = [event.text for event in explain(intent.reference).events]
    assert {"published": "hint published", "suppressed": "hint left out", "failed": "hint failed"}[
        first_hint
    ] in steps[1]


def test_an_attempt_says_how_long_after_its_claim_it_began(account: Any, email: ScriptedTransport) -> None:
    intent = ask(account)
    deliver(Channel.EMAIL)
    attempt = attempt_of()
    Attempt.objects.update(claimed_at=attempt.started_at)
    steps = [event.text for event in explain(intent.reference).events]
    assert [step for step in steps if step.endswith(", 0.000 s after a worker took it")]


# The command.


def test_the_command_answers_first_and_then_tells_the_steps(account: Any, email: ScriptedTransport) -> None:
    intent = ask(account)
    deliver(Channel.EMAIL)
    lines = command(str(intent.reference)).splitlines()
    assert lines[0].startswith("Sent by email after 1 attempt.")
    assert lines[1:3] == ["", f"intent {intent.reference} (closed)"]
    assert lines[3].endswith("requested")


def test_a_delivery_and_an_attempt_lead_to_their_intent(account: Any, email: ScriptedTransport) -> None:
    intent = ask(account)
    deliver(Channel.EMAIL)
    wanted = command(str(intent.reference))
    assert command(str(the_delivery().reference)) == wanted
    assert command(str(attempt_of().reference)) == wanted
    assert command("--latest") == wanted


def test_the_command_tells_programs_the_codes(account: Any, use_transport: UseTransport) -> None:
    script(use_transport, REFUSED)
    intent = ask(account)
    deliver(Channel.EMAIL)
    found = json.loads(command(str(intent.reference), "--json"))
    assert found["reference"] == str(intent.reference)
    (one,) = found["answers"]
    assert (one["channel"], one["state"], one["reason"]) == ("email", "failed", "recipient_refused")
    assert found["events"][0]["text"] == "requested"


def test_an_unknown_reference_is_said_to_be_unknown_and_for_how_long_things_are_kept(account: Any) -> None:
    decoys = lasting(get_settings().keep_decoys)
    with pytest.raises(CommandError, match=f"kept for 30 days after their end, those .* for {decoys}, "):
        command(str(uuid.uuid4()))


def test_what_is_no_reference_is_not_repeated(account: Any) -> None:
    with pytest.raises(CommandError, match=r"this is none \(17 characters\)") as raised:
        command("anna@shop.example")
    assert "anna" not in str(raised.value)


def test_nothing_named_is_an_error(account: Any) -> None:
    with pytest.raises(CommandError, match="--latest"):
        command()


# The admin's page.


def test_the_admins_page_begins_with_the_answers(
    client: Client, make_account: Callable[..., Any], account: Any, email: ScriptedTransport
) -> None:
    intent = ask(account, "email", "sms")
    deliver(Channel.EMAIL)
    client.force_login(make_account(is_staff=True, is_superuser=True))
    page = client.get(reverse("admin:resetdelivery_resetintent_change", args=[intent.reference]))
    text = page.content.decode()
    assert all(f"<li>{answer}</li>" in text for answer in told(intent))
    assert text.index("Was it sent?") < text.index("Template version") < text.index("timeline-heading")


def test_the_admins_page_says_that_an_account_was_scrubbed(
    client: Client, make_account: Callable[..., Any], account: Any
) -> None:
    intent = ask(account)
    ResetIntent.objects.update(account_ref="", scrubbed_at=database_now(connection))
    client.force_login(make_account(is_staff=True, is_superuser=True))
    page = client.get(reverse("admin:resetdelivery_resetintent_change", args=[intent.reference]))
    assert "length 0" not in page.content.decode()
