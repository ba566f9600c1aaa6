"""Follows the changes of the service while it runs: first a snapshot, then changes.

Untrusted data is dropped and fetched again.  While the service is away the daemon retries at
growing intervals, with jitter, so that many daemons don't return at once.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

import attrs
import msgspec

from tidegate.errors import DefinitionsError, SnapshotError
from tidegate_server.daemon.definitions import KINDS, DefinitionSet
from tidegate_server.daemon.origin import OriginError, UntrustedError
from tidegate_server.daemon.spool import Change
from tidegate_server.logging import log
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.decision_log.lines import join_effects
from tidegate_server.sync import messages
from tidegate_server.workers.tidying import give_back_memory

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from tidegate_server.daemon.definitions import Definitions
    from tidegate_server.daemon.local import LocalTenant
    from tidegate_server.daemon.origin import Origin
    from tidegate_server.daemon.spool import Spool

MOST_WAIT_SECONDS = 20
FIRST_RETRY_SECONDS = 0.5
GONE = 410
_ITEMS = msgspec.json.Decoder(messages.DefinitionsItem | messages.MitigationsItem)
_EFFECTS = msgspec.json.Decoder(list[msgspec.Raw])
_PIECE = 1_000
"""Most effects read at once: as Python objects they take many times their bytes."""


@attrs.frozen
class Cursor:
    """The last known change."""

    sequence: int
    chain: str
    """The hash after that change, in hexadecimal."""
    revision: int
    """The definitions' revision at that change."""
    created_at: int = 0
    """The time of the service's response, in nanoseconds since 1970 by its clock."""


@attrs.define
class Following:
    """Keeps a tenant in sync with the service.

    Args:
        origin: the service.
        local: this machine's tenant.
        definitions: the files.
        spool: keeps changes until the state is saved.
        still: entered to change the deciding engine, between two decisions.
        last: returns the number of the last decision.
        save: saves the state.
        pinned: called with the service's public key, if it is new.
        most_retry: most seconds between two attempts.
        wait_seconds: how long the service may wait for a change.
        cursor: where to continue; None takes a snapshot first.
    """

    origin: Origin
    local: LocalTenant
    definitions: Definitions
    spool: Spool
    still: Callable[[], AbstractAsyncContextManager[None]]
    last: Callable[[], int]
    save: Callable[[], Awaitable[None]]
    pinned: Callable[[str], None]
    most_retry: float = 30.0
    wait_seconds: int = MOST_WAIT_SECONDS
    cursor: Cursor | None = None
    newest: Cursor | None = None
    """The newest change ever known, even if a snapshot is needed; an earlier response is a replayed
    old one."""
    heard_at: int = 0
    """When the newest response was made, in nanoseconds since 1970 by the service's clock."""
    contact_at: float | None = None
    """The time of the service's last new response, by a monotonic clock."""
    refused: str = ""
    """Why the newest definitions are not used; empty if they are."""
    untrusted: int = 0
    """Dropped responses."""
    changed: asyncio.Event = attrs.field(factory=asyncio.Event)
    """Set when something was applied."""

    def resume(self, cursor: Cursor | None, newest: Cursor | None) -> None:
        """Continue after the last known change, if the definitions on disk have its revision."""
        self.newest = newest
        self.heard_at = 0 if newest is None else newest.created_at
        known = self.local.definitions
        if cursor is not None and (known is None or known.revision != cursor.revision):
            log.warning("the definitions on disk are not those that were followed last")
            return
        self.cursor = cursor

    async def run(self) -> None:
        """Follow until cancelled."""
        retry = FIRST_RETRY_SECONDS
        while True:
            try:
                await self.step()
                retry = FIRST_RETRY_SECONDS
                continue
            except UntrustedError as error:
                self.untrusted += 1
                self.cursor = None
                log.error("an answer of the service is not used", reason=str(error))
            except OriginError as error:
                if error.status == GONE:
                    self.cursor = None
                log.warning("the service cannot be followed", reason=str(error))
            except StoreUnavailableError as error:
                log.warning("changes cannot be kept", reason=str(error))
            except Exception:
                log.exception("a change could not be taken over")
                self.cursor = None
            await asyncio.sleep(retry * random.uniform(0.5, 1.5))  # noqa: S311
            retry = min(2 * retry, self.most_retry)

    async def step(self) -> None:
        """Apply a snapshot, or changes.

        Raises:
            OriginError: it couldn't be fetched.
        """
        if self.cursor is None:
            snapshot = await self.origin.snapshot()
            await self._take_snapshot(snapshot)
            await asyncio.to_thread(give_back_memory)
            made_at = snapshot.created_at
        else:
            known = self.cursor
            # A replayed snapshot says nothing about the present; the next response does, at once.
            wait = self.wait_seconds if known.created_at == self.heard_at else 0
            found = await self.origin.changes(known.sequence, known.chain, wait)
            if found.created_at <= max(known.created_at, self.heard_at):
                raise UntrustedError("the changes came before, or are older than what is known")
            await self._take_changes(known, found)
            made_at = found.created_at
        if made_at > self.heard_at:
            self.heard_at = made_at
            self.contact_at = time.monotonic()
        assert self.cursor is not None
        self.newest = attrs.evolve(self.cursor, created_at=self.heard_at)

    async def _take_snapshot(self, snapshot: messages.Snapshot) -> None:
        known = self.newest
        # The same snapshot may be sent again while nothing changes, so its time alone says too
        # little. A restored service begins at a lower number, but later.
        if (
            known is not None
            and snapshot.sequence < known.sequence
            and snapshot.created_at < known.created_at
        ):
            raise UntrustedError("the snapshot is older than what is known")
        before = self.local.definitions
        if before is not None and snapshot.revision < before.revision:
            log.warning("the service went back to an earlier revision", revision=snapshot.revision)
        self.pinned(snapshot.public_key)
        await self._use(DefinitionSet.of(snapshot))
        await self._replace_mitigations(_EFFECTS.decode(snapshot.effects))
        self.cursor = Cursor(
            snapshot.sequence, snapshot.hash, snapshot.revision, snapshot.created_at
        )
        await self.save()
        self.changed.set()

    async def _replace_mitigations(self, effects: list[msgspec.Raw]) -> None:
        """Make the active mitigations those of a snapshot, plus our own that it doesn't know."""
        async with self.still():
            pass  # Earlier decisions are in the spool before the next line.
        unknown = await asyncio.to_thread(self.local.unknown_to, _pieces(effects))
        own = await asyncio.to_thread(self.spool.effects, self.spool.acknowledged)
        async with self.still():
            self.local.lift(unknown, [each for _, each in own])
        for piece in _pieces(effects):
            async with self.still():
                self.local.apply([piece])

    async def _take_changes(self, known: Cursor, found: messages.Changes) -> None:
        revision, after = known.revision, self.last()
        taken: list[bytes] = []
        for item in found.items:
            read = _ITEMS.decode(item)
            if isinstance(read, messages.DefinitionsItem):
                present = self.local.definitions
                if present is None:
                    raise UntrustedError("changes came before a snapshot")
                revision, document = read.revision, msgspec.json.decode(bytes(read.document))
                await self._use(attrs.evolve(present, revision=revision, document=document))
                continue
            taken.append(bytes(read.effects))
            async with self.still():
                self.local.apply(taken[-1:])
                after = self.last()
        if found.items:
            effects = join_effects(taken)
            change = Change(found.sequence, found.hash, after, revision, effects)
            await asyncio.to_thread(self.spool.add_change, change)
            self.changed.set()
        self.cursor = Cursor(found.sequence, found.hash, revision, found.created_at)

    async def _use(self, definitions: DefinitionSet) -> None:
        """Decide by new definitions if they compile; otherwise keep the previous ones."""
        try:
            await self.local.decide_by(definitions, self.still)
        except (DefinitionsError, SnapshotError, ValueError) as error:
            self.refused = str(error)
            log.error("the newest definitions are not used", reason=self.refused)
            return
        self.refused = ""
        try:
            await asyncio.to_thread(self.definitions.write, KINDS, definitions)
            await asyncio.to_thread(self.definitions.use, definitions)
        except OSError as error:
            log.error("the definitions cannot be kept", reason=str(error))


def _pieces(effects: list[msgspec.Raw]) -> Iterator[bytes]:
    for begin in range(0, len(effects), _PIECE):
        yield b"[%b]" % b",".join(map(bytes, effects[begin : begin + _PIECE]))
