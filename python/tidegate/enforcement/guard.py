"""Addresses that many share: to drop their packets would refuse people who did nothing.

Of each address it is known how many requests came from its most frequent browser, and how many from
others.  An address of which others have more than a share is left to whoever answers the request.
"""

from __future__ import annotations

from collections import Counter, OrderedDict

import attrs

WINDOW_SECONDS = 600.0
ENOUGH = 20
"""Requests of an address before it is judged."""
MAX_ADDRESSES = 100_000
MAX_ACTORS = 50
"""Browsers that are distinguished for an address."""


@attrs.define
class _Traffic:
    since: float
    actors: Counter[str] = attrs.field(factory=Counter)


class Guard:
    """Knows the recent traffic of addresses.

    Args:
        share: of other actors, 0 to 1, above which an address is not dropped.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._traffic: OrderedDict[str, _Traffic] = OrderedDict()

    def saw(self, address: str, agent: str, now: float) -> None:
        """A request came.

        Args:
            address: of the client, as text.
            agent: its user agent.
            now: seconds of a clock that never jumps.
        """
        found = self._traffic.get(address)
        if found is None or now - found.since > WINDOW_SECONDS:
            found = self._traffic[address] = _Traffic(now)
            if len(self._traffic) > MAX_ADDRESSES:
                self._traffic.popitem(last=False)
        if agent in found.actors or len(found.actors) < MAX_ACTORS:
            found.actors[agent] += 1

    def reason(self, address: str, now: float) -> str:
        """Why an address is not dropped; empty when it may be."""
        found = self._traffic.get(address)
        if found is None or now - found.since > WINDOW_SECONDS:
            return ""
        total = found.actors.total()
        if total < ENOUGH:
            return ""
        others = total - found.actors.most_common(1)[0][1]
        if others / total <= self._share:
            return ""
        return (
            f"{others} of its {total} recent requests are of other actors, more than"
            f" {self._share:.0%}"
        )
