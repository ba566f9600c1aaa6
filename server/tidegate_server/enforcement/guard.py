"""Recent visitors of this machine, and the addresses that many people share.

Only an address that visited is ever dropped.  Dropping a shared one would hit innocent people, so
an address is spared if more than a share of its requests came from browsers other than its most
frequent one.  The sender chooses the user agent. So a browser counts only after ten minutes of use
at the address, and the address is spared only while its request rate is plausible for that many
people.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from ipaddress import IPv6Address, ip_address

import attrs

WINDOW_SECONDS = 3_600.0
SETTLED_SECONDS = 600.0
"""How long a browser must be in use at an address to be evidence of another person."""
MOST_PER_MINUTE = 60
"""Requests of one browser; an address with more per browser isn't spared."""
ENOUGH = 20
"""Requests of an address before it is judged."""
MAX_ADDRESSES = 50_000
MAX_AGENTS = 8
"""Browsers tracked per address; for the others only the rate counts."""
_MINUTE = 60.0


@attrs.define
class _Agent:
    first: float
    last: float
    count: int = 0


@attrs.define
class _Traffic:
    since: float
    last: float
    agents: dict[int, _Agent] = attrs.field(factory=dict)
    minute: float = 0.0
    in_minute: int = 0
    most_in_minute: int = 0

    def count(self, agent: int, now: float) -> None:
        """Count a request."""
        if now - self.since > WINDOW_SECONDS:
            self.agents = {name: each for name, each in self.agents.items() if each.count}
            for each in self.agents.values():
                each.count = 0
            self.since, self.most_in_minute = now, 0
        if now - self.minute > _MINUTE:
            self.minute, self.in_minute = now, 0
        self.in_minute += 1
        self.most_in_minute = max(self.most_in_minute, self.in_minute)
        self.last = now
        found = self.agents.get(agent)
        if found is None:
            if len(self.agents) >= MAX_AGENTS:
                return
            found = self.agents[agent] = _Agent(now, now)
        found.last = now
        found.count += 1


class Guard:
    """Knows the recent traffic of addresses; thread-safe.

    Args:
        share: share of other browsers, 0 to 1, above which an address is not dropped.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._traffic: OrderedDict[str, _Traffic] = OrderedDict()
        self._lock = threading.Lock()

    def saw(self, address: str, agent: str, now: float) -> None:
        """Record a request.

        Args:
            address: the client's address, as text.
            agent: its user agent.
            now: seconds of a monotonic clock.
        """
        address = plain(address)
        with self._lock:
            found = self._traffic.get(address)
            if found is None:
                found = self._traffic[address] = _Traffic(now, now)
                if len(self._traffic) > MAX_ADDRESSES:
                    self._traffic.popitem(last=False)
            else:
                self._traffic.move_to_end(address)
            found.count(hash(agent), now)

    def visitors(self, now: float) -> set[str]:
        """The addresses that sent a request recently."""
        with self._lock:
            for address, traffic in list(self._traffic.items()):
                if now - traffic.last <= WINDOW_SECONDS:
                    break
                del self._traffic[address]
            return set(self._traffic)

    def reason(self, address: str, now: float) -> str:
        """Why an address is not dropped; empty if it may be."""
        with self._lock:
            found = self._traffic.get(address)
            if found is None or now - found.last > WINDOW_SECONDS:
                return ""
            total = sum(each.count for each in found.agents.values())
            settled = [
                each.count
                for each in found.agents.values()
                if each.last - each.first >= SETTLED_SECONDS
            ]
            most_in_minute = found.most_in_minute
        if total < ENOUGH or not settled or most_in_minute > MOST_PER_MINUTE * len(settled):
            return ""
        others = sum(settled) - max(settled)
        if others / total <= self._share:
            return ""
        return (
            f"{others} of its {total} recent requests are of other browsers, more than"
            f" {self._share:.0%}"
        )


def plain(address: str) -> str:
    """The text of an address for comparison: IPv4 if IPv6 only maps it."""
    if ":" not in address:
        return address
    try:
        found = ip_address(address)
    except ValueError:
        return address
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(mapped or found)
