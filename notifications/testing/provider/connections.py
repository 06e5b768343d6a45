"""Ways of treating a connection badly."""

from __future__ import annotations

import socket
import struct
from io import BufferedIOBase

from notifications.testing.provider.faults import Faults


class Replier:
    """Writes replies; a peer that has gone away is none of our business."""

    def __init__(self, stream: BufferedIOBase, faults: Faults) -> None:
        self._stream = stream
        self._faults = faults

    def write(self, reply: bytes, *, drip_seconds: float = 0.0) -> None:
        """Write at once, or a byte every ``drip_seconds``."""
        try:
            if not drip_seconds:
                self._stream.write(reply)
                self._stream.flush()
                return
            for octet in reply:
                self._stream.write(bytes([octet]))
                self._stream.flush()
                self._faults.pause(drip_seconds)
        except OSError:
            return


def reset(sock: socket.socket) -> None:
    """Close with RST instead of FIN: what a refusing or dying host does."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
