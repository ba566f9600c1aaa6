"""Spans of calls and log lines, sent over OTLP/HTTP by OpenTelemetry's SDK.

A thread of the SDK sends batches. No call waits for it: with too many waiting, new ones are dropped
and counted.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from importlib.metadata import version
from typing import TYPE_CHECKING

import orjson
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from tidegate_server.logging import json_formatter, log

if TYPE_CHECKING:
    from opentelemetry.sdk._logs import ReadableLogRecord, ReadWriteLogRecord
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Span

MOST_WAITING = 4_096
"""Spans, and likewise log lines, that wait to be sent: some 5 MB."""
AT_ONCE = 512
EVERY_MS = 2_000
SEND_SECONDS = 10.0
"""How long one batch may take, with its repetitions."""
CLOSE_SECONDS = 5.0
"""How long a stop waits for what was not sent yet."""
SILENT_SECONDS = 60.0
"""How long after a failure to send the service's log stays silent about further ones."""
_OWN = ("opentelemetry", "urllib3")
"""Loggers whose lines aren't sent: a failure to send would cause more to send."""
_SEVERITIES = {
    "debug": SeverityNumber.DEBUG,
    "info": SeverityNumber.INFO,
    "warning": SeverityNumber.WARN,
    "error": SeverityNumber.ERROR,
    "critical": SeverityNumber.FATAL,
}


class Waiting:
    """Counts what waits to be sent, and what became of it; for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.waiting = self.sent = self.dropped = 0

    def enter(self) -> bool:
        """Return whether there is room for one more; without room it is dropped."""
        with self._lock:
            has_room = self.waiting < MOST_WAITING
            self.waiting += has_room
            self.dropped += not has_room
        return has_room

    def leave(self, count: int, *, is_sent: bool) -> None:
        """Count those of a batch that was sent, or is dropped."""
        with self._lock:
            self.waiting -= count
            self.sent += count * is_sent
            self.dropped += count * (not is_sent)


class _SpanExporter(OTLPSpanExporter):
    def __init__(self, endpoint: str, headers: Mapping[str, str], waiting: Waiting) -> None:
        super().__init__(f"{endpoint}/v1/traces", headers=headers, timeout=SEND_SECONDS)
        self._waiting = waiting

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        self._waiting.leave(len(spans), is_sent=result is SpanExportResult.SUCCESS)
        return result


class _LogExporter(OTLPLogExporter):
    def __init__(self, endpoint: str, headers: Mapping[str, str], waiting: Waiting) -> None:
        super().__init__(f"{endpoint}/v1/logs", headers=headers, timeout=SEND_SECONDS)
        self._waiting = waiting

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        result = super().export(batch)
        self._waiting.leave(len(batch), is_sent=result is LogRecordExportResult.SUCCESS)
        return result


class _SpanProcessor(BatchSpanProcessor):
    def __init__(self, exporter: OTLPSpanExporter, waiting: Waiting) -> None:
        super().__init__(exporter, MOST_WAITING, EVERY_MS, AT_ONCE)
        self._waiting = waiting

    def on_end(self, span: ReadableSpan) -> None:
        if span.context is not None and span.context.trace_flags.sampled and self._waiting.enter():
            super().on_end(span)


class _LogProcessor(BatchLogRecordProcessor):
    def __init__(self, exporter: OTLPLogExporter, waiting: Waiting) -> None:
        super().__init__(exporter, EVERY_MS, AT_ONCE, max_queue_size=MOST_WAITING)
        self._waiting = waiting

    def on_emit(self, log_record: ReadWriteLogRecord) -> None:
        if self._waiting.enter():
            super().on_emit(log_record)


class CallSpan:
    """The span of one call; see :class:`~tidegate_server.telemetry.trace_context.Span`."""

    __slots__ = ("_span",)

    def __init__(self, span: Span) -> None:
        self._span = span

    @property
    def traceparent(self) -> bytes:
        """See :class:`~tidegate_server.telemetry.trace_context.Span`."""
        at = self._span.get_span_context()
        return b"00-%032x-%016x-%02x" % (at.trace_id, at.span_id, at.trace_flags)

    def end(self, status: int, decision: tuple[str, str] | None) -> None:
        """See :class:`~tidegate_server.telemetry.trace_context.Span`."""
        span = self._span
        if span.is_recording():
            span.set_attribute("http.response.status_code", status)
            if decision is not None:
                span.set_attribute("tidegate.decision.id", decision[0])
                span.set_attribute("tidegate.decision.action", decision[1])
            if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                span.set_attribute("error.type", str(status))
                span.set_status(StatusCode.ERROR)
        span.end()


class Otlp:
    """Sends spans and log lines to a receiver.

    Args:
        endpoint: address of the receiver, without the path of a signal.
        headers: sent with each request.
        ratio: the part of calls without a parent that are sampled, 0 to 1. Other calls are sampled
            if their callers' spans are.
        instance: the name of this process among those of the service.
    """

    def __init__(
        self, endpoint: str, headers: Mapping[str, str], ratio: float, instance: str
    ) -> None:
        endpoint = endpoint.rstrip("/")
        resource = Resource.create(
            {
                "service.name": "tidegate",
                "service.version": version("tidegate-server"),
                "service.instance.id": instance,
            }
        )
        self._of = {"spans": Waiting(), "logs": Waiting()}
        self._exporters = (
            _SpanExporter(endpoint, headers, self._of["spans"]),
            _LogExporter(endpoint, headers, self._of["logs"]),
        )
        sampler = ParentBased(TraceIdRatioBased(ratio))
        self._traces = TracerProvider(sampler, resource, shutdown_on_exit=False)
        self._traces.add_span_processor(_SpanProcessor(self._exporters[0], self._of["spans"]))
        self._tracer = self._traces.get_tracer("tidegate")
        self._logs = LoggerProvider(resource, shutdown_on_exit=False)
        self._logs.add_log_record_processor(_LogProcessor(self._exporters[1], self._of["logs"]))
        self._handler = _Handler(self._logs)

    def start(self) -> None:
        """Send the lines of the log from now on."""
        for exporter in self._exporters:
            logging.getLogger(type(exporter).__mro__[1].__module__).addFilter(_Seldom())
        logging.getLogger().addHandler(self._handler)

    def begin(self, method: str, route: str, traceparent: bytes | None) -> CallSpan:
        """See :class:`~tidegate_server.telemetry.trace_context.Tracer`."""
        attributes = {"http.request.method": method, "http.route": route}
        return CallSpan(
            self._tracer.start_span(
                f"{method} {route}", _context(traceparent), SpanKind.SERVER, attributes
            )
        )

    def collect(self) -> Iterator[Metric]:
        """Yield the counts as metric families."""
        waiting = GaugeMetricFamily(
            "tidegate_telemetry_waiting", "Spans and log lines to be sent.", labels=("signal",)
        )
        sent = CounterMetricFamily(
            "tidegate_telemetry_sent", "Spans and log lines that were sent.", labels=("signal",)
        )
        dropped = CounterMetricFamily(
            "tidegate_telemetry_dropped",
            "Spans and log lines that were not sent: too many waited, or nobody took them.",
            labels=("signal",),
        )
        for signal, counted in self._of.items():
            waiting.add_metric((signal,), counted.waiting)
            sent.add_metric((signal,), counted.sent)
            dropped.add_metric((signal,), counted.dropped)
        return iter((waiting, sent, dropped))

    def close(self) -> None:
        """Send what waits, for some seconds at most."""
        logging.getLogger().removeHandler(self._handler)
        until = time.monotonic() + CLOSE_SECONDS
        ends = [
            threading.Thread(target=each.shutdown, daemon=True)
            for each in (self._traces, self._logs)
        ]
        for each in ends:
            each.start()
        for each in ends:
            each.join(max(0.0, until - time.monotonic()))
        left = {signal: counted.waiting for signal, counted in self._of.items() if counted.waiting}
        if left:
            log.warning("telemetry was not sent before the stop", **left)


class _Seldom(logging.Filter):
    """Lets a line through now and then: while a receiver is away, each attempt logs one."""

    def __init__(self) -> None:
        super().__init__()
        self._next = 0.0

    def filter(self, _record: logging.LogRecord) -> bool:
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + SILENT_SECONDS
        return True


class _Handler(logging.Handler):
    """Hands lines of the log to OpenTelemetry, with secrets concealed as in the lines."""

    def __init__(self, provider: LoggerProvider) -> None:
        super().__init__()
        self.setFormatter(json_formatter())
        self.addFilter(lambda record: not record.name.startswith(_OWN))
        self._logger = provider.get_logger("tidegate")

    def emit(self, record: logging.LogRecord) -> None:
        members = orjson.loads(self.format(record))
        level, trace_id = members.pop("level", "info"), members.pop("trace_id", None)
        members.pop("timestamp", None)
        trace = None if trace_id is None else f"00-{trace_id}-{'0' * 16}-00".encode()
        self._logger.emit(
            LogRecord(
                timestamp=int(record.created * 1e9),
                context=_context(trace),
                severity_number=_SEVERITIES.get(level, SeverityNumber.INFO),
                severity_text=level.upper(),
                body=members.pop("event", ""),
                attributes=members,
            )
        )


def _context(traceparent: bytes | None) -> Context:
    """Return the context of a valid ``traceparent``; an empty one without."""
    if traceparent is None:
        return Context()
    trace_id, parent_id, flags = (int(each, 16) for each in traceparent.split(b"-")[1:])
    parent = SpanContext(trace_id, parent_id, is_remote=True, trace_flags=TraceFlags(flags))
    return set_span_in_context(NonRecordingSpan(parent), Context())
