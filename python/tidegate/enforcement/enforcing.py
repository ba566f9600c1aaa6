"""Keeps the firewall's sets equal to the active mitigations, whatever else happens."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from tidegate.daemon.following import Cursor
from tidegate.daemon.origin import OriginError
from tidegate.enforcement.blocks import Blocks, Change
from tidegate.enforcement.nftables import Firewall, FirewallError
from tidegate.server.logging import log
from tidegate.server.sync import messages

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.daemon.origin import Origin
    from tidegate.enforcement.guard import Guard

WAIT_SECONDS = 10
FIRST_RETRY_SECONDS = 0.5
MOST_RETRY_SECONDS = 30.0
_ITEMS = msgspec.json.Decoder(messages.DefinitionsItem | messages.MitigationsItem)


class Enforcing:
    """Follows a service and fills the firewall.

    Args:
        origin: the service.
        firewall: the sets.
        guard: knows which addresses many share.
        clock: nanoseconds since 1970.
    """

    def __init__(
        self,
        origin: Origin,
        firewall: Firewall,
        guard: Guard,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._origin = origin
        self._firewall = firewall
        self._guard = guard
        self._clock = clock
        self._blocks = Blocks({})
        self._cursor: Cursor | None = None
        self.guarded: dict[str, str] = {}
        """Addresses that are blocked and not dropped, and why."""
        self.failures = 0
        """Changes of the firewall that failed, since the start."""

    async def run(self) -> None:
        """Follow until cancelled."""
        retry = FIRST_RETRY_SECONDS
        while True:
            try:
                await self.step()
                retry = FIRST_RETRY_SECONDS
                continue
            except OriginError as error:
                log.warning("mitigations cannot be followed", reason=str(error))
                if error.status == 410 or error.code == "untrusted-answer":
                    self._cursor = None
            except FirewallError as error:
                # The sets may be gone: they are made and filled anew.
                self.failures += 1
                self._cursor = None
                log.error("the firewall cannot be changed", reason=str(error))
            except Exception:
                self._cursor = None
                log.exception("mitigations could not be taken over")
            await asyncio.sleep(retry * random.uniform(0.5, 1.5))  # noqa: S311
            retry = min(2 * retry, MOST_RETRY_SECONDS)

    async def step(self) -> None:
        """Apply a snapshot, or changes.

        Raises:
            FirewallError: the sets could not be changed.
            OriginError: there is none.
        """
        if self._cursor is None:
            snapshot = await self._origin.snapshot()
            document: dict[str, Any] = msgspec.json.decode(bytes(snapshot.document))
            self._blocks.define(document)
            self._blocks.replace(bytes(snapshot.effects), self._clock())
            active = self._allowed(self._blocks.active(self._clock()))
            count = await asyncio.to_thread(self._firewall.replace, active, self._clock())
            log.info("the firewall is level", addresses=count, guarded=len(self.guarded))
            self._cursor = Cursor(snapshot.sequence, snapshot.hash, snapshot.revision)
            return
        known = self._cursor
        found = await self._origin.changes(known.sequence, known.chain, WAIT_SECONDS)
        changes: list[Change] = []
        for item in found.items:
            read = _ITEMS.decode(item)
            if isinstance(read, messages.DefinitionsItem):
                self._blocks.define(msgspec.json.decode(bytes(read.document)))
            else:
                changes += self._blocks.apply(bytes(read.effects), self._clock())
        allowed = self._allowed(changes)
        if allowed:
            await asyncio.to_thread(self._firewall.apply, allowed, self._clock())
        self._cursor = Cursor(found.sequence, found.hash, known.revision)

    def _allowed(self, changes: Iterable[Change]) -> list[Change]:
        allowed = []
        now = time.monotonic()
        for each in changes:
            address = str(each.address)
            reason = "" if each.until is None else self._guard.reason(address, now)
            if reason:
                self.guarded[address] = reason
                log.warning("a blocked address is not dropped", address=address, reason=reason)
                continue
            self.guarded.pop(address, None)
            allowed.append(each)
        return allowed
