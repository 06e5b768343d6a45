"""``python -m notifications.testing.provider``: serve until a signal comes."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from pathlib import Path

from notifications.testing.provider.server import FakeProvider


def main(arguments: list[str] | None = None) -> int:
    """Serve; the ready file is written, in one step, once both ports listen."""
    options = _parser().parse_args(arguments)
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    try:
        provider = FakeProvider(store=options.store, smtp_port=options.smtp_port, http_port=options.http_port)
    except OSError as error:
        sys.stderr.write(f"Cannot listen or open the store: {error.strerror or error}. Try port 0.\n")
        return 1
    with provider:
        if options.ready_file:
            _announce(provider, options.ready_file)
        sys.stdout.write(f"SMTP on port {provider.smtp_port}, inbox and HTTP at {provider.http_url}/\n")
        sys.stdout.flush()
        stopping.wait()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="notifications.testing.provider", description=__doc__)
    parser.add_argument("--smtp-port", type=int, default=0, help="0: any free port")
    parser.add_argument("--http-port", type=int, default=0, help="0: any free port")
    parser.add_argument("--store", default=":memory:", help="SQLite file for what was accepted")
    parser.add_argument("--ready-file", type=Path, help="JSON with the ports is written here")
    return parser


def _announce(provider: FakeProvider, ready_file: Path) -> None:
    ready = {
        "smtp_port": provider.smtp_port,
        "http_port": provider.http_port,
        "http_url": provider.http_url,
        "pid": os.getpid(),
    }
    draft = ready_file.with_name(f"{ready_file.name}.{os.getpid()}")
    draft.write_text(json.dumps(ready), encoding="utf-8")
    draft.replace(ready_file)


if __name__ == "__main__":
    sys.exit(main())
