"""The trace of a call, by W3C Trace Context (https://www.w3.org/TR/trace-context/).

A caller sends ``traceparent``. Its trace is recorded with the decision, and answers say it in
``traceresponse``, the header of the standard's next level. An invalid ``traceparent`` is ignored,
and none is made up unless the service sends spans itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

TRACEPARENT = b"traceparent"
TRACERESPONSE = b"traceresponse"
DECISION = b"tidegate-decision"
"""Says a span the decision of a call whose answer doesn't have it; never sent to a caller."""

_FORM = re.compile(
    rb"(?!ff)(?P<version>[0-9a-f]{2})"
    rb"-(?!0{32})(?P<trace>[0-9a-f]{32})"
    rb"-(?!0{16})(?P<parent>[0-9a-f]{16})"
    rb"-(?P<flags>[0-9a-f]{2})(?P<more>-.*)?"
)


class Span(Protocol):
    """One call as a span of a trace."""

    @property
    def traceparent(self) -> bytes:
        """The trace that a call made for it would carry."""

    def end(self, status: int, decision: tuple[str, str] | None) -> None:
        """End it with the answer to its call.

        Args:
            status: of HTTP.
            decision: id and action; None if there isn't exactly one.
        """


class Tracer(Protocol):
    """Makes spans of calls."""

    def begin(self, method: str, route: str, traceparent: bytes | None) -> Span:
        """Begin the span of a call that has just arrived.

        Args:
            method: of HTTP.
            route: path of the route, without what callers may write into a path.
            traceparent: the caller's, if it is valid.
        """


def read_traceparent(value: bytes | None) -> bytes | None:
    """Return a ``traceparent`` in the form of version 00, 55 bytes; None if it is invalid.

    Args:
        value: as it was sent; a later version may have more parts, which are ignored.
    """
    found = None if value is None else _FORM.fullmatch(value)
    if found is None or value is None:
        return None
    if found["version"] == b"00":
        return None if found["more"] else value
    return b"00-%b-%b-%b" % (found["trace"], found["parent"], found["flags"])


def given_traceparent(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """Return the caller's ``traceparent``; None if it is invalid, or there are several."""
    values = [value for name, value in headers if name == TRACEPARENT]
    return read_traceparent(values[0]) if len(values) == 1 else None


def trace_id_of(traceparent: bytes | None) -> str | None:
    """Return the trace of a valid ``traceparent``, in 32 hexadecimal digits."""
    return None if traceparent is None else traceparent[3:35].decode()
