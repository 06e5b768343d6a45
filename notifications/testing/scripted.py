"""A transport that records what it is given and answers from a script."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import ClassVar

from notifications.deadline import Deadline
from notifications.message import Message
from notifications.outcome import Outcome, OutcomeKind

_GATE_CEILING_SECONDS = 30.0


class ScriptedTransport:
    """Answers with ``outcomes`` in order, then with ACCEPTED; safe between threads.

    An exception in ``outcomes`` is raised, as a transport with a bug would. With a ``gate``, each
    submission is recorded, sets ``arrived``, and answers once the gate is set: a test holds it
    shut to act while a submission is under way. Deadlines are recorded and not obeyed.
    """

    name: ClassVar[str] = "scripted"

    def __init__(
        self, *, outcomes: Iterable[Outcome | BaseException] = (), gate: threading.Event | None = None
    ) -> None:
        self._outcomes = list(outcomes)
        self._gate = gate
        self._lock = threading.Lock()
        self._submissions: list[tuple[Message, Deadline]] = []
        self.arrived = threading.Event()
        self.closed = 0

    @property
    def messages(self) -> list[Message]:
        """What was submitted, in order of arrival."""
        with self._lock:
            return [message for message, _ in self._submissions]

    @property
    def deadlines(self) -> list[Deadline]:
        """The deadline of each submission, in the same order."""
        with self._lock:
            return [deadline for _, deadline in self._submissions]

    def submit(self, message: Message, deadline: Deadline) -> Outcome:
        """Record, wait for the gate if there is one, answer."""
        with self._lock:
            self._submissions.append((message, deadline))
            answer = self._outcomes.pop(0) if self._outcomes else Outcome(kind=OutcomeKind.ACCEPTED)
        self.arrived.set()
        if self._gate is not None and not self._gate.wait(_GATE_CEILING_SECONDS):
            raise TimeoutError("The gate of a ScriptedTransport was never opened.")
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def close(self) -> None:
        """Count the call."""
        self.closed += 1
