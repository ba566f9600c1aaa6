"""Bounds of requests, each with its reason."""

from __future__ import annotations

from tidegate.server.http.problems import Problem

MAX_BODY_BYTES = 64 * 1024
"""An event's limit; the control plane shares it."""
MAX_BATCH_BYTES = 4 * 1024 * 1024
"""Bytes of a body of `beacon/events`."""
MAX_BATCH_EVENTS = 1_000
"""Events of a batch are decided in steps, as all calls of a tenant are."""
MAX_BODIES_EACH = 64 * 1024 * 1024
"""Bytes of bodies of one operator or client that have arrived in part: two of the largest."""
MAX_BODIES = 4 * MAX_BODIES_EACH
"""The same of all."""
MAX_HEADER_BYTES = 32 * 1024
"""Address and headers of a request together, as common proxies have it."""
MAX_HEADERS = 100
MAX_IDEMPOTENCY_KEY = 255
"""Characters."""
RECEIVE_SECONDS = 20.0
"""A request has this long to arrive whole, however slowly it trickles; an idle connection,
uvicorn's keep-alive time."""
SEND_SECONDS = 30.0
"""A caller has this long to take the answers that were sent, whatever it reads meanwhile."""


def too_large(most: int) -> Problem:
    """The refusal of a body past the limit."""
    return Problem("body-too-large", f"a body has at most {most} bytes")
