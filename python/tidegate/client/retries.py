"""The timing of retries."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import attrs
from attrs import validators

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_RETRY_AFTER = 300.0
"""Seconds; a longer Retry-After is capped to this."""


@attrs.frozen(kw_only=True)
class Backoff:
    """The number of attempts and the waits between them: exponential, with full jitter.

    Args:
        attempts: total attempts, including the first.
        base: seconds; the longest first wait.
        cap: seconds; the longest wait.
    """

    attempts: int = attrs.field(default=3, validator=validators.ge(1))
    base: float = attrs.field(default=0.05, validator=validators.gt(0))
    cap: float = attrs.field(default=1.0, validator=validators.gt(0))

    def delay(self, attempt: int, chance: float, retry_after: float | None = None) -> float:
        """Seconds to wait after a failed attempt.

        Args:
            attempt: attempts made so far, from 1.
            chance: random number from 0 to 1.
            retry_after: the wait that the service asks for; it is honoured, plus a little jitter.
        """
        if retry_after is not None:
            return retry_after + chance * self.base
        # Cap the exponent because 2.0 ** 1024 overflows.
        return chance * min(self.cap, self.base * 2.0 ** min(attempt - 1, 64))


CALLS = Backoff()
"""Backoff of single calls: a caller is waiting."""
BATCHES = Backoff(attempts=10, base=0.5, cap=30.0)
"""Backoff of batches: an event is given up after about a minute."""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds in a ``Retry-After`` header, at most ``MAX_RETRY_AFTER``.

    A date is measured from the response's own ``Date``, so that two clocks are never compared.
    """
    text = headers.get("retry-after", "")
    if text.isascii() and text.isdigit():
        # More digits than nine are far above the maximum, and int() has its own limit.
        return min(float(text[:9]), MAX_RETRY_AFTER)
    try:
        until = parsedate_to_datetime(text)
        since = parsedate_to_datetime(headers.get("date", ""))
        seconds = (until - since).total_seconds()
    except (TypeError, ValueError, OverflowError):
        return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER)
