"""Keeps the firewall's sets in sync with the active mitigations, whatever else happens."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from tidegate_server.daemon.enforcement_status import EnforcementStatus
from tidegate_server.daemon.following import Cursor
from tidegate_server.daemon.origin import OriginError
from tidegate_server.enforcement.blocks import Blocks
from tidegate_server.enforcement.drops import BOUNDS
from tidegate_server.enforcement.never import HostError
from tidegate_server.enforcement.nftables import FirewallError
from tidegate_server.logging import log
from tidegate_server.sync import messages

if TYPE_CHECKING:
    from tidegate_server.daemon.enforcement_status import State
    from tidegate_server.daemon.local_daemon import LocalDaemon
    from tidegate_server.daemon.origin import Origin
    from tidegate_server.enforcement.blocks import Change
    from tidegate_server.enforcement.drops import Drops
    from tidegate_server.enforcement.never import Never
    from tidegate_server.enforcement.nftables import Firewall

WAIT_SECONDS = 10
FIRST_RETRY_SECONDS = 0.5
MOST_RETRY_SECONDS = 30.0
TURN_SECONDS = 0.5
"""Interval between two checks of who must be dropped."""
RENEW_SECONDS = 5.0
REFRESH_SECONDS = 10.0
RESOLVE_SECONDS = 60.0
LOCAL_SECONDS = 1.0
AWAY_SECONDS = WAIT_SECONDS + 5.0
"""After this long without a response, the service counts as away."""
_ITEMS = msgspec.json.Decoder(messages.DefinitionsItem | messages.MitigationsItem)


class Enforcing:
    """Follows a service, or this machine's daemon, and updates the firewall.

    Args:
        origin: the service.
        local_daemon: this machine's daemon, used while the service is away.
        firewall: the sets; None changes nothing.
        drops: decides which blocked addresses are dropped.
        never: the never-drop list.
        changed: called with each change to the dropped addresses.
        clock: nanoseconds since 1970.
    """

    def __init__(
        self,
        origin: Origin,
        local_daemon: LocalDaemon,
        firewall: Firewall | None,
        drops: Drops,
        never: Never,
        changed: Callable[[Sequence[Change]], None] = lambda _: None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._origin = origin
        self._local_daemon = local_daemon
        self._firewall = firewall
        self._drops = drops
        self._never = never
        self._changed = changed
        self._clock = clock
        self._blocks = Blocks({})
        drops.exempt_by(lambda address: self._blocks.exemptions.reason(address, clock()))
        self._cursor: Cursor | None = None
        self._follows = ""
        self._contact = time.monotonic()
        self._said: set[str] = set()
        self._renewed = self._refreshed = 0.0
        self._is_level = self._has_stopped = self._has_said = False
        self._failures = 0
        self._reached: dict[str, int] = dict.fromkeys(BOUNDS, 0)
        """How often each limit had been reached when last logged."""
        self._wake = asyncio.Event()
        """Set when the blocked addresses have changed, so a turn needn't wait."""
        self._lock = threading.Lock()
        """Held to read or change the drops: turns run on their own thread."""

    @property
    def status(self) -> EnforcementStatus:
        """The current state."""
        with self._lock:
            return EnforcementStatus(
                state=self._state(),
                reason=self._drops.stopped,
                dropped=len(self._drops),
                visitors=self._drops.visitors(time.monotonic()),
                spared=len(self._drops.spared),
                waiting=dict(self._drops.waiting),
                bounds_reached=dict(self._drops.reached),
                failures=self._failures,
                follows=self._follows,
            )

    def _state(self) -> State:
        if self._drops.stopped:
            return "stopped"
        if not self._is_level:
            return "failing"
        return "dry-run" if self._firewall is None else "dropping"

    async def run(self) -> None:
        """Follow and enforce until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for each in (self._follow, self._follow_locally, self._enforce, self._resolve):
                tasks.create_task(each())

    async def _follow(self) -> None:
        retry = FIRST_RETRY_SECONDS
        while True:
            try:
                await self.step()
                retry = FIRST_RETRY_SECONDS
                self._contact = time.monotonic()
                continue
            except OriginError as error:
                log.warning("mitigations cannot be followed", reason=str(error))
                if error.status == 410 or error.code == "untrusted-answer":
                    self._cursor = None
            except Exception:
                self._cursor = None
                log.exception("mitigations could not be taken over")
            self._contact = -AWAY_SECONDS
            await asyncio.sleep(retry * random.uniform(0.5, 1.5))  # noqa: S311
            retry = min(2 * retry, MOST_RETRY_SECONDS)

    async def step(self) -> None:
        """Apply a snapshot, or changes.

        Raises:
            OriginError: it couldn't be fetched.
        """
        if self._cursor is None or self._follows != "service":
            snapshot = await self._origin.snapshot()
            document: dict[str, Any] = msgspec.json.decode(bytes(snapshot.document))
            self._take(document, bytes(snapshot.effects), "service")
            self._cursor = Cursor(snapshot.sequence, snapshot.hash, snapshot.revision)
            return
        known = self._cursor
        found = await self._origin.changes(known.sequence, known.chain, WAIT_SECONDS)
        if self._follows != "service":
            return  # The daemon's mitigations replaced them meanwhile: a snapshot comes next.
        for item in found.items:
            read = _ITEMS.decode(item)
            if isinstance(read, messages.DefinitionsItem):
                self._blocks.define(msgspec.json.decode(bytes(read.document)))
                self._refreshed = 0.0  # Somebody who is dropped may be let through now.
                self._wake.set()
            else:
                changes = self._blocks.apply(bytes(read.effects), self._clock())
                with self._lock:
                    self._drops.block(changes)
                self._wake.set()
        self._cursor = Cursor(found.sequence, found.hash, known.revision)

    async def _follow_locally(self) -> None:
        """Use the daemon's mitigations while the service is away, since it keeps deciding."""
        while True:
            await asyncio.sleep(LOCAL_SECONDS)
            if time.monotonic() - self._contact < AWAY_SECONDS:
                continue
            found = await asyncio.to_thread(self._local_daemon.mitigations)
            if time.monotonic() - self._contact < AWAY_SECONDS:
                continue
            if found is not None:
                if self._follows != "daemon":
                    log.warning("the service is away: the daemon's mitigations are followed")
                self._take(*found, "daemon")

    def _take(self, document: dict[str, Any], effects: bytes, of: str) -> None:
        self._follows = of
        self._blocks.define(document)
        self._refreshed = 0.0
        self._blocks.replace(effects, self._clock())
        with self._lock:
            self._drops.replace(self._blocks.active(self._clock()))
        self._wake.set()

    async def _resolve(self) -> None:
        while True:
            await asyncio.to_thread(self._never.resolve)
            await asyncio.sleep(RESOLVE_SECONDS)

    async def _enforce(self) -> None:
        while True:
            started = time.monotonic()
            try:
                await asyncio.to_thread(self.turn)
            except FirewallError as error:
                # The table may be gone, so create and fill it again.
                self._failures += 1
                self._is_level = False
                log.error("the firewall cannot be changed", reason=str(error))
                await asyncio.sleep(FIRST_RETRY_SECONDS)
            except Exception:
                self._is_level = False
                log.exception("the firewall could not be looked after")
            took = time.monotonic() - started
            with suppress(TimeoutError):
                async with asyncio.timeout(max(TURN_SECONDS, 2 * took)):
                    await self._wake.wait()
            self._wake.clear()

    def turn(self) -> None:
        """Bring the firewall up to date, and renew its lease.

        Raises:
            FirewallError: it cannot be changed.
        """
        now = time.monotonic()
        changes: list[Change] = []
        if now - self._refreshed >= REFRESH_SECONDS:
            changes += self._refresh(now)
        with self._lock:
            changes += self._drops.due(self._clock(), now)
        if self._refreshed < now and any(each.until is not None for each in changes):
            # Check new drops against the current list.
            changes += self._refresh(now)
        self._say()
        if changes:
            self._changed(changes)
        if self._firewall is not None and (self._follows or self._is_level):
            self._fill(self._firewall, changes, now)
        self._is_level = bool(self._follows)

    def _fill(self, firewall: Firewall, changes: list[Change], now: float) -> None:
        if self._drops.stopped:
            if not self._has_stopped:
                firewall.remove()
            self._has_stopped = True
            return
        if not self._is_level:
            with self._lock:
                dropped = self._drops.dropped()
            count = firewall.replace(dropped, self._clock())
            log.info("the firewall is level", addresses=count)
            self._renewed = now
        elif changes:
            firewall.apply(changes, self._clock())
        if now - self._renewed >= RENEW_SECONDS:
            firewall.renew()
            self._renewed = now

    def _refresh(self, now: float) -> list[Change]:
        """Update the never-drop list; return who gets unblocked."""
        self._refreshed = now
        try:
            self._never.refresh()
        except HostError as error:
            log.error("the list of addresses that are never dropped is old", reason=str(error))
        with self._lock:
            return self._drops.spare()

    def _say(self) -> None:
        with self._lock:
            spared = dict(self._drops.spared)
            waiting, reached = dict(self._drops.waiting), dict(self._drops.reached)
        for address in spared.keys() - self._said:
            log.warning("a blocked address is not dropped", address=address, reason=spared[address])
        self._said = set(spared)
        for bound in BOUNDS:
            if reached[bound] != self._reached[bound]:
                log.warning("a bound of drops is reached", bound=bound, waiting=waiting[bound])
        self._reached = reached
        if self._drops.stopped and not self._has_said:
            self._has_said = True
            log.error("enforcement has stopped: nothing is dropped", reason=self._drops.stopped)
