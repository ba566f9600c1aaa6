"""Rate limits: the generic cell rate algorithm, with a cell for each API key and each tenant.

GCRA (ITU-T I.371, appendix) keeps one number a key: the theoretical arrival time of the next event.
An event conforms when that time is at most the burst's worth ahead of now.
"""

from __future__ import annotations

from collections.abc import Hashable

import attrs

MINUTE = 60_000_000_000
"""Nanoseconds."""
BURST_SHARE = 10
"""A burst may be one tenth of a minute's limit."""
MAX_KEYS = 1_000_000
"""Beyond this number, keys whose limit is full again are forgotten."""


@attrs.frozen
class Verdict:
    """Whether an event conforms, and the values of the ``RateLimit`` headers."""

    allowed: bool
    limit: int
    """Events a minute."""
    remaining: int
    """Events that would conform now."""
    retry_after: int
    """Whole seconds until an event conforms; 0 if one does now."""
    whose: str = "api-key"
    """The name of the limit."""

    def headers(self) -> dict[str, str]:
        """Return the ``RateLimit`` headers of the IETF draft, and ``Retry-After`` on refusal."""
        burst = max(self.limit // BURST_SHARE, 1)
        fields = {
            "ratelimit-policy": f'"{self.whose}";q={self.limit};w=60;tidegate-burst={burst}',
            "ratelimit": f'"{self.whose}";r={self.remaining};t={self.retry_after}',
        }
        if not self.allowed:
            fields["retry-after"] = str(self.retry_after)
        return fields


class RateLimits:
    """The cells of all keys, in memory; times are nanoseconds of a monotonic clock."""

    def __init__(self) -> None:
        self._arrivals: dict[Hashable, int] = {}

    def take(self, key: Hashable, limit_per_minute: int, now: int, events: int = 1) -> int:
        """Count the events that conform.

        Args:
            key: the key to count against; keys don't affect each other.
            limit_per_minute: events a minute, at least 1.
            now: nanoseconds of a monotonic clock.
            events: how many came together.

        Returns:
            How many of them conform, from the first on.
        """
        step = MINUTE // limit_per_minute
        arrival = self._arrivals.get(key)
        if arrival is None:
            arrival = now
            if len(self._arrivals) >= MAX_KEYS:
                self._forget_resting(now)
        elif arrival < now:
            arrival = now
        burst = max(limit_per_minute // BURST_SHARE, 1)
        room = burst + (now - arrival) // step
        if room <= 0:
            return 0
        taken = min(room, events)
        self._arrivals[key] = arrival + taken * step
        return taken

    def give_back(self, key: Hashable, limit_per_minute: int, events: int) -> None:
        """Uncount events that :meth:`take` just counted, because another limit refused them."""
        self._arrivals[key] -= events * (MINUTE // limit_per_minute)

    def verdict(
        self,
        key: Hashable,
        limit_per_minute: int,
        now: int,
        allowed: bool,
        whose: str = "api-key",
    ) -> Verdict:
        """Return the state of a key's limit after :meth:`take`."""
        step = MINUTE // limit_per_minute
        burst = step * max(limit_per_minute // BURST_SHARE, 1)
        ahead = max(self._arrivals.get(key, 0) - now, 0)
        wait = ahead - (burst - step)
        return Verdict(
            allowed,
            limit_per_minute,
            max((burst - ahead) // step, 0),
            -(-wait // 1_000_000_000) if wait > 0 else 0,
            whose,
        )

    def _forget_resting(self, now: int) -> None:
        self._arrivals = {key: at for key, at in self._arrivals.items() if at > now}
