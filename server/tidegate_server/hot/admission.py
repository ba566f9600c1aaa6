"""Admit calls: check the credential of a call, then the limits of its key and its tenant."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import attrs

from tidegate_server.http.problems import Problem
from tidegate_server.http.request import require_media_type
from tidegate_server.turns.call import refuse

if TYPE_CHECKING:
    from tidegate_server.hot.rate_limit import RateLimits, Verdict
    from tidegate_server.http.answer import Header
    from tidegate_server.operators.key_ring import ApiKey, KeyRing
    from tidegate_server.turns.call import HotCall

KEY_HEADER = b"x-service-api-key"
JSON = "application/json"
_CHALLENGE = {"www-authenticate": 'ApiKey realm="tidegate", header="x-service-api-key"'}
"""RFC 9110 requires a challenge with every 401. No scheme is registered for API keys."""
TENANT_LIMIT = 600_000


def credential_of(headers: Iterable[Header]) -> bytes | None:
    """Return the first credential in the headers of a request, as it was sent."""
    return next((value for name, value in headers if name == KEY_HEADER), None)


def is_refused_by_key_alone(headers: Sequence[Header]) -> bool:
    """Tell whether only its key or a limit can get a call with these headers refused."""
    if sum(name == KEY_HEADER for name, _ in headers) != 1:
        return False
    try:
        require_media_type(headers, (JSON,))
    except Problem:
        return False
    return True


@attrs.frozen
class Admission:
    """Admits calls; use it only on the event loop's thread."""

    keys: KeyRing
    limits: RateLimits
    clock: Callable[[], int] = time.time_ns
    monotonic: Callable[[], int] = time.monotonic_ns
    used: dict[str, int] = attrs.field(factory=dict, repr=False)
    """When each key was last used, by key id, until it is written to the store."""
    tenant_limit: int = TENANT_LIMIT
    """The events a minute that a tenant may send, with all of its keys."""

    def admit(self, headers: Sequence[Header]) -> ApiKey:
        """Return the key of a request that is within its limit, before any of the body is read.

        Raises:
            Problem: 400, 401, 415 or 429.
        """
        key = self.credential(headers)
        self.count(key)
        require_media_type(headers, (JSON,))
        return key

    def credential(self, headers: Sequence[Header]) -> ApiKey:
        """Return the key of a request.

        Raises:
            Problem: 400 or 401.
        """
        texts = [value for name, value in headers if name == KEY_HEADER]
        if len(texts) > 1:
            raise Problem("malformed-request", "`x-service-api-key` is there twice")
        return self.key_of(texts[0] if texts else None)

    def count(self, key: ApiKey) -> None:
        """Count one event against the limit of its key.

        Raises:
            Problem: ``rate-limited``.
        """
        _, over = self.count_many(key, 1)
        if over is not None:
            raise over

    def count_many(self, key: ApiKey, events: int) -> tuple[int, Problem | None]:
        """Count events that came together.

        Returns:
            How many are admitted, from the first on, and the refusal of the others, if any.
        """
        now = self.monotonic()
        room = self._take(key, events, now)
        return room, None if room == events else self._over(key, now)

    def admit_text(self, text: bytes) -> ApiKey:
        """Return the key of a header value that is within its limit.

        Raises:
            Problem: 401 or 429.
        """
        key = self.key_of(text)
        self.count(key)
        return key

    def admit_calls(self, calls: Sequence[HotCall]) -> Sequence[HotCall]:
        """Admit calls by their credentials, and refuse the rest.

        Returns:
            The admitted calls, in order, each with its key.
        """
        by_credential: dict[bytes | None, list[HotCall]] = {}
        for call in calls:
            by_credential.setdefault(call.credential, []).append(call)
        # A call whose body comes after its headers was admitted before the body was read.
        by_credential.pop(None, None)
        refused: set[HotCall] = set()
        for credential, of_key in by_credential.items():
            over = self._admit_alike(credential, of_key)
            refused.update(over)
        return [call for call in calls if call not in refused] if refused else calls

    def _admit_alike(self, credential: bytes | None, calls: Sequence[HotCall]) -> Sequence[HotCall]:
        """Admit calls with the same credential; returns the refused ones."""
        try:
            key = self.key_of(credential)
        except Problem as problem:
            refuse(calls, problem)
            return calls
        now = self.monotonic()
        room = self._take(key, len(calls), now)
        for call in calls[:room]:
            call.key = key
        if room < len(calls):
            refuse(calls[room:], self._over(key, now))
        return calls[room:]

    def key_of(self, text: bytes | None) -> ApiKey:
        now = self.clock()
        key = None if text is None else self.keys.find(text, now)
        if key is None:
            detail = "send a valid API key in `x-service-api-key`"
            raise Problem("unauthenticated", detail, headers=_CHALLENGE)
        self.used[key.id_text] = now
        return key

    def _take(self, key: ApiKey, events: int, now: int) -> int:
        limits, limit = self.limits, key.rate_limit_per_minute
        of_key = limits.take(key.id_text, limit, now, events)
        of_both = limits.take(key.tenant_text, self.tenant_limit, now, of_key)
        if of_both < of_key:
            limits.give_back(key.id_text, limit, of_key - of_both)
        return of_both

    def require_room(self, key: ApiKey) -> None:
        """Refuse a body before it is read if none of its events would be admitted.

        Raises:
            Problem: ``rate-limited``.
        """
        now = self.monotonic()
        whose, verdict = self._standing(key, now)
        if not verdict.remaining:
            raise _over(whose, verdict)

    def _standing(self, key: ApiKey, now: int) -> tuple[str, Verdict]:
        """Return the limit that is used up: the key's, else the tenant's, which may have room."""
        verdict = self.limits.verdict(key.id_text, key.rate_limit_per_minute, now, False)
        if not verdict.remaining:
            return "key", verdict
        return "tenant", self.limits.verdict(
            key.tenant_text, self.tenant_limit, now, False, "tenant"
        )

    def _over(self, key: ApiKey, now: int) -> Problem:
        return _over(*self._standing(key, now))


def _over(whose: str, verdict: Verdict) -> Problem:
    detail = f"the {whose} has {verdict.limit} a minute; come back in {verdict.retry_after} s"
    return Problem("rate-limited", detail, headers=verdict.headers())
