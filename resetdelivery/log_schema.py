"""What a log line of this package may hold: every event with its fields, in one place.

A field's value is a number, a truth value, a word from a closed set, or a text of a form in which no
address, number of a person, link or token fits. ``resetdelivery.logs`` lets nothing else through.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from notifications.channels import Channel
from notifications.outcome import OutcomeKind, Reason
from notifications.receipts import callback
from notifications.receipts.receipt import ReceiptVerdict
from resetdelivery.domain.limits import LimitKind
from resetdelivery.domain.reasons import ArmReason, DeliveryReason
from resetdelivery.domain.retention import PurgeStep
from resetdelivery.domain.states import DeliveryState
from resetdelivery.domain.telemetry import SEGMENT_BUCKETS
from resetdelivery.log_exceptions import STEP_FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a line: its type, and examples of what it holds at worst and usually.

    A ``str`` is one of ``words``, or has ``shape`` (a regular expression) from end to end. ``typical``
    is ``None`` where a line usually does without the field.
    """

    name: str
    type: type
    worst: object
    typical: object
    words: frozenset[str] = frozenset()
    shape: str = ""

    def admits(self, value: object) -> bool:
        """Whether ``value`` may stand in this field. An ``int`` may where a ``float`` may."""
        if self.type is float:
            return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
        if self.type is not str:
            return type(value) is self.type
        if not isinstance(value, str):
            return False
        return value in self.words if self.words else re.fullmatch(self.shape, value) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One kind of line; ``per_reset`` is how many of them one reset makes on the average."""

    name: str
    fields: tuple[Field, ...]
    per_reset: float = 0.0


def _word(name: str, words: Iterable[str], typical: str | None) -> Field:
    """A word from a closed set; the empty one of an enumeration says that there is nothing to say."""
    found = frozenset(str(word) for word in words if word)
    return Field(name=name, type=str, words=found, worst=max(found, key=len), typical=typical)


def _text(name: str, shape: str, *, worst: str, typical: str | None) -> Field:
    return Field(name=name, type=str, shape=shape, worst=worst, typical=typical)


def _count(name: str, *, worst: int = 999_999, typical: int = 3) -> Field:
    return Field(name=name, type=int, worst=worst, typical=typical)


def _seconds(name: str, *, worst: float, typical: float) -> Field:
    return Field(name=name, type=float, worst=worst, typical=typical)


def _reference(name: str) -> Field:
    """A random UUID: as pages and ``manage.py explain`` have it, so that it is found there."""
    example = "8d7c1f6e-2b1a-4c3d-9e5f-0a1b2c3d4e5f"
    return _text(name, r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", worst=example, typical=example)


def _provider(name: str, typical: str) -> Field:
    """A name from the settings, or ``api:`` and that of a client of the internal API."""
    return _text(name, r"(api:)?[a-z0-9][a-z0-9._~-]{0,31}", worst="api:" + "m" * 27, typical=typical)


def _words_of(error: type[callback.CallbackError]) -> list[str]:
    return [kind.word for kind in error.__subclasses__() for kind in (kind, *kind.__subclasses__())]


_CHANNEL = _word("channel", Channel, "email")
_ERROR_CLASS = _text(
    # A digit or two, as in Http2Error, and not so many as in a key.
    "error_class",
    r"(?=.{1,64}$)[A-Za-z_]+[0-9]{0,2}[A-Za-z_]*",
    worst="TransactionManagementError",
    typical="OperationalError",
)
_REASONS = {*Reason} - {Reason.OK}
_SMS_REFUSALS = (DeliveryReason.SMS_PREFIX_LIMIT, DeliveryReason.SMS_BUDGET_SPENT)
#: Stands in the place of an event that is not declared here: its name may have been put together.
UNDECLARED = "undeclared_event"
#: Of ``resetdelivery.receipts.RecordedReceipt``.
RECORDED = ("stored", "moved", "stale", "unknown")

_ATTEMPT = Event(
    name="attempt",
    # A second channel now and then, and now and then a retry.
    per_reset=1.3,
    fields=(
        _reference("intent"),
        _CHANNEL,
        # A channel can have several providers, and one of them be the one that fails.
        _provider("transport", "smtp"),
        _count("attempt", worst=99, typical=1),
        _word("outcome", OutcomeKind, "accepted"),
        # The three below stand only where they say more than the outcome: not on accepted attempts.
        _word("reason", _REASONS, None),
        _word("next_state", DeliveryState, None),
        Field(name="fenced_out", type=bool, worst=True, typical=None),
        _seconds("queue_delay_seconds", worst=86399.99, typical=0.15),
        _seconds("remaining_seconds", worst=86399.9, typical=599.8),
        _seconds("duration_seconds", worst=119.999, typical=0.184),
        _text("template_version", r"[A-Za-z0-9][A-Za-z0-9._-]{0,15}", worst="2026-12-31.draft", typical="1"),
        # Of text messages.
        _word("segments", SEGMENT_BUCKETS, None),
    ),
)

EVENTS: tuple[Event, ...] = (
    _ATTEMPT,
    Event(name=UNDECLARED, fields=()),
    Event(name="hint_failed", fields=(_ERROR_CLASS,)),
    Event(name="broker_unavailable", fields=(_ERROR_CLASS,)),
    Event(name="malformed_hint_dropped", fields=()),
    Event(
        name="reset_suppressed",
        fields=(_word("limit", LimitKind, "account"), _word("channel", (*Channel, "all"), "all")),
        per_reset=0.01,
    ),
    Event(name="limits_unavailable", fields=(_ERROR_CLASS,)),
    Event(name="sms_held_back", fields=(_count("count"),)),
    Event(name="sms_refused", fields=(_word("reason", _SMS_REFUSALS, "sms_prefix_limit"), _count("count"))),
    Event(
        name="sms_conversion_low",
        fields=(
            _text("region", r"[A-Z]{2}|001", worst="001", typical="DE"),
            # A range, shared with at least 9,999 other numbers.
            _text("prefix", r"[0-9]{1,7}", worst="4915112", typical="4915112"),
            _count("sent", typical=120),
            _count("used"),
        ),
    ),
    Event(name="claim_failed", fields=(_CHANNEL, _ERROR_CLASS)),
    Event(name="gate_raised", fields=(_reference("delivery"), _ERROR_CLASS)),
    Event(name="mark_failed", fields=(_provider("provider", "smtp"), _ERROR_CLASS)),
    Event(name="transport_raised", fields=(_provider("transport", "smtp"), _ERROR_CLASS)),
    Event(
        name="provider_out",
        fields=(
            _CHANNEL,
            _provider("provider", "twilio"),
            _word("reason", _REASONS, "provider_error"),
            _count("outages", worst=9999),
            _seconds("pause_seconds", worst=86399.999, typical=5.0),
        ),
    ),
    Event(name="provider_back", fields=(_CHANNEL, _provider("provider", "twilio"))),
    Event(name="fallback_armed", fields=(_CHANNEL, _word("reason", ArmReason, "failed")), per_reset=0.02),
    Event(
        name="receipt_callback",
        fields=(
            _provider("provider", "twilio"),
            _word("result", (*RECORDED, *_words_of(callback.CallbackError)), "moved"),
            _word("verdict", ReceiptVerdict, "delivered"),
            _word("reason", Reason, "ok"),
        ),
        # A provider reports several steps of one text message.
        per_reset=0.4,
    ),
    Event(name="receipt_not_stored", fields=(_provider("provider", "twilio"), _ERROR_CLASS)),
    Event(name="swept", fields=(_count("put_back"), _count("ended", typical=0), _count("hinted"))),
    Event(name="sweep_would_put_back", fields=(_count("count"),)),
    Event(name="poll_round_failed", fields=(_ERROR_CLASS,)),
    Event(name="purged", fields=(_word("step", PurgeStep, "limit_uses"), _count("count", typical=1000))),
    Event(name="purge_step_failed", fields=(_word("step", PurgeStep, "intents"), _ERROR_CLASS)),
    Event(name="purge_waits_for_rollup", fields=()),
    Event(
        name="api_failed",
        fields=(
            _text(
                "failure",
                STEP_FAILED.pattern,
                worst=f"TransactionManagementError in {'f' * 40} ({'m' * 40}.py:1234)",
                typical="OperationalError in execute (utils.py:105)",
            ),
        ),
    ),
    Event(name="reset_undone", fields=(_ERROR_CLASS,)),
    Event(name="legacy_link_check_failed", fields=(_ERROR_CLASS,)),
    Event(name="traces_not_exported", fields=(_count("count", typical=100),)),
    Event(name="trace_failed", fields=(_ERROR_CLASS,)),
    Event(name="scrape_failed", fields=(_ERROR_CLASS,)),
    Event(
        name="after_reset_failed",
        fields=(
            _text(
                "hook",
                r"[A-Za-z_]\w{0,63}(\.[A-Za-z_]\w{0,63}){1,9}",
                worst=f"{'p' * 30}.{'m' * 30}.{'f' * 30}",
                typical="shop.access_tokens.revoke",
            ),
            _ERROR_CLASS,
        ),
    ),
)


@functools.cache
def fields_of() -> Mapping[str, Mapping[str, Field]]:
    """The fields of each event, by their names."""
    return {event.name: {field.name: field for field in event.fields} for event in EVENTS}
