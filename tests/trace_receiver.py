"""A collector's receiver on loopback: OTLP over HTTP, as the protocol says."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


class Receiver:
    """What was received, each span with the resource that it came from; answers ``status``."""

    def __init__(self, port: int) -> None:
        self.endpoint = f"http://127.0.0.1:{port}"
        self.status = 200
        self.octets: list[bytes] = []
        self.spans: list[tuple[dict[str, Any], Any]] = []

    def names(self) -> list[str]:
        """The spans' names, in order."""
        return [span.name for _, span in self.spans]

    def take(self, body: bytes) -> None:
        """Read one request."""
        self.octets.append(body)
        request = ExportTraceServiceRequest.FromString(body)
        for resource_spans in request.resource_spans:
            resource = {one.key: one.value.string_value for one in resource_spans.resource.attributes}
            self.spans += [(resource, span) for scope in resource_spans.scope_spans for span in scope.spans]


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Listens until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            if self.path == "/v1/traces" and found.status == 200:
                found.take(body)
            self.send_response(found.status)
            self.end_headers()
            self.wfile.write(ExportTraceServiceResponse().SerializeToString())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found = Receiver(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()
