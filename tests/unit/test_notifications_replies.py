"""The table of SMTP replies."""

from __future__ import annotations

import itertools

import pytest

from notifications.email.replies import RULES, Phase, classify, enhanced_code, matching_rule
from notifications.outcome import OutcomeKind, Reason

BEFORE_THE_DOT = [phase for phase in Phase if phase is not Phase.DOT]
ABOUT_THE_MESSAGE = [Phase.RCPT, Phase.DATA, Phase.DOT]
#: Nonsense, and classes of reply that no command here asks for.
NO_REFUSALS = [-1, 0, 25, 199, 300, 354, 600, 999]

TRANSIENT = OutcomeKind.TRANSIENT
PERMANENT = OutcomeKind.PERMANENT
OURS = OutcomeKind.MISCONFIGURED


@pytest.mark.parametrize(
    ("phase", "code", "enhanced", "kind", "reason"),
    [
        # The greeting and the login.
        (Phase.CONNECT, 421, "", TRANSIENT, Reason.PROVIDER_BUSY),
        (Phase.CONNECT, 554, "", OURS, Reason.POLICY_REFUSED),
        (Phase.EHLO, 550, "5.7.1", OURS, Reason.PROVIDER_ERROR),
        (Phase.TLS, 454, "4.7.0", TRANSIENT, Reason.TLS_FAILED),
        (Phase.TLS, 502, "", OURS, Reason.TLS_FAILED),
        (Phase.AUTH, 454, "4.7.0", TRANSIENT, Reason.PROVIDER_BUSY),
        (Phase.AUTH, 432, "4.7.12", OURS, Reason.AUTHENTICATION_FAILED),
        (Phase.AUTH, 535, "5.7.8", OURS, Reason.AUTHENTICATION_FAILED),
        (Phase.AUTH, 504, "5.5.4", OURS, Reason.AUTHENTICATION_FAILED),
        # The sender: nothing of the recipient was said yet.
        (Phase.MAIL, 530, "5.7.0", OURS, Reason.AUTHENTICATION_FAILED),
        (Phase.MAIL, 550, "5.1.8", OURS, Reason.SENDER_REFUSED),
        (Phase.MAIL, 553, "5.7.1", OURS, Reason.SENDER_REFUSED),
        (Phase.MAIL, 552, "5.3.4", PERMANENT, Reason.MESSAGE_TOO_LARGE),
        (Phase.MAIL, 451, "4.3.0", TRANSIENT, Reason.PROVIDER_ERROR),
        # The recipient.
        (Phase.RCPT, 450, "", TRANSIENT, Reason.MAILBOX_UNAVAILABLE),
        (Phase.RCPT, 450, "4.7.1", TRANSIENT, Reason.GREYLISTED),
        (Phase.RCPT, 451, "4.7.1", TRANSIENT, Reason.GREYLISTED),
        (Phase.RCPT, 452, "4.2.2", TRANSIENT, Reason.MAILBOX_FULL),
        (Phase.RCPT, 452, "4.5.3", TRANSIENT, Reason.PROVIDER_BUSY),
        (Phase.RCPT, 550, "", PERMANENT, Reason.RECIPIENT_REFUSED),
        (Phase.RCPT, 550, "5.1.1", PERMANENT, Reason.RECIPIENT_REFUSED),
        (Phase.RCPT, 550, "5.1.2", PERMANENT, Reason.UNROUTABLE),
        (Phase.RCPT, 550, "5.1.10", PERMANENT, Reason.UNROUTABLE),
        (Phase.RCPT, 550, "5.2.1", PERMANENT, Reason.MAILBOX_UNAVAILABLE),
        (Phase.RCPT, 550, "5.7.1", PERMANENT, Reason.POLICY_REFUSED),
        (Phase.RCPT, 551, "", PERMANENT, Reason.RECIPIENT_REFUSED),
        (Phase.RCPT, 552, "", TRANSIENT, Reason.MAILBOX_FULL),
        (Phase.RCPT, 552, "5.2.2", TRANSIENT, Reason.MAILBOX_FULL),
        (Phase.RCPT, 552, "5.3.4", PERMANENT, Reason.MESSAGE_TOO_LARGE),
        (Phase.RCPT, 553, "", PERMANENT, Reason.INVALID_DESTINATION),
        (Phase.RCPT, 501, "5.1.3", PERMANENT, Reason.INVALID_DESTINATION),
        (Phase.RCPT, 554, "5.7.1", PERMANENT, Reason.POLICY_REFUSED),
        # The message.
        (Phase.DATA, 554, "", PERMANENT, Reason.CONTENT_REFUSED),
        (Phase.DOT, 250, "2.0.0", OutcomeKind.ACCEPTED, Reason.OK),
        (Phase.DOT, 421, "", TRANSIENT, Reason.PROVIDER_BUSY),
        (Phase.DOT, 450, "4.7.28", OutcomeKind.THROTTLED, Reason.RATE_LIMITED),
        (Phase.DOT, 454, "", OutcomeKind.THROTTLED, Reason.RATE_LIMITED),
        (Phase.DOT, 550, "", PERMANENT, Reason.POLICY_REFUSED),
        (Phase.DOT, 550, "5.7.26", PERMANENT, Reason.POLICY_REFUSED),
        (Phase.DOT, 552, "", PERMANENT, Reason.MESSAGE_TOO_LARGE),
        (Phase.DOT, 552, "5.2.2", TRANSIENT, Reason.MAILBOX_FULL),
        (Phase.DOT, 554, "5.6.0", PERMANENT, Reason.CONTENT_REFUSED),
    ],
)
def test_a_reply_means_what_its_phase_and_codes_say(
    phase: Phase, code: int, enhanced: str, kind: OutcomeKind, reason: Reason
) -> None:
    assert classify(phase, code, enhanced) == (kind, reason)


@pytest.mark.parametrize("phase", Phase)
def test_no_4yz_is_ever_permanent_accepted_or_ambiguous(phase: Phase) -> None:
    kinds = {classify(phase, code)[0] for code in range(400, 500)}
    assert kinds <= {TRANSIENT, OutcomeKind.THROTTLED, OURS}


@pytest.mark.parametrize("phase", ABOUT_THE_MESSAGE)
def test_every_5yz_about_the_message_but_a_full_mailbox_is_permanent(phase: Phase) -> None:
    about_us_or_full = {530, 534, 535, 538, 552}
    kinds = {classify(phase, code)[0] for code in set(range(500, 600)) - about_us_or_full}
    assert kinds == {PERMANENT}


@pytest.mark.parametrize("phase", BEFORE_THE_DOT)
@pytest.mark.parametrize("code", NO_REFUSALS)
def test_what_is_no_refusal_before_the_dot_is_certainly_not_sent(phase: Phase, code: int) -> None:
    assert classify(phase, code) == (TRANSIENT, Reason.UNREADABLE_REPLY)


@pytest.mark.parametrize("code", NO_REFUSALS)
def test_what_is_no_answer_after_the_dot_is_ambiguous(code: int) -> None:
    assert classify(Phase.DOT, code) == (OutcomeKind.AMBIGUOUS, Reason.UNREADABLE_REPLY)


def test_every_rule_names_its_source() -> None:
    assert not [rule for rule in RULES if not rule.source]


def test_no_rule_is_hidden_behind_earlier_ones() -> None:
    """Each row is the first match of some reply, so none is dead."""
    samples = ["", *{rule.enhanced.replace("*", "9") for rule in RULES}]
    replies = itertools.product(
        Phase,
        [-1, 250, 421, 432, *range(450, 455), 499, 501, *range(530, 539), *range(550, 555), 599],
        samples,
    )
    used = {id(matching_rule(*reply)) for reply in replies}
    assert [rule for rule in RULES if id(rule) not in used] == []


@pytest.mark.parametrize(
    ("code", "text", "enhanced"),
    [
        (550, b"5.1.1 no such user", "5.1.1"),
        (550, b"5.1.1", "5.1.1"),
        (450, b"4.7.28 slow\n4.7.28 down", "4.7.28"),
        (550, b"no such user 5.1.1", ""),
        (550, b"4.7.1 contradicts its code", ""),
        (550, b"5.1.1x", ""),
        (550, b"5.1234.1 no", ""),
        (250, b"", ""),
        (-1, b"2.0.0 \xff", ""),
    ],
)
def test_the_enhanced_code_starts_the_text_and_agrees_with_the_code(
    code: int, text: bytes, enhanced: str
) -> None:
    assert enhanced_code(code, text) == enhanced
