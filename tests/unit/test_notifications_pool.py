"""Idle connections."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from notifications.pool import Lease, Pool, hung_up


class Line:
    """A connection with its other end in hand."""

    def __init__(self) -> None:
        ours, self.theirs = socket.socketpair()
        self.sock: socket.socket | None = ours

    def close(self) -> None:
        if self.sock is not None:
            self.sock.close()
        self.sock = None

    def end(self) -> None:
        self.close()
        self.theirs.close()


@pytest.fixture
def lines() -> Iterator[list[Line]]:
    made = [Line() for _ in range(3)]
    yield made
    for line in made:
        line.end()


def pool(clock: list[float], **options: int) -> Pool[Line]:
    values = {"size": 2, "max_uses": 10, **options}
    return Pool(max_idle_seconds=20.0, clock=lambda: clock[0], **values)


def lent(pool: Pool[Line]) -> Line | None:
    lease = pool.take()
    return None if lease is None else lease.connection


def test_an_empty_pool_lends_nothing() -> None:
    assert lent(pool([0.0])) is None


def test_the_last_one_in_is_the_first_one_out(lines: list[Line]) -> None:
    idle = pool([0.0])
    for line in lines[:2]:
        idle.give(Lease(connection=line))
    assert lent(idle) is lines[1]
    assert lent(idle) is lines[0]


def test_a_full_pool_closes_what_it_is_given(lines: list[Line]) -> None:
    idle = pool([0.0])
    for line in lines:
        idle.give(Lease(connection=line))
    assert [line.sock is None for line in lines] == [False, False, True]


@pytest.mark.parametrize(("seconds", "kept"), [(19.9, True), (20.0, False)])
def test_a_connection_idle_for_too_long_is_closed(lines: list[Line], seconds: float, kept: bool) -> None:
    clock = [0.0]
    idle = pool(clock)
    idle.give(Lease(connection=lines[0]))
    clock[0] = seconds
    assert (lent(idle) is lines[0]) is kept
    assert (lines[0].sock is not None) is kept


def test_a_connection_is_closed_after_its_share_of_uses(lines: list[Line]) -> None:
    idle = pool([0.0], max_uses=2)
    idle.give(Lease(connection=lines[0]))
    lease = idle.take()
    assert lease is not None
    idle.give(lease)
    assert lines[0].sock is None


def test_a_connection_that_the_other_side_closed_is_not_lent(lines: list[Line]) -> None:
    idle = pool([0.0])
    idle.give(Lease(connection=lines[0]))
    idle.give(Lease(connection=lines[1]))
    lines[1].theirs.close()
    assert lent(idle) is lines[0]
    assert lines[1].sock is None


def test_a_connection_that_speaks_unasked_is_not_lent(lines: list[Line]) -> None:
    idle = pool([0.0])
    idle.give(Lease(connection=lines[0]))
    lines[0].theirs.sendall(b"421 4.4.2 idle too long\r\n")
    assert lent(idle) is None


def test_a_closed_connection_is_not_kept(lines: list[Line]) -> None:
    idle = pool([0.0])
    lines[0].close()
    idle.give(Lease(connection=lines[0]))
    assert hung_up(lines[0])
    assert lent(idle) is None


def test_draining_hands_everything_over(lines: list[Line]) -> None:
    idle = pool([0.0])
    idle.give(Lease(connection=lines[0]))
    assert idle.drain() == [lines[0]]
    assert lent(idle) is None


def test_a_forked_process_does_not_use_its_parents_connections(
    lines: list[Line], monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = pool([0.0])
    idle.give(Lease(connection=lines[0]))
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert lent(idle) is None
