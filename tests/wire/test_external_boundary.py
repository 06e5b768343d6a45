"""The example worker's HTTP against servers that are not the boundary."""

from __future__ import annotations

import socket

import pytest

from examples.external_worker.boundary import Boundary, TryAgain
from tests.wire.raw_server import raw_server, read_until, reply

KEY = "rd_marked_key"
EMPTY_OBJECT = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
def test_a_worker_takes_its_key_nowhere_else(status: int) -> None:
    heard: list[bytes] = []

    def listen(connection: socket.socket) -> None:
        heard.append(read_until(connection, b"\r\n\r\n"))
        connection.sendall(EMPTY_OBJECT)

    with raw_server(listen) as elsewhere:
        moved = b"HTTP/1.1 %d Moved\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n"
        with raw_server(reply(moved % (status, elsewhere), after=b"}")) as port:
            boundary = Boundary(url=f"http://127.0.0.1:{port}", key=KEY)
            with pytest.raises(TryAgain, match="not followed") as caught:
                boundary.post("claim", worker_id="w1")
    assert heard == []
    assert KEY not in repr(caught.value)


def test_an_answer_that_comes_straight_is_taken() -> None:
    with raw_server(reply(EMPTY_OBJECT, after=b"}")) as port:
        answer = Boundary(url=f"http://127.0.0.1:{port}", key=KEY).post("claim", worker_id="w1")
    assert (answer.status, answer.content) == (200, {})
