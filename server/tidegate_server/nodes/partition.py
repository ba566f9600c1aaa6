"""One partition at this node: it forwards calls to the owner, and follows the log if due.

The owner may be this node itself. A node follows the log if it is to be the next owner.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

import attrs

from tidegate_server.logging import log, log_failure
from tidegate_server.nodes.following import Following
from tidegate_server.nodes.term import Term
from tidegate_server.owners.forwarding import Forwarding
from tidegate_server.owners.inbox import Inbox
from tidegate_server.owners.peers import replying
from tidegate_server.owners.transports import over_tls
from tidegate_server.stores.base import StoreError, StoreUnavailableError

if TYPE_CHECKING:
    import ssl

    from tidegate_server.cluster.ownership import Duties, View
    from tidegate_server.hot.hot_path import HotPath
    from tidegate_server.nodes.following import Opened
    from tidegate_server.nodes.membership import Membership
    from tidegate_server.nodes.preparing import Prepare
    from tidegate_server.stores.directory.members import SharedClaim

_RETRY_SECONDS = 0.5


@attrs.frozen(kw_only=True)
class Parts:
    """State that the partitions of a node share, or need from it.

    Attributes:
        name: of the node.
        calling: the TLS context for links to other nodes.
        membership: the node's membership.
        prepare: opens the log of a partition, and prepares its service.
        changed: called when this node starts or stops answering for a partition.
        finish_local: waits for calls of this node's callers that a hot path is deciding.
        is_stopping: tells whether this node no longer follows anything.
        spawn: runs something in the background.
    """

    name: str
    calling: ssl.SSLContext
    membership: Membership
    prepare: Prepare
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
        self.inbox = Inbox()
        self.forwarding = Forwarding(parts.name, number, self.inbox, over_tls(parts.calling))
        self.opened: Opened | None = None
        """Answers here while this node is the owner."""
        self._following: Following | None = None
        self._term: Term | None = None
        self._owning: asyncio.Task[None] | None = None
        self._owner = ""
        self._is_closed = False

    @property
    def hot(self) -> HotPath | None:
        """The hot path, while this node is the owner and its session holds."""
        opened = self.opened
        return opened.hot if opened is not None and self.inbox.is_open else None

    # Duties

    def do(self, duties: Duties) -> None:
        """Act on the view that was just seen, or on the end of the session."""
        if self._is_closed:
            return
        ownership = self._parts.membership.ownership
        self._place(ownership.view)
        term = self._term
        is_handed_over = self.number in duties.hands_over
        if term is not None and (self.number not in ownership.held or is_handed_over):
            term.is_handed_over = is_handed_over
            term.over.set()
        if self.number not in duties.takes:
            self._keep_following(self.number in duties.follows)
        elif self._owning is None:
            self._owning = asyncio.create_task(self._own())
            self._owning.add_done_callback(log_failure)

    def _place(self, view: View) -> None:
        """Have calls forwarded to the owner that a view names, or to the last one."""
        me, partition = view.members.get(self._parts.name), view.partitions.get(self.number)
        if me is not None and partition is not None:
            self._owner = partition.owner or self._owner
            owner = view.members.get(self._owner)
            address = "" if owner is None else owner.address
            self.forwarding.place(self._owner, address, partition.term, me.run)

    def has_to_hand_over(self) -> bool:
        """Tell whether a stop has to wait: this node is the owner, or no owner can be reached."""
        return self._owning is not None or not self.forwarding.can_reach_owner

    async def close(self) -> None:
        """End everything, and begin nothing more."""
        self._is_closed = True
        if self._owning is not None:
            if self._term is not None:
                self._term.over.set()
            await asyncio.gather(self._owning, return_exceptions=True)
        if self._following is not None:
            await self._following.close()
        self.forwarding.close()

    # Following

    @property
    def is_level(self) -> bool:
        """Whether this node follows the log and has all states."""
        return self._following is not None and self._following.is_level

    def _keep_following(self, is_follower: bool) -> None:
        """Follow the log while this node is to take it over."""
        following, parts = self._following, self._parts
        if is_follower and following is None and self._owning is None and not parts.is_stopping():
            self._following = following = self._new_following()
            following.begin()
        elif not is_follower and following is not None:
            self._following = None
            parts.spawn(following.close())

    def _new_following(self) -> Following:
        parts = self._parts
        return Following(parts.prepare, self.number, parts.membership.wake)

    # Owning

    async def _own(self) -> None:
        """Own the partition, if this node is the first to take it."""
        membership = self._parts.membership
        try:
            claim = await membership.take(self.number)
            if claim is None:
                # The view names no owner, so this is rare, or the session is of no member.
                log.warning("another session holds the lock of a partition", partition=self.number)
                await asyncio.sleep(_RETRY_SECONDS)
            # The end of the session frees a lock that was granted to a node that has stopped.
            elif not self._is_closed:
                await self._own_until_over(claim)
        except StoreUnavailableError as error:
            log.warning("a partition cannot be taken", partition=self.number, reason=str(error))
        finally:
            self._owning = None
            membership.ownership.released(self.number)
            membership.wake()

    async def _own_until_over(self, claim: SharedClaim) -> None:
        started = time.monotonic()
        following, self._following = self._following or self._new_following(), None
        has_followed = following.has_been_level
        self._term = term = Term(following, claim)
        membership = self._parts.membership
        of = {"partition": self.number, "term": claim.term}
        has_failed = False
        try:
            opened = await term.open()
            if not term.over.is_set():
                self.inbox.open(
                    replying(opened.service.asked, opened.application),
                    opened.hot,
                    claim.term,
                    lambda: term.has_ended() or not membership.owns(claim),
                    membership.confirm,
                )
                self.opened = opened
                self._parts.changed()
                seconds = round(time.monotonic() - started, 3)
                log.info("this node is the owner", **of, seconds=seconds, followed=has_followed)
                await term.over.wait()
        except StoreError as error:
            log.error("this node cannot become the owner", **of, error=str(error))
            has_failed = True
        except Exception:
            log.exception("a term ended with an error", **of)
            has_failed = True
        finally:
            started = time.monotonic()
            ending, self.opened = self.opened, None
            self._parts.changed()
            if ending is not None:
                await self._parts.finish_local(ending.hot)
            await self.inbox.close()
            await term.close()
            self._term = None
            seconds = round(time.monotonic() - started, 3)
            log.info("this node is no owner", **of, seconds=seconds)
        if has_failed:
            await asyncio.sleep(_RETRY_SECONDS)
