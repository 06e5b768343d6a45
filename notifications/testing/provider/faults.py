"""Scripted faults: what goes wrong next, how often, and at which point."""

from __future__ import annotations

import enum
import threading
from collections.abc import Mapping
from dataclasses import dataclass, fields

#: A ceiling for everything that waits, so that a forgotten release ends some time.
WAIT_CEILING_SECONDS = 60.0


class Behaviour(enum.StrEnum):
    """What happens instead of the usual answer, at the fault's phase."""

    #: Reset the connection as soon as it is made (phase ``connect``).
    REFUSE = "refuse"
    #: Answer with ``code`` (and ``text``, or the provider's ``error`` or ``name``) without accepting.
    REPLY = "reply"
    #: HTTP 429 with ``Retry-After: seconds``, or SMTP ``454 4.7.28``.
    THROTTLE = "throttle"
    #: Say nothing more, until the release.
    HANG = "hang"
    #: Close the connection instead of answering.
    DROP = "drop"
    #: Answer as usual, one byte every ``seconds``.
    DRIP = "drip"
    #: Answer with a success that cannot be read.
    GARBAGE = "garbage"
    #: HTTP ``code`` (500) after reading the body.
    ERROR = "error"
    #: Answer as usual, after the release.
    HOLD = "hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault.

    ``channel`` is ``email`` or ``sms``. ``phase`` is for SMTP one of connect, ehlo, starttls,
    auth, mail, rcpt, data, dot, rset; for HTTP connect (of ``sms``) or submit; empty means dot or
    submit. ``error`` is a provider's number for what is wrong (Twilio's code, the status of
    Vonage's part, Postmark's code), ``name`` its word (AWS's error, perhaps with ``/Reason``; the
    generic form's reason).
    ``count`` is how many times (0: for ever). ``record`` says whether the submission counts as
    accepted all the same, where the phase is the last one; it does by default for hold, drip,
    hang, drop, garbage and error, and never for reply and throttle.
    """

    channel: str
    behaviour: Behaviour
    phase: str = ""
    count: int = 1
    code: int = 0
    error: int = 0
    name: str = ""
    text: str = ""
    seconds: float = 0.0
    record: bool = True

    @property
    def records(self) -> bool:
        """Whether a submission that meets this fault at the end is kept."""
        return self.record and self.behaviour not in (Behaviour.REPLY, Behaviour.THROTTLE)

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Fault:
        """A fault from a control request. Raises ``ValueError`` naming what is wrong."""
        known = {field.name for field in fields(cls)}
        if unknown := set(value) - known:
            raise ValueError(
                f"Unknown fields: {', '.join(sorted(unknown))}. Known: {', '.join(sorted(known))}."
            )
        try:
            return cls(**{**value, "behaviour": Behaviour(str(value.get("behaviour")))})  # type: ignore[arg-type]  # as strict as a test's own script needs
        except TypeError:
            raise ValueError("A fault needs a channel and a behaviour.") from None


class Faults:
    """The script: the first fault that fits a moment is used up; safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._script: list[tuple[Fault, int]] = []
        self._releases = 0
        self._waiting = 0
        self._closed = False

    def add(self, fault: Fault) -> None:
        """Append to the script."""
        phase = fault.phase or ("dot" if fault.channel == "email" else "submit")
        if fault.behaviour is Behaviour.REFUSE:
            phase = "connect"
        with self._lock:
            self._script.append((_with_phase(fault, phase), fault.count))

    def take(self, channel: str, phase: str) -> Fault | None:
        """The fault for this moment, used up once."""
        with self._lock:
            for index, (fault, left) in enumerate(self._script):
                if (fault.channel, fault.phase) == (channel, phase):
                    if left == 1:
                        del self._script[index]
                    else:
                        self._script[index] = (fault, max(left - 1, 0))
                    return fault
        return None

    def wait(self) -> None:
        """Block until the next :meth:`release`, or the end."""
        with self._lock:
            before = self._releases
            self._waiting += 1
            self._lock.notify_all()
            self._lock.wait_for(lambda: self._releases > before or self._closed, WAIT_CEILING_SECONDS)
            self._waiting -= 1

    def wait_until_someone_waits(self, ceiling_seconds: float = 10.0) -> bool:
        """Block until a fault holds or hangs; false if none did within the ceiling."""
        with self._lock:
            return self._lock.wait_for(lambda: self._waiting > 0, ceiling_seconds)

    def pause(self, seconds: float) -> None:
        """Let ``seconds`` go by, or less if the provider ends."""
        with self._lock:
            self._lock.wait_for(lambda: self._closed, seconds)

    def release(self) -> None:
        """Let everything that holds or hangs go on."""
        with self._lock:
            self._releases += 1
            self._lock.notify_all()

    def clear(self) -> None:
        """Forget the script and release what waits."""
        with self._lock:
            self._script.clear()
        self.release()

    def close(self) -> None:
        """The end: nothing waits any more."""
        with self._lock:
            self._closed = True
            self._script.clear()
            self._lock.notify_all()


def _with_phase(fault: Fault, phase: str) -> Fault:
    values = {field.name: getattr(fault, field.name) for field in fields(fault)}
    return Fault(**{**values, "phase": phase})
