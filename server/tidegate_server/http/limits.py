"""Limits on requests, each with its reason."""

from __future__ import annotations

from tidegate_server.http.problems import Problem

MAX_BODY_BYTES = 64 * 1024
"""The limit of an event; the control plane uses it too."""
MAX_BATCH_BYTES = 4 * 1024 * 1024
"""The limit of a body of `beacon/events`."""
MAX_BATCH_EVENTS = 1_000
"""The limit of events in a batch, which are decided in steps like a tenant's other calls."""
MAX_BODIES_EACH = 64 * 1024 * 1024
"""Bytes of partially received bodies from one operator or client: two of the largest."""
MAX_BODIES = 4 * MAX_BODIES_EACH
"""The same for all callers."""
MAX_HEADER_BYTES = 32 * 1024
"""Address and headers of a request together, the same as in common proxies."""
MAX_HEADERS = 100
MAX_IDEMPOTENCY_KEY = 255
"""Characters."""
RECEIVE_SECONDS = 20.0
"""The time for a request to arrive completely, however slowly it trickles.

An idle connection has uvicorn's keep-alive time.
"""
SEND_SECONDS = 30.0
"""The time for a caller to take the answers that were sent, whatever it reads meanwhile."""


def too_large(most: int) -> Problem:
    """Return the refusal of a body over the limit."""
    return Problem("body-too-large", f"a body has at most {most} bytes")
