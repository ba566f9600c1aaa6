"""A bound on batches in progress: bodies of megabytes that may arrive slowly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from tidegate_server.http.limits import MAX_BATCH_BYTES
from tidegate_server.http.problems import Problem

MAX_TENANT_BYTES = 4 * MAX_BATCH_BYTES
MAX_BYTES = 8 * MAX_TENANT_BYTES
"""Bytes for all tenants together."""


@attrs.define(eq=False)
class BatchRoom:
    """The bytes of batches, from head to answer; use it only on the event loop's thread."""

    _taken: Counter[str] = attrs.field(factory=Counter, init=False)
    _total: int = attrs.field(default=0, init=False)

    @contextmanager
    def taken(self, tenant: str, size: int) -> Iterator[None]:
        """Reserve room for a batch until the block ends.

        Args:
            tenant: its id.
            size: of the body, in bytes; its maximum if unknown.

        Raises:
            Problem: ``overloaded``; the room is used up.
        """
        size = min(size, MAX_BATCH_BYTES)
        if self._taken[tenant] + size > MAX_TENANT_BYTES or self._total + size > MAX_BYTES:
            detail = "too many bytes of batches are under way; send fewer batches at once"
            raise Problem("overloaded", detail, headers={"retry-after": "1"})
        self._taken[tenant] += size
        self._total += size
        try:
            yield
        finally:
            self._total -= size
            self._taken[tenant] -= size
            if not self._taken[tenant]:
                del self._taken[tenant]
