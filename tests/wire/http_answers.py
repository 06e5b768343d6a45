"""What a server like Twilio's says, as bytes."""

from __future__ import annotations

SID_BODY = b'{"sid": "SM0123456789abcdef0123456789abcdef", "status": "queued"}'


def created(extra: bytes = b"", body: bytes = SID_BODY) -> bytes:
    """A 201 with ``body``; ``extra`` are header lines with their line ends."""
    return b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\n%s\r\n%s" % (len(body), extra, body)
