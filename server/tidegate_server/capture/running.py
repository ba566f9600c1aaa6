"""The running capture: requests in, events out, and no traffic waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import orjson

from tidegate_server.capture import sources
from tidegate_server.capture.aggregation import Aggregation
from tidegate_server.capture.bpf import watched_ports
from tidegate_server.capture.frames import Frame, read_frame
from tidegate_server.capture.streams import Streams

if TYPE_CHECKING:
    from tidegate_server.settings.hybrid import CaptureSettings

FLUSH_SECONDS = 1.0
WAIT_SECONDS = 10.0
"""How long after the start a capture without a request says what it waits for."""


class Sends(Protocol):
    """Accepts events; False if the queue is full."""

    def send(self, event: dict[str, Any], /) -> bool: ...


@attrs.define
class Capture:
    """Reads a source and passes events on.

    Args:
        settings: the capture's settings.
        sends: the destination of events; None forwards nothing.
        saw: called with each request's address and user agent.
        parse: reads a line of an access log; raises ValueError if it can't.
        is_over: polled to end the capture.
        missing: called with the reason if an access log cannot be opened.
        waits: called once if no request comes soon after the start.
    """

    settings: CaptureSettings
    sends: Sends | None
    saw: Callable[[str, str, float], None]
    parse: Callable[[str], bytes]
    is_over: Callable[[], bool]
    missing: Callable[[str], None] = lambda _: None
    waits: Callable[[], None] = lambda: None
    seen: int = 0
    unreadable: int = 0
    forwarded: int = 0
    dropped: int = 0
    """Events dropped for lack of room."""
    frames_dropped: int = 0
    streams: Streams = attrs.field(init=False)
    aggregation: Aggregation = attrs.field(init=False)
    _flushed: float = attrs.field(factory=time.monotonic)

    @streams.default
    def _make_streams(self) -> Streams:
        ports = watched_ports(self.settings.filter)
        return Streams(ports, is_one_sided=self.settings.one_sided)

    @aggregation.default
    def _make_aggregation(self) -> Aggregation:
        return Aggregation(self.settings.per_minute)

    def run(self) -> None:
        """Read until it is over, or the source ends.

        Raises:
            FilterError: the filter is invalid.
            SourceError: the source cannot be read.
        """
        wait_until: float | None = time.monotonic() + WAIT_SECONDS
        for event in self._events():
            now = time.monotonic()
            if event is not None:
                wait_until = None
                self._take(event, now)
            elif wait_until is not None and now > wait_until:
                wait_until = None
                self.waits()
            if now - self._flushed > FLUSH_SECONDS:
                self._flushed = now
                self._flush()
        self._flush()

    def stats(self) -> dict[str, Any]:
        """Counts of the events seen, by outcome."""
        return {
            **attrs.asdict(self.streams.counts),
            "requests": self.seen,
            "forwarded": self.forwarded,
            "aggregated": self.aggregation.folded,
            "waiting": self.aggregation.waiting,
            "dropped": self.dropped + self.aggregation.dropped,
            "frames_dropped": self.frames_dropped,
            "unreadable": self.unreadable + self.streams.counts.unreadable,
        }

    def _events(self) -> Iterator[dict[str, Any] | None]:
        match self.settings.source:
            case "interface":
                yield from self._of_interface()
            case "pcap":
                for frame in sources.read_pcap(Path(self.settings.file)):
                    yield from self._of_frame(frame)
            case "access-log":
                path = Path(self.settings.file)
                lines = sources.follow(path, self.is_over, from_start=False, missing=self.missing)
                for line in lines:
                    yield None if line is None else self._of_line(line)

    def _of_interface(self) -> Iterator[dict[str, Any] | None]:
        interface = sources.Interface(self.settings.interface, self.settings.filter)
        try:
            for frame in interface.frames(self.is_over):
                if frame is None:
                    yield None
                else:
                    yield from self._of_frame(frame)
            self.frames_dropped = interface.count_dropped()
        finally:
            interface.close()

    def _of_frame(self, frame: Frame) -> list[dict[str, Any]]:
        segment = read_frame(frame)
        return [] if segment is None else self.streams.add(segment)

    def _of_line(self, line: str) -> dict[str, Any] | None:
        try:
            found = orjson.loads(self.parse(line))
        except ValueError:
            self.unreadable += 1
            return None
        return found if isinstance(found, dict) else None

    def _take(self, event: dict[str, Any], now: float) -> None:
        self.seen += 1
        request = event["request"]
        self.saw(peer_of(request), str(request.get("user_agent", "")), now)
        if self.sends is None:
            return
        if "observed_at" not in event:
            event["observed_at"] = datetime.now(UTC).isoformat()
        alone = self.aggregation.add(event, now)
        if alone is not None:
            self._send(alone)

    def _send(self, event: dict[str, Any]) -> None:
        assert self.sends is not None
        if self.sends.send(event):
            self.forwarded += 1
        else:
            self.dropped += 1

    def _flush(self) -> None:
        if self.sends is not None:
            for event in self.aggregation.take():
                self._send(event)


def peer_of(request: Mapping[str, Any]) -> str:
    """The peer's address: behind a proxy it is the last in ``x-forwarded-for``."""
    forwarded = str(request.get("headers", {}).get("x-forwarded-for", ""))
    return str(request.get("client_ip") or forwarded.rpartition(",")[2].strip())
