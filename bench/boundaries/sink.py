"""A mail server that takes everything after a fixed time and notes when: a process of its own.

``python -m bench.boundaries.sink --answer-seconds 0.005 --ready-file F --record F``. With ``--silent``
it takes connections and says nothing. The record has a line for each acceptance: a moment of the
machine's monotonic clock, and the recipient. Loopback only; serves until a signal comes.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import time
from pathlib import Path
from typing import TextIO

from examples.demo.ports import LOOPBACK

_RECIPIENT = re.compile(rb"RCPT TO:<([^>\r\n]*)>", re.IGNORECASE)
_REPLIES = {
    b"EHLO": b"250-sink.invalid\r\n250-8BITMIME\r\n250 ENHANCEDSTATUSCODES",
    b"DATA": b"354 Go on",
    b"QUIT": b"221 2.0.0 Bye",
}
_OK = b"250 2.0.0 OK"
#: More than any message of ours.
_LARGEST = 2**20


class Sink:
    """Answers each command with a success; ``record`` is appended to line by line."""

    def __init__(self, *, answer_seconds: float, record: TextIO, silent: bool = False) -> None:
        self._answer_seconds = answer_seconds
        self._record = record
        self._silent = silent

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            if self._silent:
                await reader.read()
            else:
                await self._converse(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client went away, as it may
        finally:
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _say(writer, b"220 sink.invalid ESMTP")
        recipient = b""
        while line := await reader.readline():
            verb = line[:4].upper()
            await _say(writer, _REPLIES.get(verb, _OK))
            if verb == b"QUIT":
                return
            if found := _RECIPIENT.match(line):
                recipient = found[1]
            if verb == b"DATA":
                await reader.readuntil(b"\r\n.\r\n")
                await asyncio.sleep(self._answer_seconds)
                self._record.write(f"{time.monotonic():.6f} {recipient.decode('ascii')}\n")
                await _say(writer, _OK)


async def _say(writer: asyncio.StreamWriter, reply: bytes) -> None:
    writer.write(reply + b"\r\n")
    await writer.drain()


def acceptances(record: Path) -> dict[str, list[float]]:
    """When the sink took a message, by recipient."""
    found: dict[str, list[float]] = {}
    for line in record.read_text().splitlines():
        moment, _, recipient = line.partition(" ")
        found.setdefault(recipient, []).append(float(moment))
    return found


async def _run(options: argparse.Namespace) -> None:
    with options.record.open("a", buffering=1) as record:
        sink = Sink(answer_seconds=options.answer_seconds, record=record, silent=options.silent)
        server = await asyncio.start_server(sink.serve, LOOPBACK, 0, limit=_LARGEST, backlog=512)
        draft = options.ready_file.with_suffix(".draft")
        draft.write_text(str(server.sockets[0].getsockname()[1]))
        draft.replace(options.ready_file)
        await server.serve_forever()


def main() -> None:
    """Serve as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answer-seconds", type=float, default=0.0)
    parser.add_argument("--silent", action="store_true")
    parser.add_argument("--ready-file", type=Path, required=True)
    parser.add_argument("--record", type=Path, required=True)
    asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    main()
