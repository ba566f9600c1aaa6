"""One partition at this node: it forwards calls to the owner, and follows the log if due.

The owner may be this node itself. A node follows the log if it is to be the next owner.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.server.logging import log
from tidegate.server.nodes.desk import Desk
from tidegate.server.nodes.fellows import replying
from tidegate.server.nodes.following import Following
from tidegate.server.nodes.forwarding import Forwarding
from tidegate.server.nodes.term import Term
from tidegate.stores.base import StoreError, StoreUnavailableError

if TYPE_CHECKING:
    import ssl

    from tidegate.cluster.directory import Duties
    from tidegate.cluster.rows import Placement, Rows
    from tidegate.operators.keys import Keys
    from tidegate.server.hot.hot_path import HotPath
    from tidegate.server.nodes.following import Opened
    from tidegate.server.nodes.membership import Membership
    from tidegate.server.partitions.others import Others
    from tidegate.server.workers.crew import Shared
    from tidegate.settings.whole import Settings

_RETRY_SECONDS = 0.5
_SMOOTHING = 0.2
"""The weight of a new figure of the load; there is one figure a second."""


@attrs.frozen(kw_only=True)
class Parts:
    """State that the partitions of a node share, or need from it.

    Attributes:
        settings: of the process.
        keys: the key material that all nodes share.
        base_url: the address that callers reach the service by.
        calling: the TLS context for links to other nodes.
        membership: the node's membership.
        crew: returns the worker processes for a partition.
        others: returns the peers of a partition; None while it is the only one.
        changed: called when this node starts or stops answering for a partition.
        finish_local: waits for calls of this node's callers that a hot path is deciding.
        is_stopping: tells whether this node no longer follows anything.
        spawn: runs something in the background.
    """

    settings: Settings
    keys: Keys
    base_url: str
    calling: ssl.SSLContext
    membership: Membership
    crew: Callable[[int], Shared]
    others: Callable[[int], Others | None]
    changed: Callable[[], None]
    finish_local: Callable[[HotPath], Awaitable[None]]
    is_stopping: Callable[[], bool]
    spawn: Callable[[Coroutine[Any, Any, Any]], None]


class NodePartition:
    """A partition at a node; use it only on the event loop's thread.

    Args:
        number: of the partition.
        parts: of the node.
    """

    def __init__(self, number: int, parts: Parts) -> None:
        self.number = number
        self._parts = parts
        self._name = parts.settings.node.name
        self.desk = Desk()
        self.forwarding = Forwarding(self._name, number, self.desk, parts.calling)
        self.opened: Opened | None = None
        """Answers here while this node is the owner."""
        self._following: Following | None = None
        self._term: Term | None = None
        self._owning: asyncio.Task[None] | None = None
        self._is_released = False
        self._load = 0.0
        self._counted: tuple[float, int] | None = None

    @property
    def hot(self) -> HotPath | None:
        """The hot path, while this node is the owner and its lease holds."""
        opened = self.opened
        return opened.hot if opened is not None and self.desk.is_open else None

    # Duties

    def do(self, rows: Rows, duties: Duties) -> None:
        """Act on the rows that were just read."""
        self.forwarding.place(rows)
        number = duties.owns.get(self.number)
        term = self._term
        if term is not None and (number != term.number or self.number in duties.hands_over):
            term.is_handed_over = number == term.number
            term.over.set()
        if number is not None and self._owning is None and not self._is_released:
            following, self._following = self._following or self._new_following(), None
            self._owning = asyncio.create_task(self._own(number, following))
        self._keep_following(self.number in duties.follows)

    def has_to_hand_over(self) -> bool:
        """Tell whether a stop has to wait: this node is the owner, or no owner can be reached."""
        placement = self._placement()
        is_mine = placement is not None and placement.owner == self._name
        return self._owning is not None or is_mine or not self.forwarding.can_reach_owner

    def load(self, now: float) -> float:
        """Return decisions a second since the last call, smoothed; 0 if another node decides.

        Args:
            now: monotonic seconds.
        """
        opened, before = self.opened, self._counted
        if opened is None:
            self._load, self._counted = 0.0, None
            return 0.0
        seq = opened.service.recorder.seq
        self._counted = now, seq
        if before is not None and now > before[0]:
            rate = (seq - before[1]) / (now - before[0])
            self._load += _SMOOTHING * (rate - self._load)
        return self._load

    async def close(self) -> None:
        """End everything."""
        if self._owning is not None:
            if self._term is not None:
                self._term.over.set()
            await asyncio.gather(self._owning, return_exceptions=True)
        if self._following is not None:
            await self._following.close()
        self.forwarding.close()

    def _placement(self) -> Placement | None:
        return self._parts.membership.directory.rows.placements.get(self.number)

    # Following

    def _keep_following(self, is_follower: bool) -> None:
        """Follow the log while the directory wants that, and report when the states catch up."""
        following, parts = self._following, self._parts
        if is_follower and following is None and self._owning is None and not parts.is_stopping():
            self._following = following = self._new_following()
            following.begin()
        elif not is_follower and following is not None:
            self._following = None
            parts.spawn(following.close())
        if is_follower and following is not None and following.is_level:
            level = parts.membership.directory.level(self.number)
            if level is not None:
                parts.spawn(parts.membership.change(level))

    def _new_following(self) -> Following:
        parts = self._parts
        return Following(
            parts.settings,
            parts.keys,
            parts.base_url,
            parts.crew(self.number),
            self.number,
            parts.others(self.number),
            parts.membership.wake,
        )

    # Owning

    def _is_owner(self, number: int) -> bool:
        return self._parts.membership.directory.duties().owns.get(self.number) == number

    async def _own(self, number: int, following: Following) -> None:
        """Own the partition for one term."""
        started = time.monotonic()
        has_followed = following.has_been_level
        term = Term(self._parts.settings, following, number, lambda: self._is_owner(number))
        self._term = term
        of = {"partition": self.number, "term": number}
        try:
            opened = await term.open()
            if opened is not None and not term.over.is_set():
                self.desk.open(
                    replying(opened.service, opened.application),
                    opened.hot,
                    number,
                    lambda: term.has_ended() or not self._parts.membership.is_leased,
                )
                self.opened = opened
                self._parts.changed()
                seconds = round(time.monotonic() - started, 3)
                log.info("this node is the owner", **of, seconds=seconds, followed=has_followed)
                await term.over.wait()
        except StoreError as error:
            log.error("this node cannot become the owner", **of, error=str(error))
            await asyncio.sleep(_RETRY_SECONDS)
        finally:
            started = time.monotonic()
            ending, self.opened = self.opened, None
            self._parts.changed()
            if ending is not None:
                await self._parts.finish_local(ending.hot)
            await self.desk.close()
            await term.close()
            self._term = None
            self._owning = None
            seconds = round(time.monotonic() - started, 3)
            log.info("this node is no owner", **of, seconds=seconds)
            await self._release(number)

    async def _release(self, number: int) -> None:
        """Make the follower the owner, if the directory wants that."""
        membership = self._parts.membership
        released = membership.directory.released(self.number, number)
        if released is not None:
            self._is_released = True
            try:
                await membership.change(released)
            except StoreUnavailableError as error:
                log.warning(
                    "the log could not be handed over", partition=self.number, reason=str(error)
                )
            self._is_released = False
        membership.wake()
