"""Decides which blocked addresses are dropped, and until when; without IO.

An address is dropped if all of this holds: a Block applies to it or to its network, it visited this
machine recently, it is not on the never-drop list, and it is not shared by many.  There are limits
on how many are dropped, on how many are added per minute, and on how long one is dropped for one
Block.  If more than a share of the recent visitors would be dropped, none is: then the policy is
more likely wrong than all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING

import attrs

from tidegate_server.enforcement.blocks import CLIENT_BITS, Change

if TYPE_CHECKING:
    from tidegate_server.enforcement.guard import Guard

BOUNDS = ("max_drops", "drops_per_minute")
"""The settings that limit how many addresses are dropped."""

ENOUGH_VISITORS = 20
"""With fewer recent visitors than this, a share of them means nothing."""
_SECOND = 1_000_000_000
_MINUTE = 60.0


@attrs.frozen
class Limits:
    """Limits on drops.

    Attributes:
        seconds: how long an address is dropped for one Block.
        drops: addresses at a time.
        per_minute: addresses added per minute.
        share: share of the recent visitors, 0 to 1, above which nothing is dropped.
    """

    seconds: int
    drops: int
    per_minute: int
    share: float


@attrs.frozen
class _Drop:
    until: int
    since: int
    end: int


class Drops:
    """Decides what the firewall drops.

    Args:
        limits: the limits.
        guard: knows the recent visitors, and which addresses are shared.
        never: returns why an address is never dropped; empty if it may be.
    """

    def __init__(
        self, limits: Limits, guard: Guard, never: Callable[[IPv4Address | IPv6Address], str]
    ) -> None:
        self._limits = limits
        self._guard = guard
        self._never = never
        self._exempt: Callable[[IPv4Address | IPv6Address], str] = lambda _: ""
        self._blocked: dict[str, Change] = {}
        self._dropped: dict[str, _Drop] = {}
        self._spent: dict[str, int] = {}
        """Blocks with their drop time used up."""
        self._minute, self._in_minute = -_MINUTE, 0
        self._tidied = -_MINUTE
        self.spared: dict[str, str] = {}
        """Blocked visitors that may not be dropped, and why."""
        self.waiting: dict[str, int] = dict.fromkeys(BOUNDS, 0)
        """Blocked visitors not dropped because of a limit."""
        self.reached: dict[str, int] = dict.fromkeys(BOUNDS, 0)
        """How often visitors began to wait because of a limit, since the start."""
        self.stopped = ""
        """Why nothing is dropped until the next start; empty if drops are allowed."""

    def __len__(self) -> int:
        return len(self._dropped)

    def exempt_by(self, exempt: Callable[[IPv4Address | IPv6Address], str]) -> None:
        """Use a function that returns why an address is exempt now; empty if it isn't."""
        self._exempt = exempt

    def block(self, changes: Iterable[Change]) -> None:
        """Apply changes of the blocked addresses, in order."""
        for each in changes:
            name = str(each.address)
            if each.until is None:
                self._blocked.pop(name, None)
                self._spent.pop(name, None)
            else:
                self._blocked[name] = each

    def replace(self, blocked: Iterable[Change]) -> None:
        """Replace all blocked addresses with these."""
        self._blocked = {str(each.address): each for each in blocked}

    def due(self, now: int, monotonic: float) -> list[Change]:
        """The changes the firewall needs.

        Args:
            now: nanoseconds since 1970.
            monotonic: seconds of a monotonic clock.
        """
        self._forget(now, monotonic)
        changes = self._ended(now)
        candidates = [] if self.stopped else self._candidates(now, monotonic)
        waiting = dict.fromkeys(BOUNDS, 0)
        if self._is_too_much(candidates, monotonic):
            changes += self._stop()
        else:
            for each in candidates:
                bound = self._bound(monotonic)
                if bound is None:
                    changes.append(self._drop(each, now))
                else:
                    waiting[bound] += 1
        for bound in BOUNDS:
            self.reached[bound] += waiting[bound] > 0 and self.waiting[bound] == 0
        self.waiting = waiting
        return changes

    def visitors(self, monotonic: float) -> int:
        """How many addresses visited recently."""
        return len(self._guard.visitors(monotonic))

    def dropped(self) -> list[Change]:
        """Every dropped address, and when its drop ends."""
        return [
            Change(ip_address(name), each.end)
            for name, each in self._dropped.items()
            if self._until(name) is not None
        ]

    def _forget(self, now: int, monotonic: float) -> None:
        """Forget expired drops; the kernel forgets them too."""
        if monotonic - self._tidied >= _MINUTE:
            self._tidied = monotonic
            self._blocked = {
                name: each for name, each in self._blocked.items() if (each.until or 0) > now
            }
        for name in [name for name, each in self._dropped.items() if each.end <= now]:
            self._spent[name] = self._dropped.pop(name).until
        self._spent = {
            name: until for name, until in self._spent.items() if self._until(name) == until
        }
        self.spared = {
            name: why for name, why in self.spared.items() if self._until(name) is not None
        }

    def _ended(self, now: int) -> list[Change]:
        """Dropped addresses to unblock, or with a changed end of their Block."""
        changes = []
        for name, drop in list(self._dropped.items()):
            until = self._until(name)
            if until is None:
                changes.append(self._let_in(name))
            elif until != drop.until:
                end = min(until, drop.since + self._limits.seconds * _SECOND)
                self._dropped[name] = attrs.evolve(drop, until=until, end=end)
                changes.append(Change(ip_address(name), max(end, now)))
        return changes

    def _until(self, name: str) -> int | None:
        """The end of the Block on an address or its network; None if there isn't one."""
        blocks = [self._blocked.get(each) for each in (name, _network_of(name))]
        return max((each.until for each in blocks if each and each.until is not None), default=None)

    def spare(self) -> list[Change]:
        """Unblock addresses that are now on the never-drop list or exempt; call this when either
        has changed."""
        changes = []
        for name in list(self._dropped):
            reason = self._sparing(ip_address(name))
            if reason:
                changes.append(self._let_in(name))
                self.spared[name] = reason
        return changes

    def _sparing(self, address: IPv4Address | IPv6Address) -> str:
        return self._never(address) or self._exempt(address)

    def _let_in(self, name: str) -> Change:
        del self._dropped[name]
        return Change(ip_address(name), None)

    def _candidates(self, now: int, monotonic: float) -> list[Change]:
        if not self._blocked:
            return []
        found = []
        visitors = self._guard.visitors(monotonic)
        of_networks = {name for name in visitors if _network_of(name) in self._blocked}
        blocked = (self._blocked.keys() & visitors) | of_networks
        for name in blocked - self._dropped.keys() - self._spent.keys():
            until = self._until(name)
            if until is None or until <= now:
                continue
            address = ip_address(name)
            reason = self._sparing(address) or self._guard.reason(name, monotonic)
            if reason:
                self.spared[name] = reason
            else:
                self.spared.pop(name, None)
                found.append(Change(address, until))
        return found

    def _is_too_much(self, candidates: list[Change], monotonic: float) -> bool:
        if not candidates:
            return False
        refused = self._dropped.keys() | {str(each.address) for each in candidates}
        visitors = self._guard.visitors(monotonic) | refused
        if len(visitors) < ENOUGH_VISITORS:
            return False
        if len(refused) <= self._limits.share * len(visitors):
            return False
        self.stopped = (
            f"{len(refused)} of {len(visitors)} recent visitors would be dropped, more than"
            f" {self._limits.share:.0%}"
        )
        return True

    def _stop(self) -> list[Change]:
        return [self._let_in(name) for name in list(self._dropped)]

    def _bound(self, monotonic: float) -> str | None:
        """The limit that the next address has to wait for; None if it needn't wait."""
        if len(self._dropped) >= self._limits.drops:
            return "max_drops"
        if monotonic - self._minute >= _MINUTE:
            self._minute, self._in_minute = monotonic, 0
        if self._in_minute >= self._limits.per_minute:
            return "drops_per_minute"
        self._in_minute += 1
        return None

    def _drop(self, block: Change, now: int) -> Change:
        assert block.until is not None
        end = min(block.until, now + self._limits.seconds * _SECOND)
        self._dropped[str(block.address)] = _Drop(block.until, now, end)
        return attrs.evolve(block, until=end)


@lru_cache(maxsize=65_536)
def _network_of(name: str) -> str:
    """The IPv6 network of a client with an address; empty for IPv4."""
    try:
        return str(IPv6Network((name, CLIENT_BITS), strict=False)) if ":" in name else ""
    except ValueError:
        return ""
