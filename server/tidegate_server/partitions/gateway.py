"""A worker's gateway: it answers calls of its own partition, and forwards others to their owners.

A hot call names its tenant by the public prefix of its key; this reads nothing else of the
credential. A request of the control plane has the tenant in its path. Requests without a tenant,
such as logins, go to the owner of the first partition, so their limits are those of one process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tidegate_server.hot.admission import KEY_HEADER, credential_of
from tidegate_server.http.problems import Problem
from tidegate_server.http.request import path_as_written
from tidegate_server.operators.key_ring import prefix_of
from tidegate_server.partitions.forwarding import Forwarding
from tidegate_server.partitions.link import TICK_SECONDS, Link
from tidegate_server.partitions.pages import send_pages
from tidegate_server.partitions.route_key import route_key_in, tenant_of_challenge
from tidegate_server.stores.objects import tenants

if TYPE_CHECKING:
    from uuid import UUID

    import msgspec

    from tidegate_server.http.answer import Header
    from tidegate_server.http.exchange import Receive, Scope, Send
    from tidegate_server.operators.key_ring import ApiKey
    from tidegate_server.stores.port import Store
    from tidegate_server.turns.call import HotCall

METRICS = "/metrics"
TELL_SECONDS = 2.0
"""How long a change waits until the other workers know of it."""


class Gateway:
    """The partitions of the other workers; use it only on the event loop's thread.

    Args:
        number: the number of this process's partition.
        paths: paths of the owners' Unix sockets, by partition.
        store: stores the placements.
    """

    def __init__(self, number: int, paths: Sequence[str], store: Store) -> None:
        self.number = number
        self.count = len(paths)
        self._store = store
        self._forwarding = Forwarding(self._send_calls)
        self.links = {
            each: Link(path, each, self._forwarding)
            for each, path in enumerate(paths)
            if each != number
        }
        self._by_prefix: dict[bytes, Link] = {}
        self._placements: Mapping[UUID, int] = {}

    async def run(self) -> None:
        """Maintain the connections to the owners, for as long as the service runs."""
        await asyncio.gather(self._tick(), *(each.run() for each in self.links.values()))

    async def _tick(self) -> None:
        try:
            while True:
                await asyncio.sleep(TICK_SECONDS)
                self._forwarding.tick()
        finally:
            self._forwarding.close()

    def _send_calls(self, partition: int, is_repeated: bool, columns: msgspec.Raw) -> None:
        self.links[partition].send_calls(is_repeated, columns)

    async def replace(self, keys: Iterable[ApiKey]) -> None:
        """Replace the known keys, and look up where their tenants live."""

        def read() -> dict[UUID, int]:
            with self._store.read() as connection:
                return tenants.placements(connection)

        self._placements = placements = await asyncio.to_thread(read)
        links = self.links
        self._by_prefix = {
            key.prefix.encode(): links[partition]
            for key in keys
            if (partition := placements.get(key.tenant_id, 0)) in links
        }

    # Hot calls

    @property
    def elsewhere(self) -> Gateway:
        """This gateway, which takes hot calls of other partitions."""
        return self

    def forward(self, calls: Sequence[HotCall]) -> Sequence[HotCall]:
        """Forward calls of other partitions to their owners; return this one's, in order."""
        by_prefix = self._by_prefix
        if not by_prefix:
            return calls
        away: dict[Link, list[HotCall]] = {}
        own: list[HotCall] = []
        for call in calls:
            credential = call.credential
            link = None if credential is None else by_prefix.get(prefix_of(credential))
            if link is None:
                own.append(call)
            elif link in away:
                away[link].append(call)
            else:
                away[link] = [call]
        for link, of_link in away.items():
            self._forwarding.add(link.partition, of_link)
        return own

    def credential_elsewhere(self, headers: Sequence[Header]) -> bytes | None:
        """Return the credential of a call that another owner admits; None if this one does."""
        texts = [value for name, value in headers if name == KEY_HEADER]
        is_away = len(texts) == 1 and prefix_of(texts[0]) in self._by_prefix
        return texts[0] if is_away else None

    # Changes

    async def tell(self, tenant_id: UUID, what: str) -> bool:
        """See :class:`~tidegate_server.partitions.peers.Others`."""
        link = self.links.get(await self._partition_of(tenant_id))
        return link is None or await self._told([link], what)

    async def tell_all(self, what: str) -> bool:
        """See :class:`~tidegate_server.partitions.peers.Others`."""
        return await self._told(self.links.values(), what)

    async def _told(self, links: Iterable[Link], what: str) -> bool:
        # A worker that is down reads everything when it starts.
        asked = [each.ask(what) for each in links if each.is_up]
        try:
            async with asyncio.timeout(TELL_SECONDS):
                replies = await asyncio.gather(*asked, return_exceptions=True)
        except TimeoutError:
            return False
        return not any(isinstance(each, BaseException) for each in replies)

    # Other requests

    def in_front_of(self, application: Any) -> Callable[[Scope, Receive, Send], Any]:
        """Return an ASGI application that has each request answered by its owner.

        Args:
            application: answers requests for this partition.
        """

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await application(scope, receive, send)
                return
            path = path_as_written(scope)
            if path == METRICS and scope["method"] == "GET":
                links = self.links.values()
                await send_pages(self.number, application, links, scope, receive, send)
                return
            link = self.links.get(await self._owner_of(scope, path))
            if link is None:
                await application(scope, receive, send)
            else:
                await link.forward(scope, receive, send)

        return answer

    async def _owner_of(self, scope: Scope, path: str) -> int:
        named = route_key_in(path)
        if named.tenant_id is not None:
            return await self._partition_of(named.tenant_id)
        if named.challenge_id is not None:
            return await self._partition_of_challenge(named.challenge_id, scope["query_string"])
        credential = credential_of(scope["headers"])
        if credential is not None:
            link = self._by_prefix.get(prefix_of(credential))
            return self.number if link is None else link.partition
        return 0 if named.is_of_first else self.number

    async def _partition_of(self, tenant_id: UUID) -> int:
        """Return a tenant's partition; the first partition refuses unknown tenants."""
        known = self._placements.get(tenant_id)
        if known is not None:
            return known

        def read() -> int:
            with self._store.read() as connection:
                return tenants.placements(connection, tenant_id).get(tenant_id, 0)

        return await asyncio.to_thread(read)

    async def _partition_of_challenge(self, challenge_id: UUID, query: bytes) -> int:
        """Return the partition of the decision that challenged."""

        def tenant_of() -> UUID | None:
            with self._store.read() as connection:
                return tenant_of_challenge(connection, challenge_id, query)

        tenant_id = await asyncio.to_thread(tenant_of)
        if tenant_id is not None:
            return await self._partition_of(tenant_id)
        for link in self.links.values():
            with suppress(Problem):
                if await link.ask(f"decision {challenge_id}"):
                    return link.partition
        return self.number
