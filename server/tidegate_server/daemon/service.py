"""The running daemon: the server's hot path over a spool, and the tasks that keep it in sync."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from hmac import compare_digest
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs

from tidegate.client.transport import Transport
from tidegate.errors import DefinitionsError
from tidegate_server.daemon import saving
from tidegate_server.daemon.cache import Cache
from tidegate_server.daemon.definitions import Definitions
from tidegate_server.daemon.failing import FailOpenBudget, let_through
from tidegate_server.daemon.following import MOST_WAIT_SECONDS, Following
from tidegate_server.daemon.forwarding import Forwarding
from tidegate_server.daemon.local import LocalTenant
from tidegate_server.daemon.origin import Origin, OriginError
from tidegate_server.daemon.spool import Spool
from tidegate_server.daemon.tickets import answers_with_tickets
from tidegate_server.geo.databases import GeoDatabases
from tidegate_server.hot.admission import Admission
from tidegate_server.hot.hot_path import HotPath
from tidegate_server.hot.idempotency import KEPT, IdempotencyKeys, Recorded
from tidegate_server.hot.metrics import HotMetrics
from tidegate_server.hot.rate_limit import RateLimits
from tidegate_server.hot.recorder import Recorder
from tidegate_server.hot.seen_keys import KeyFilter
from tidegate_server.http.problems import Problem
from tidegate_server.logging import log, log_failure
from tidegate_server.operators.key_ring import ApiKey, KeyRing
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.sync.messages import Ack
from tidegate_server.turns.lanes import Lanes
from tidegate_server.workers.tidying import give_back_memory

if TYPE_CHECKING:
    from tidegate.evaluation.native import Block
    from tidegate_server.daemon.home import Home
    from tidegate_server.hot.gap import Gap
    from tidegate_server.http.answer import Header
    from tidegate_server.settings.whole import Settings
    from tidegate_server.stores.decision_log.lines import LogBlock

SAVE_SECONDS = 30.0
ACK_SECONDS = 20.0
SETTLE_SECONDS = 0.5
"""Delay from a change to its acknowledgement, so that several changes share one."""
HOUSEKEEPING_SECONDS = 0.5
_NO_ID = UUID(int=0)


@attrs.frozen
class _LocalAdmission(Admission):
    """Admits callers with the token; without a token, everyone who reaches the address."""

    local: ApiKey = attrs.field(kw_only=True)
    token: bytes = attrs.field(kw_only=True, repr=False)

    def credential(self, headers: Sequence[Header]) -> ApiKey:
        return super().credential(headers) if self.token else self.local

    def key_of(self, text: bytes | None) -> ApiKey:
        if self.token and not compare_digest(text or b"", self.token):
            raise Problem("unauthenticated")
        return self.local

    def _take(self, key: ApiKey, events: int, now: int) -> int:  # noqa: ARG002
        return events


class Daemon:
    """The parts of a running daemon.

    Args:
        settings: the process's settings.
        home: its folder.

    Raises:
        StoreUnavailableError: the spool cannot be opened.
        ValueError: the service's address is invalid.
        SettingsError: an address database can't be used.
    """

    def __init__(self, settings: Settings, home: Home) -> None:
        # First: an address that is refused leaves no thread and no open file.
        self._transport = Transport(
            settings.remote.url, home.api_key, tls=None, allow_http=settings.daemon.allow_http
        )
        self.geo = GeoDatabases.open(settings.geo.databases)
        self.settings = settings
        self.home = home
        self.cache = Cache.of(home.cache, home.api_key)
        self.local = LocalTenant(home.tenant_id, settings.daemon.fail_mode)
        self.spool = Spool(home.data, settings.daemon.spool_mib * 1024 * 1024)
        self.lanes = Lanes()
        self.metrics = HotMetrics()
        self.budget = FailOpenBudget(settings.daemon.fail_open_per_hour)
        self.idempotency = IdempotencyKeys(self.cache.key, self._recorded_answer)
        origin = Origin(self._transport, home.tenant_id, home.public_key)
        files = Definitions.of(home)
        self._files = files
        self.following = Following(
            origin,
            self.local,
            files,
            self.spool,
            self._still,
            self._last,
            self.save,
            self._pin,
            settings.daemon.retry_seconds,
            # A response without a change is contact too, and must arrive before the contact counts
            # as lost.
            max(1, min(MOST_WAIT_SECONDS, int(settings.daemon.offline_seconds / 3))),
        )
        self.forwarding = Forwarding(
            origin, self.spool, home.daemon_id, settings.daemon.retry_seconds
        )
        self._origin = origin
        self.admission = _LocalAdmission(
            KeyRing(bytes(32)),
            RateLimits(),
            local=ApiKey(_NO_ID, home.tenant_id, "", 1, ()),
            token=settings.daemon.token.encode(),
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._saved: tuple[int, int] = (-1, -1)
        self._saving = asyncio.Lock()
        self._started = time.monotonic()

    async def start(self) -> HotPath:
        """Start with the data on disk, with or without the service."""
        await asyncio.to_thread(self._load)
        await asyncio.to_thread(give_back_memory)
        self.recorder = Recorder(
            self.spool,  # type: ignore[arg-type]
            self.spool.last,
            self._nothing,
            self._record_gaps,
            self._committed,
        )
        known = KeyFilter(KEPT)
        now = time.time_ns()
        for key, at in await asyncio.to_thread(self.spool.keys):
            known.add([key], at)
        self.idempotency.use(known, now)
        if self.settings.daemon.follow:
            self.watch(self.following.run())
        else:
            self.watch(self._look_at_files())
        self.watch(self.forwarding.run())
        self.watch(self._acknowledge())
        self.watch(self._keep_house())
        self.watch(self.geo.run())
        return HotPath(
            admission=self.admission,
            runtimes=self.local,  # type: ignore[arg-type]
            idempotency=self.idempotency,
            recorder=self.recorder,
            metrics=self.metrics,
            base_url=self._base_url,
            lanes=self.lanes,
            answers_of=self._answers_of,
            geo=self.geo,
        )

    async def stop(self) -> None:
        """Finish accepted calls, forward decisions if possible, save the state, close."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.lanes.close()
        await self.recorder.drain()
        with suppress(OriginError, StoreUnavailableError, TimeoutError):
            async with asyncio.timeout(2):
                while await self.forwarding.step():
                    pass
        with suppress(Problem, StoreUnavailableError, OSError):
            await self.save()
        await self.recorder.close()
        await asyncio.to_thread(self.spool.close)
        await self._transport.close()

    def silence(self) -> float:
        """Seconds since the service responded; -1 if it never did."""
        at = self.following.contact_at
        return -1.0 if at is None else time.monotonic() - at

    @property
    def is_refusing(self) -> bool:
        """Whether the newest definitions are unusable."""
        return bool(self.following.refused)

    def mitigations(self) -> dict[str, Any]:
        """The data this machine's firewall needs: the blocked addresses, and what blocks them."""
        return {"tenant_id": str(self.home.tenant_id), **self.local.blocking(time.time_ns())}

    async def save(self) -> None:
        """Save the state after the last decision, and let the spool drop the decisions in it.

        Raises:
            OSError: it cannot be written.
            Problem: the spool cannot be written.
            StoreUnavailableError: the same.
        """
        async with self._saving:
            cursor, newest = self.following.cursor, self.following.newest
            number, frozen = await self.recorder.cut(
                lambda seq: (seq, self.local.freeze()), self.lanes.all_still
            )
            if frozen is None:
                return
            saved = saving.Saved(str(self.spool.spool_id), number, cursor, newest)
            await asyncio.to_thread(saving.write, self.cache, saved, frozen)
            sequence = -1 if cursor is None else cursor.sequence
            await asyncio.to_thread(self.spool.saved, number, sequence)
            del frozen
            await asyncio.to_thread(give_back_memory)
            self._saved = number, sequence

    def _load(self) -> None:
        definitions = self._files.in_use()
        if definitions is None:
            log.warning("no definitions are on disk: the fail mode answers")
            self._load_fail_mode()
            return
        try:
            made = self.local.made(definitions, definitions.compiled())
        except (DefinitionsError, ValueError) as error:
            log.error("the definitions on disk cannot be used", reason=str(error))
            return
        self.local.use(definitions, made)
        self.following.resume(*saving.restore(self.cache, self.spool, self.local))

    def _load_fail_mode(self) -> None:
        part = self._files.fail_part()
        if part is None:
            return
        try:
            self.local.use_fail_part(part)
        except (DefinitionsError, ValueError) as error:
            log.error("the fail mode on disk cannot be used", reason=str(error))

    def _still(self) -> AbstractAsyncContextManager[None]:
        return self.lanes.still(self.home.tenant_id)

    def _last(self) -> int:
        return self.recorder.seq

    def _answers_of(self, block: Block) -> Sequence[bytes | None]:
        keys = self.local.proof_keys
        return block.answers if keys is None else answers_with_tickets(keys, block)

    def _base_url(self) -> str:
        known = self.local.definitions
        return self.settings.remote.url if known is None or not known.base_url else known.base_url

    def _pin(self, public_key: str) -> None:
        if public_key != self.home.public_key:
            self.home = self.home.pinned(public_key)

    def _recorded_answer(self, key: bytes) -> Recorded | None:
        found = self.spool.answer(key)
        return None if found is None else Recorded(*found)

    def _committed(self, blocks: Sequence[LogBlock], _: int) -> None:
        is_known = self.local.known is not None
        passed = sum(let_through(block.lines, is_known) for block in blocks)
        self.budget.count(passed, time.monotonic())

    def _record_gaps(self, found: Mapping[UUID, Gap]) -> Future[None]:
        return self.spool.drop(sum(gap.decisions for gap in found.values()))

    async def _nothing(self) -> None:
        """The state is kept when the spool fails: nothing else is left of the decisions."""

    def watch(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a task alongside the decisions, until the stop."""
        self._tasks.append(task := asyncio.create_task(work))
        task.add_done_callback(log_failure)

    async def _acknowledge(self) -> None:
        """Report the data that this daemon has: soon after a change, and periodically."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(ACK_SECONDS):
                    await self.following.changed.wait()
                    await asyncio.sleep(SETTLE_SECONDS)
            self.following.changed.clear()
            cursor, known = self.following.cursor, self.local.definitions
            said = Ack(
                daemon_id=self.home.daemon_id,
                name=socket.gethostname(),
                version=version("tidegate"),
                mode=self.local.mode,
                sequence=0 if cursor is None else cursor.sequence,
                hash="" if cursor is None else cursor.chain,
                revision=0 if known is None else known.revision,
                spooled=self.spool.waiting,
                dropped=self.spool.dropped,
            )
            with suppress(OriginError):
                await self._origin.acknowledge(said)

    async def _look_at_files(self) -> None:
        """Load the files that ``tidegate sync`` brought."""
        while True:
            await asyncio.sleep(1.0)
            found = await asyncio.to_thread(self._files.in_use)
            if found is None or found == self.local.definitions:
                continue
            try:
                await self.local.decide_by(found, self._still)
            except (DefinitionsError, ValueError) as error:
                log.error("the definitions on disk cannot be used", reason=str(error))

    async def _keep_house(self) -> None:
        save_after = time.monotonic() + SAVE_SECONDS
        while True:
            await asyncio.sleep(HOUSEKEEPING_SECONDS)
            self.recorder.probe()
            self.budget.count(0, time.monotonic())
            self.idempotency.forget(self.recorder.committed)
            await self._look_for_service()
            cursor = self.following.cursor
            present = (self.recorder.seq, -1 if cursor is None else cursor.sequence)
            if time.monotonic() > save_after and present != self._saved:
                started = time.monotonic()
                try:
                    await self.save()
                except Exception as error:
                    log.error("the state could not be saved", reason=str(error))
                took = time.monotonic() - started
                save_after = time.monotonic() + max(SAVE_SECONDS, 20 * took)

    async def _look_for_service(self) -> None:
        if not self.settings.daemon.follow:
            return
        since = self.following.contact_at or self._started
        is_away = time.monotonic() - since > self.settings.daemon.offline_seconds
        if is_away != self.local.is_away:
            self.local.is_away = is_away
            what = "the service is away" if is_away else "the service is back"
            log.warning(what, mode=self.local.mode)
        known = self.local.definitions
        if known is not None and not self.local.is_level:
            try:
                await self.local.decide_by(known, self._still)
            except (DefinitionsError, ValueError) as error:
                log.error("the fail mode cannot be used", reason=str(error))
