"""Follows the changes of the service as long as it runs: first a snapshot, then changes.

Whatever cannot be trusted is dropped and fetched again.  While the service is away the daemon tries
again at growing distances, with jitter, so that many daemons do not come back at once.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

import attrs
import msgspec

from tidegate.daemon.definitions import KINDS, DefinitionSet
from tidegate.daemon.origin import OriginError, UntrustedError
from tidegate.daemon.spool import Change
from tidegate.errors import DefinitionsError, SnapshotError
from tidegate.server.logging import log
from tidegate.server.sync import messages
from tidegate.server.workers.tidying import give_back_memory
from tidegate.stores.base import StoreUnavailableError
from tidegate.stores.decision_log.lines import join_effects

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from tidegate.daemon.definitions import Definitions
    from tidegate.daemon.local import LocalTenant
    from tidegate.daemon.origin import Origin
    from tidegate.daemon.spool import Spool

MOST_WAIT_SECONDS = 20
FIRST_RETRY_SECONDS = 0.5
GONE = 410
_ITEMS = msgspec.json.Decoder(messages.DefinitionsItem | messages.MitigationsItem)
_EFFECTS = msgspec.json.Decoder(list[msgspec.Raw])
_PIECE = 1_000
"""Effects that are read at once: as Python objects they take many times their bytes."""


@attrs.frozen
class Cursor:
    """The last change that is known."""

    sequence: int
    chain: str
    """The hash after that change, in hexadecimal."""
    revision: int
    """The revision of the definitions then."""
    created_at: int = 0
    """The time of the service's answer, in nanoseconds since 1970 by its clock."""


@attrs.define
class Following:
    """Keeps a tenant level with the service.

    Args:
        origin: the service.
        local: the tenant as it decides here.
        definitions: the files.
        spool: where changes are kept until the state is saved.
        still: entered to change what decides, between two decisions.
        last: gives the number of the last decision that was made.
        save: saves the state.
        pinned: called with the key that the service signs with, when it is new.
        most_retry: seconds between two attempts, at most.
        wait_seconds: how long the service may wait for a change.
        cursor: from where to go on; None takes a snapshot first.
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
    """The newest that was ever known, also when a snapshot is needed; an answer before it is an
    old one that came again."""
    heard_at: int = 0
    """When the newest answer was made, in nanoseconds since 1970 by the service's clock."""
    contact_at: float | None = None
    """The time of the service's last answer that was new, by a clock that never jumps."""
    refused: str = ""
    """Why the newest definitions are not used; empty when they are."""
    untrusted: int = 0
    """Answers that were dropped."""
    changed: asyncio.Event = attrs.field(factory=asyncio.Event)
    """Set when something was taken over."""

    def resume(self, cursor: Cursor | None, newest: Cursor | None) -> None:
        """Continue after the last known change, if the definitions on disk are of its revision."""
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
            OriginError: there is none.
        """
        if self.cursor is None:
            snapshot = await self.origin.snapshot()
            await self._take_snapshot(snapshot)
            await asyncio.to_thread(give_back_memory)
            made_at = snapshot.created_at
        else:
            known = self.cursor
            # A snapshot that came again says nothing about now; the next answer does, at once.
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
        # One snapshot may be sent again while nothing changes, so its time alone says too little;
        # a service that was restored begins at a lower number, but later.
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
        """Have the active mitigations be those of a snapshot, and our own that it does not know."""
        async with self.still():
            pass  # What was decided before the next line is in the spool.
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
        """Decide by definitions, if they compile; else the ones before go on."""
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
