"""A receiver of OTLP/HTTP on loopback, which reads with OpenTelemetry's messages."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import attrs
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from tests.waiting import wait_until


@attrs.frozen
class Sent:
    """A span, or a log line.

    Attributes:
        text: name of the span, or the text of the line.
        trace_id: in hexadecimal.
        parent_id: of the span, in hexadecimal.
        attributes: its own.
        resource: those of the process.
    """

    text: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: Mapping[str, Any]
    resource: Mapping[str, Any]


@attrs.define
class Receiver:
    """A running receiver, and all it has taken."""

    url: str
    spans: list[Sent] = attrs.field(factory=list)
    logs: list[Sent] = attrs.field(factory=list)
    headers: list[Mapping[str, str]] = attrs.field(factory=list)
    raw: list[bytes] = attrs.field(factory=list)

    def span(self, trace_id: str, seconds: float = 20.0) -> Sent:
        """The only span of a trace, once it is here."""
        wait_until(lambda: any(each.trace_id == trace_id for each in self.spans), seconds)
        (found,) = [each for each in self.spans if each.trace_id == trace_id]
        return found

    def line(self, is_wanted: Callable[[Sent], bool], seconds: float = 20.0) -> Sent:
        """The first log line that is wanted, once it is here."""
        wait_until(lambda: any(map(is_wanted, self.logs)), seconds)
        return next(filter(is_wanted, self.logs))

    def take(self, path: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Take a request."""
        self.headers.append(headers)
        self.raw.append(body)
        if path == "/v1/traces":
            self.spans += _spans(ExportTraceServiceRequest.FromString(body))
        elif path == "/v1/logs":
            self.logs += _logs(ExportLogsServiceRequest.FromString(body))
        else:
            raise AssertionError(path)


def _spans(request: ExportTraceServiceRequest) -> Iterator[Sent]:
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for each in scope.spans:
                yield Sent(
                    each.name,
                    each.trace_id.hex(),
                    each.span_id.hex(),
                    each.parent_span_id.hex(),
                    _values(each.attributes),
                    _values(resource.resource.attributes),
                )


def _logs(request: ExportLogsServiceRequest) -> Iterator[Sent]:
    for resource in request.resource_logs:
        for scope in resource.scope_logs:
            for each in scope.log_records:
                yield Sent(
                    each.body.string_value,
                    each.trace_id.hex(),
                    each.span_id.hex(),
                    "",
                    {**_values(each.attributes), "severity": each.severity_text},
                    _values(resource.resource.attributes),
                )


def _values(pairs: Any) -> dict[str, Any]:
    def value(found: AnyValue) -> Any:
        kind = found.WhichOneof("value")
        return None if kind is None else getattr(found, kind)

    return {each.key: value(each.value) for each in pairs}


@contextmanager
def receiving(status: int = 200) -> Iterator[Receiver]:
    """A receiver, until the block ends.

    Args:
        status: of its answers; other than 200 it takes nothing.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            if status == 200:
                made.take(self.path, body, {k.lower(): v for k, v in self.headers.items()})
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Receiver(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
