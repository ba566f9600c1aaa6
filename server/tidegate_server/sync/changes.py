"""One tenant's changes that daemons follow: definitions and mitigations, in one order.

A line of the decision log that sets or ends mitigations is a change, and so is a revision of the
definitions. The log keeps the order of its lines. A mark stores where each revision comes among
them, with its number and hash. After a restart the changes are rebuilt from marks and log, with the
same numbers and hashes.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from tidegate_server.stores.decision_log.lines import effects_in
from tidegate_server.stores.objects.change_marks import Mark
from tidegate_server.sync import messages

if TYPE_CHECKING:
    from uuid import UUID

MOST_ITEMS = 50_000
MOST_BYTES = 64 * 1024 * 1024
"""Bytes of the items that are kept: a daemon further behind takes a snapshot."""
MOST_SENT_BYTES = 4 * 1024 * 1024
"""Bytes of the items in one answer, not counting the first."""
MOST_LIFTS = 10_000
_HAS_NAMES = b'"]]'
"""A text in effects that mitigate or lift; rare in others."""


class ChangeLog:
    """The changes of a tenant; use it only on the event loop's thread.

    Args:
        tenant_id: the tenant.
        mark: where the changes begin.
    """

    def __init__(self, tenant_id: UUID, mark: Mark) -> None:
        self.tenant_id = tenant_id
        self.sequence = mark.sequence
        self.revision = mark.revision
        self.hash = mark.hash
        self.seq = mark.seq
        """The last line of the log before the items."""
        self._numbers = [self.sequence]
        self._hashes = [self.hash]
        self._items: list[bytes] = [b""]
        """The item that led to each number; the first number has none."""
        self._bytes = 0
        self._held: list[bytes] | None = None
        self._held_seq = self._marked_seq = mark.seq
        self._lifts: dict[bytes, int] = {}
        self._changed = asyncio.Event()

    def committed(self, lines: bytes, last_seq: int) -> None:
        """Take durable decisions.

        Args:
            lines: of the log, separated by line feeds.
            last_seq: number of the last of them.
        """
        found = list(self._changes_in(lines.split(b"\n")))
        if self._held is not None:
            self._held += found
            self._held_seq = last_seq
            return
        self.seq = last_seq
        for effects in found:
            self._add_effects(effects)

    def hold(self) -> None:
        """Hold mitigations back until :meth:`release`, as they may be of the coming definitions."""
        if self._held is None:
            self._held, self._held_seq = [], self.seq

    def release(self) -> None:
        """Process the items that were held back."""
        held, self._held = self._held or [], None
        self.seq = max(self.seq, self._held_seq)
        for effects in held:
            self._add_effects(effects)

    def is_mark_due(self, lines: int) -> bool:
        """Tell whether the log has grown by that many lines since this was last true."""
        is_due = self._held is None and self.seq >= self._marked_seq + lines
        if is_due:
            self._marked_seq = self.seq
        return is_due

    @property
    def mark(self) -> Mark:
        """Return the mark after the last change."""
        return Mark(self.tenant_id, self.sequence, self.hash, self.seq, self.revision)

    def mark_after(self, revision: int, document: bytes) -> Mark:
        """Return the mark after definitions that become active next."""
        made = messages.chained(self.hash, self._definitions(revision, document))
        return Mark(self.tenant_id, self.sequence + 1, made, self.seq, revision)

    def activated(self, revision: int, document: bytes) -> None:
        """Add definitions that became active."""
        self.revision = revision
        self._add(self._definitions(revision, document))

    def _definitions(self, revision: int, document: bytes) -> bytes:
        item = messages.DefinitionsItem(self.sequence + 1, revision, msgspec.Raw(document))
        return msgspec.json.encode(item)

    def hash_at(self, number: int) -> bytes | None:
        """Return the hash after a number; None if unknown."""
        place = bisect_left(self._numbers, number)
        is_known = place < len(self._numbers) and self._numbers[place] == number
        return self._hashes[place] if is_known else None

    def behind(self, number: int) -> int:
        """Return how many changes came after a number, among those that are kept."""
        return len(self._numbers) - bisect_left(self._numbers, number + 1)

    def since(self, number: int) -> tuple[Sequence[bytes], int, bytes]:
        """Return items after a known number, the number of the last, and the hash after it."""
        start = end = bisect_left(self._numbers, number) + 1
        size = 0
        while end < len(self._items):
            size += len(self._items[end])
            if size > MOST_SENT_BYTES and end > start:
                break
            end += 1
        return self._items[start:end], self._numbers[end - 1], self._hashes[end - 1]

    async def wait(self, number: int, seconds: float) -> None:
        """Return when there is a change after a number, or the time is over."""
        if self.sequence <= number:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._changed.wait()

    def wake(self) -> None:
        """Have every waiting call check again."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def lifted_at(self, definition: str, key: Any, policy: str, clause: str) -> int:
        """Return when an operator last lifted a mitigation; 0 if unknown."""
        return self._lifts.get(orjson.dumps([definition, key, policy, clause]), 0)

    def _changes_in(self, lines: Iterable[bytes]) -> Iterable[bytes]:
        for line in lines:
            effects = effects_in(line)
            found = b",".join(self._effects(effects)) if _HAS_NAMES in effects else b""
            if found:
                yield found

    def _effects(self, effects: bytes) -> Iterable[bytes]:
        for kind, *about in orjson.loads(effects):
            if kind in ("revoke", "move"):
                yield orjson.dumps([kind, *about])
                continue
            definition, key, time, *rest = about
            if kind == "lift":
                self._note_lift(definition, key, int(time), rest[0])
                yield orjson.dumps([kind, *about])
            elif rest[-1]:
                yield orjson.dumps(["mitigate", definition, key, time, rest[-1]])

    def _note_lift(self, definition: str, key: Any, time: int, clauses: list[list[str]]) -> None:
        for policy, clause in clauses:
            self._lifts[orjson.dumps([definition, key, policy, clause])] = time
        while len(self._lifts) > MOST_LIFTS:
            del self._lifts[next(iter(self._lifts))]

    def _add_effects(self, effects: bytes) -> None:
        item = messages.MitigationsItem(self.sequence + 1, msgspec.Raw(b"[%b]" % effects))
        self._add(msgspec.json.encode(item))

    def _add(self, item: bytes) -> None:
        self.sequence, self.hash = self.sequence + 1, messages.chained(self.hash, item)
        self._numbers.append(self.sequence)
        self._hashes.append(self.hash)
        self._items.append(item)
        self._bytes += len(item)
        if len(self._items) > MOST_ITEMS or self._bytes > MOST_BYTES:
            gone = len(self._items) // 2
            self._bytes -= sum(map(len, self._items[:gone]))
            del self._numbers[:gone], self._hashes[:gone], self._items[:gone]
        self.wake()
