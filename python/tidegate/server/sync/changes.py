"""The changes of one tenant that daemons follow: definitions and mitigations, in one order.

Nothing of it is kept.  A number is the sum of two that only grow: how far the decision log went,
and the revision of the definitions.  So whoever makes the changes again from the log goes on with
higher numbers; a cursor from before is then unknown, and its daemon takes a snapshot.
"""

from __future__ import annotations

import asyncio
import secrets
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from tidegate.server.sync import messages
from tidegate.stores.decision_log.log import effects_in

if TYPE_CHECKING:
    from uuid import UUID

MOST_ITEMS = 20_000
MOST_BYTES = 64 * 1024 * 1024
"""Of the items that are kept: a daemon that is further behind takes a snapshot."""
MOST_SENT_BYTES = 4 * 1024 * 1024
"""Of the items of one answer, but for the first."""
MOST_LIFTS = 10_000
_HAS_NAMES = b'"]]'
"""Is in effects that mitigate or lift; seldom in others."""


class ChangeLog:
    """The changes of a tenant; for the event loop's thread only.

    Args:
        tenant_id: whose.
        seq: number of the last decision in the log.
        revision: of the active definitions.
    """

    def __init__(self, tenant_id: UUID, seq: int, revision: int) -> None:
        self.tenant_id = tenant_id
        self.sequence = seq + revision
        self.revision = revision
        self.hash = secrets.token_bytes(messages.HASH_BYTES)
        self._seq = seq
        self._numbers = [self.sequence]
        self._hashes = [self.hash]
        self._items: list[bytes] = [b""]
        """The item that led to each number; of the first there is none."""
        self._bytes = 0
        self._held: list[bytes] | None = None
        self._lifts: dict[bytes, int] = {}
        self._changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def committed(self, lines: bytes, last_seq: int) -> None:
        """Take decisions that are durable.

        Args:
            lines: of the log, with a line feed between two.
            last_seq: number of the last of them.
        """
        self._seq = max(self._seq, last_seq)
        found = b",".join(self._effects(lines.split(b"\n")))
        if not found:
            return
        if self._held is not None:
            self._held.append(found)
        else:
            self._add_effects(found)

    def hold(self) -> None:
        """Keep mitigations back until :meth:`activated`: they may be of the coming definitions."""
        if self._held is None:
            self._held = []

    def activated(self, revision: int, document: bytes) -> None:
        """Definitions are active; what was held comes after them."""
        held, self._held = self._held or [], None
        if revision > self.revision:
            self.revision = revision
            number = self._next()
            item = messages.DefinitionsItem(number, revision, msgspec.Raw(document))
            self._add(number, msgspec.json.encode(item))
        for effects in held:
            self._add_effects(effects)

    def hash_at(self, number: int) -> bytes | None:
        """The hash after a number; None when it is not known."""
        place = bisect_left(self._numbers, number)
        is_known = place < len(self._numbers) and self._numbers[place] == number
        return self._hashes[place] if is_known else None

    def behind(self, number: int) -> int:
        """How many changes came after a number, as far as they are kept."""
        return len(self._numbers) - bisect_left(self._numbers, number + 1)

    def since(self, number: int) -> tuple[Sequence[bytes], int, bytes]:
        """Items after a known number, the number of the last, and the hash after it."""
        start = end = bisect_left(self._numbers, number) + 1
        size = 0
        while end < len(self._items):
            size += len(self._items[end])
            if size > MOST_SENT_BYTES and end > start:
                break
            end += 1
        return self._items[start:end], self._numbers[end - 1], self._hashes[end - 1]

    async def wait(self, number: int, seconds: float) -> None:
        """Return when there is something after a number, or the time is over."""
        if self.sequence <= number:
            await asyncio.wait((self._changed,), timeout=seconds)

    def wake(self) -> None:
        """Have everybody who waits look again."""
        changed, self._changed = self._changed, asyncio.get_running_loop().create_future()
        if not changed.done():
            changed.set_result(None)

    def lifted_at(self, definition: str, key: Any, policy: str, clause: str) -> int:
        """When an operator last lifted a mitigation, as far as it is known; else 0."""
        return self._lifts.get(orjson.dumps([definition, key, policy, clause]), 0)

    def _effects(self, lines: Iterable[bytes]) -> Iterable[bytes]:
        for line in lines:
            effects = effects_in(line)
            if _HAS_NAMES not in effects:
                continue
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
        number = self._next()
        item = messages.MitigationsItem(number, msgspec.Raw(b"[%b]" % effects))
        self._add(number, msgspec.json.encode(item))

    def _next(self) -> int:
        return max(self.sequence + 1, self._seq + self.revision)

    def _add(self, number: int, item: bytes) -> None:
        self.sequence, self.hash = number, messages.chained(self.hash, item)
        self._numbers.append(number)
        self._hashes.append(self.hash)
        self._items.append(item)
        self._bytes += len(item)
        if len(self._items) > MOST_ITEMS or self._bytes > MOST_BYTES:
            gone = len(self._items) // 2
            self._bytes -= sum(map(len, self._items[:gone]))
            del self._numbers[:gone], self._hashes[:gone], self._items[:gone]
        self.wake()
