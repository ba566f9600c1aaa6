"""Failed logins, counted, so that passwords cannot be tried one after the other."""

from __future__ import annotations

import threading
from collections import OrderedDict

MAX_FAILURES = 10
WINDOW_SECONDS = 900
MAX_NAMES = 10_000
"""Names remembered at once; beyond it the longest untouched is forgotten."""


class LoginAttempts:
    """How often logins failed of late, by name; known and unknown names alike."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures: OrderedDict[str, list[int]] = OrderedDict()

    def seconds_to_wait(self, name: str, now: int) -> int:
        """How long a name must wait before its next attempt; 0 when it need not.

        Args:
            now: seconds of a clock that does not go back.
        """
        with self._lock:
            recent = self._recent(name, now)
            return recent[0] + WINDOW_SECONDS - now if len(recent) >= MAX_FAILURES else 0

    def failed(self, name: str, now: int) -> None:
        """Count a failed attempt."""
        with self._lock:
            self._failures[name] = [*self._recent(name, now), now][-MAX_FAILURES:]
            self._failures.move_to_end(name)
            if len(self._failures) > MAX_NAMES:
                self._failures.popitem(last=False)

    def succeeded(self, name: str) -> None:
        """Forget what failed before."""
        with self._lock:
            self._failures.pop(name, None)

    def _recent(self, name: str, now: int) -> list[int]:
        return [at for at in self._failures.get(name, ()) if at + WINDOW_SECONDS > now]
