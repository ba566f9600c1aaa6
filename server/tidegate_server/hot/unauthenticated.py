"""The limit for calls that need no API key, per client."""

from __future__ import annotations

import time
from collections.abc import Callable

from tidegate_server.hot.rate_limit import RateLimits
from tidegate_server.http.problems import Problem

CALLS_PER_MINUTE = 600
"""The limit of one address: more than a site without a key needs, too few to try proofs."""


class UnauthenticatedCalls:
    """Counts calls without a key; use it only on the event loop.

    Args:
        monotonic: nanoseconds of a monotonic clock.
    """

    def __init__(self, monotonic: Callable[[], int] = time.monotonic_ns) -> None:
        self._limits = RateLimits()
        self._monotonic = monotonic

    def count(self, client: str) -> None:
        """Count a call.

        Args:
            client: an address, or an IPv6 network of 64 bits.

        Raises:
            Problem: ``rate-limited``.
        """
        now = self._monotonic()
        if self._limits.take(client, CALLS_PER_MINUTE, now, 1):
            return
        verdict = self._limits.verdict(client, CALLS_PER_MINUTE, now, False, "address")
        detail = f"an address without an API key has {CALLS_PER_MINUTE} a minute"
        raise Problem("rate-limited", detail, headers=verdict.headers())
