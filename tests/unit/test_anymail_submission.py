"""One request in two threads: which of them ends it, and whether it still may begin."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from notifications.deadline import Deadline, DeadlinePassed
from notifications.email.anymail_session import Submission
from tests.wire.samples import soon

CONNECTION: Any = SimpleNamespace(sock=None)


def test_the_later_of_two_threads_is_told_that_it_is_the_later() -> None:
    stopped_first, over_first = Submission(soon()), Submission(soon())
    assert (stopped_first.stop(), stopped_first.end()) == (False, True)
    assert (over_first.end(), over_first.stop()) == (False, True)


def test_a_stopped_request_does_not_begin() -> None:
    submission = Submission(soon())
    submission.stop()
    with pytest.raises(DeadlinePassed):
        submission.begin(CONNECTION)
    assert not submission.has_begun


def test_a_request_does_not_begin_after_the_deadline() -> None:
    submission = Submission(Deadline.after(-1))
    with pytest.raises(DeadlinePassed):
        submission.begin(CONNECTION)
    assert not submission.has_begun


def test_a_request_in_time_begins() -> None:
    submission = Submission(soon())
    submission.begin(CONNECTION)
    assert submission.has_begun
