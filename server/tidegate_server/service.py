"""The running service: everything that lives from start to stop, and the background tasks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import UUID

import attrs

from tidegate.edge.addresses import TrustedProxies
from tidegate.errors import TidegateError
from tidegate.functions.addresses import parse_range
from tidegate.policy.published import MAX_BYTES
from tidegate_server.alerts.starting import alerting_of, watcher_of
from tidegate_server.challenge.parts import ChallengeParts
from tidegate_server.challenge.turnstile import Turnstile
from tidegate_server.challenges.reachability import warn_of_unreachable
from tidegate_server.control.app import Application
from tidegate_server.control.runtime import LiveRuntime
from tidegate_server.definitions.changes import remove_pending
from tidegate_server.definitions.refresher import Refresher
from tidegate_server.directory.log_check import check_log, lost_in
from tidegate_server.engines.compiling import compile_newest, keep_newest
from tidegate_server.engines.engines import Runtimes
from tidegate_server.engines.replay import Replays
from tidegate_server.engines.retention import Retention
from tidegate_server.geo.databases import GeoDatabases
from tidegate_server.hot import unrecorded
from tidegate_server.hot.admission import Admission
from tidegate_server.hot.hot_path import HotPath
from tidegate_server.hot.idempotency import KEPT, IdempotencyKeys, Recorded
from tidegate_server.hot.metrics import Figures, HotMetrics
from tidegate_server.hot.rate_limit import RateLimits
from tidegate_server.hot.recorder import Recorder
from tidegate_server.hot.seen_keys import KeyFilter
from tidegate_server.http.access_log import AccessLog
from tidegate_server.http.problems import Problem
from tidegate_server.logging import log, log_failure
from tidegate_server.login.logins import Logins
from tidegate_server.offload.inbox import Inbox
from tidegate_server.offload.kinds import SECONDS, Work
from tidegate_server.offload.slots import Party, slots_of
from tidegate_server.operators.key_ring import ApiKey, KeyRing
from tidegate_server.operators.providers import read_providers
from tidegate_server.owners.peers import DECISION, DEFINITIONS
from tidegate_server.publishing.destinations import destination_of
from tidegate_server.publishing.publisher import Publisher
from tidegate_server.routing.routes import words_of_paths
from tidegate_server.settings.bounds import split_list
from tidegate_server.stores.base import DamagedLogError, NotFoundError, StoreUnavailableError
from tidegate_server.stores.decision_log import decisions, replay_jobs, snapshots
from tidegate_server.stores.decision_log import log as decision_log
from tidegate_server.stores.index import idempotency
from tidegate_server.stores.niceness import be_nice
from tidegate_server.stores.objects import api_keys, pending
from tidegate_server.stores.rows.bulk import STEP_ROWS
from tidegate_server.sync.application import SyncCalls
from tidegate_server.sync.feed import Feed
from tidegate_server.sync.forwarded import Forwarding
from tidegate_server.sync.messages import Secrets
from tidegate_server.sync.signing import Signer
from tidegate_server.turns.lanes import Lanes

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tidegate.policy.backend import Frozen
    from tidegate_server.engines.compiled import CompiledChange, CompiledSet
    from tidegate_server.engines.following import Level
    from tidegate_server.hot.gap import Gap
    from tidegate_server.http.application import Handler
    from tidegate_server.operators.keys import Keys
    from tidegate_server.owners.peers import Peers
    from tidegate_server.settings.whole import Settings
    from tidegate_server.stores.decision_log.lines import LogBlock
    from tidegate_server.stores.port import Store
    from tidegate_server.workers.pools import Shared, WorkerPools

POLL_SECONDS = 0.25
"""How often other processes' changes are polled; a change is active within a second."""
GRACE_SECONDS = 0.05
"""The delay before peers take over a change: the process that made it has it compiled already."""
TAKE_OVER_SECONDS = 20.0
"""How long the answer to a change waits until the change is active."""
RETRY_SECONDS = 2.0
HOUSEKEEPING_SECONDS = 0.5
GATHER_SECONDS = 1.0
"""The greatest age of the figures of engines and store."""
NOTE_USES_SECONDS = 10.0
"""How often the last use of API keys is written."""
SAVING_SHARE = 0.05
"""The largest share of time spent on saving states: large ones are saved less often."""


class Service:
    """The parts of a running service.

    Args:
        settings: of the process.
        store: open and migrated.
        keys: the key material of the data directory.
        base_url: the address that callers reach the service by.
        crew: the worker processes.
        peers: the owners of other partitions; None if this is the only one.

    Raises:
        SettingsError: an address database can't be used.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        keys: Keys,
        base_url: str,
        pools: WorkerPools | Shared,
        peers: Peers | None = None,
    ) -> None:
        self._peers = peers
        self.settings = settings
        self.store = store
        self.keys = keys
        self.base_url = base_url
        self.lanes = Lanes(settings.server.tenant_waiting_calls)
        self.runtimes = Runtimes(
            store, keys, self._compile_newest, self.lanes.still, self._keep_newest
        )
        self.key_ring = KeyRing(keys.pepper)
        self.idempotency = IdempotencyKeys(keys.redaction, self._recorded_answer)
        self.metrics = HotMetrics(settings.metrics.policies)
        self.access = AccessLog(settings.log.sample_seconds, words_of_paths())
        self.feed = Feed(
            store,
            self.runtimes,
            Signer(keys.sync),
            self._secrets_of,
            lambda: self.base_url,
            lambda: self.recorder.committed,
        )
        self._connect_runtimes()
        self.geo = GeoDatabases.open(settings.geo.databases)
        self.live = LiveRuntime(store, self.runtimes, self.metrics, self.lanes, self.geo)
        self._refresher = self._make_refresher()
        self._pools = pools
        self._replays = Replays(store, self._replay)
        self._admission = Admission(
            self.key_ring,
            RateLimits(),
            tenant_limit=settings.server.tenant_rate_limit_per_minute,
        )
        self.application = Application(
            store=store,
            keys=keys,
            runtime=self.live,
            replays=self._replays,
            refresher=self._refresher,
            alerting=alerting_of(settings),
            workers=self._pools.pool,
            passwords=self._pools.passwords,
            places=slots_of(
                settings.workers.operator_places,
                settings.workers.tenant_places,
                settings.workers.places,
            ),
            access=self.access,
            base_url=lambda: self.base_url,
            logins=Logins(
                read_providers(settings.login.providers),
                local=settings.login.local,
                anyone=settings.login.new_operators == "anyone",
            ),
            figures=Figures(settings.metrics.public, settings.metrics.token),
            token_lifetime_seconds=settings.token.lifetime_seconds,
            max_api_key_rate_limit_per_minute=settings.server.max_api_key_rate_limit_per_minute,
            definitions_changed=self._definitions_changed,
            api_keys_changed=self._api_keys_changed,
            partitions=1 if peers is None else peers.count,
            proxies=TrustedProxies.of(settings.server.proxies),
            admit_key=self._admission.admit_text,
            challenges=ChallengeParts.of(keys.proofs, _turnstile(settings), lambda: self.base_url),
        )
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._snapshot_seq = 0
        self._save_after = 0.0
        self._saving = asyncio.Lock()
        self._refreshing_keys = asyncio.Lock()
        self._saver = ThreadPoolExecutor(1, "tidegate-save", initializer=be_nice)

    def _connect_runtimes(self) -> None:
        self.runtimes.activated = self.feed.activated
        self.runtimes.dropped = self.feed.dropped
        self.runtimes.prepare = self.feed.loaded
        self.runtimes.loaded = self.lanes.release

    def prepare(self) -> None:
        """Do the slow preparations that don't need the store, unless already done."""
        self.application.logins.prepare()

    async def start(self, level: Level | None = None) -> HotPath:
        """Start everything from the content of the store.

        Args:
            level: states that have already caught up with the log.
        """
        self._loop = asyncio.get_running_loop()
        # A follower that just read the log has found all that a check would.
        look = lost_in if level is not None and level.is_sound else check_log
        self.live.lost_decisions = await asyncio.to_thread(look, self.store)
        await self._pools.start()
        await self.runtimes.begin(None if level is None else level.tenants)
        # Together, because each waits for the database.
        seq, self._snapshot_seq, *_ = await asyncio.gather(
            asyncio.to_thread(self._last_seq),
            asyncio.to_thread(self._oldest_snapshot),
            # An idempotency key that the last process didn't index would be taken for a new one.
            asyncio.to_thread(self.store.index_now),
            asyncio.to_thread(self._end_interrupted_jobs),
            asyncio.to_thread(warn_of_unreachable, self.store, self.base_url),
            self._refresh_keys(),
        )
        is_relaxed = self.settings.store.durability == "relaxed"
        self.recorder = Recorder(
            self.store,
            seq,
            self._rebuild,
            self._record_gaps if is_relaxed else None,
            self._committed,
        )
        await self.feed.start()
        self.store.changed()
        await asyncio.to_thread(self.prepare)
        retention = Retention(self.store, self.save_states)
        await asyncio.to_thread(self.live.gather)
        for work in (
            self._follow_changes,
            self._fill_filter,
            self._keep_house,
            self._remove_interrupted,
            self._gather_figures,
            self.geo.run,
            retention.run,
        ):
            self.watch(work())
        if self._refresher is not None:
            self.watch(self._refresher.run())
        self.live.publisher = self._begin_to_publish()
        self.live.recorder, self.live.loop = self.recorder, self._loop
        watcher = watcher_of(self.settings, self.store, self.keys, self.live, lambda: self.base_url)
        if watcher is not None:
            self.watch(watcher.run(time.time_ns))
        self.live.is_ready = True
        self.runtimes.load_rest()
        self.forwarding = Forwarding(
            store=self.store,
            recorder=self.recorder,
            admission=self._admission,
            lanes=self.lanes,
            feed=self.feed,
        )
        return HotPath(
            admission=self._admission,
            runtimes=self.runtimes,
            idempotency=self.idempotency,
            recorder=self.recorder,
            metrics=self.metrics,
            base_url=lambda: self.base_url,
            tells_limits=self.settings.server.rate_limit_header,
            lanes=self.lanes,
            access=self.access,
            look_up=self._recorded_answers,
            geo=self.geo,
        )

    def _make_refresher(self) -> Refresher | None:
        """Return what refreshes published lists, if the settings say so."""
        lists = self.settings.lists
        if not lists.refresh:
            return None
        # The HTTP library takes a while to import, which a service without this saves.
        from tidegate.fetching import Fetcher

        allowed = [parse_range(each) for each in split_list(lists.allow_networks)]
        fetcher = Fetcher(max_bytes=MAX_BYTES, allowed=[each for each in allowed if each])
        return Refresher(
            lambda: self.application, fetcher, self.store.partition, self.live.refreshes
        )

    def _begin_to_publish(self) -> Publisher | None:
        """Start exporting decisions, if the settings say so."""
        publish = self.settings.publish
        if not publish.url:
            return None
        destination = destination_of(
            publish.url, publish.secret, publish.subject, lambda: int(time.time())
        )
        publisher = Publisher(self.store, destination, lambda: self.recorder.committed)
        self.watch(publisher.run())
        return publisher

    def _secrets_of(self, tenant_id: UUID) -> Secrets:
        """Return a tenant's secrets for its daemons."""
        keys = self.keys
        made = (keys.redaction_of, keys.proofs_of, keys.sealing_of)
        return Secrets(*(key(tenant_id).hex() for key in made))

    def handlers(self) -> dict[str, Handler]:
        """Return the handlers of the routes of sync, by their paths."""
        return SyncCalls(self._admission, self.feed, self.forwarding, self.store).handlers()

    def watch(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something in the background, until the stop; return its task."""
        self._tasks.append(task := asyncio.create_task(work))
        task.add_done_callback(log_failure)
        return task

    async def stop(self, *, saves: bool = True) -> None:
        """Finish accepted calls, save the states, close.

        Args:
            saves: whether to save the states; if another process has them, the next start is fast
                without.
        """
        self.live.is_ready = False
        await self.runtimes.stop_loading()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.live.recorder is not None:  # it did start
            self._replays.stop()
            self._pools.replay.end()
            await asyncio.to_thread(self._replays.close)
            self._note_uses()
            await self.lanes.close()
            await self.recorder.drain()
            if saves:
                with suppress(Problem, StoreUnavailableError):
                    await self.save_states()
            await self.recorder.close()
        self._saver.shutdown(wait=False)
        await self._pools.stop()
        await asyncio.to_thread(self.store.close)

    async def _compile_newest(
        self, tenant_id: UUID, base: int | None
    ) -> CompiledSet | CompiledChange:
        return await self._pools.pool.run(
            partial(compile_newest, tenant_id, base),
            Inbox(self.application),
            (Party.TENANT, tenant_id),
            SECONDS[Work.COMPILE],
            is_urgent=True,
        )

    async def _keep_newest(self, tenant_id: UUID) -> None:
        try:
            await self._pools.pool.run(
                partial(keep_newest, tenant_id),
                Inbox(self.application),
                (Party.TENANT, tenant_id),
                SECONDS[Work.COMPILE],
            )
        except NotFoundError:
            pass  # it was deleted meanwhile
        except TidegateError as error:  # the next start compiles them from text
            reason = str(error)
            log.warning("compiled definitions are not kept", tenant=str(tenant_id), reason=reason)

    def _replay(self, job: Callable[[Application], Any]) -> Any:
        return self._pools.replay.run(job, Inbox(self.application))

    async def save_states(self) -> None:
        """Save every tenant's state, as of the last decision made.

        Raises:
            Problem: the decision log cannot be written.
            StoreUnavailableError: nothing can be written.
        """
        await self.runtimes.wait_for()  # the saved states are those of all tenants
        async with self._saving:
            seq, frozen = await self.recorder.cut(self._freeze, self.lanes.all_still)
            loop = asyncio.get_running_loop()
            while frozen:
                # A saved state is released.
                tenant_id, revision, state = frozen.pop()
                await loop.run_in_executor(
                    self._saver, self._save_state, tenant_id, revision, seq, state
                )
            self._snapshot_seq = seq

    def _freeze(self, seq: int) -> tuple[int, list[tuple[UUID, int, Frozen]]]:
        tenants = self.runtimes.all()
        return seq, [(each.tenant_id, each.revision, each.engine.freeze()) for each in tenants]

    def _save_state(self, tenant_id: UUID, revision: int, seq: int, state: Frozen) -> None:
        steps = snapshots.steps(_Taken(tenant_id, seq, revision, time.time_ns(), state.write))
        with suppress(NotFoundError):  # deleted since
            for step in steps:
                self.store.write(step, quietly=True).result()
        while self.store.write(lambda c: snapshots.tidy(c, tenant_id), quietly=True).result():
            pass

    def _committed(self, blocks: Sequence[LogBlock], last_seq: int) -> None:
        self.access.decided(blocks)
        self.feed.committed(blocks, last_seq)

    async def _rebuild(self) -> None:
        """Rebuild the states from the log; daemons may know effects that it lacks."""
        await self.runtimes.load()
        self.feed.reset()

    def _record_gaps(self, found: Mapping[UUID, Gap]) -> Future[None]:
        """Write to the audit how many decisions were answered but not recorded."""
        # The states contain decisions that the log lacks; only a snapshot preserves them over a
        # restart.
        self._snapshot_seq = -self.settings.store.snapshot_every
        return self.store.write(
            lambda connection: unrecorded.add(connection, found, time.time_ns())
        )

    async def asked(self, what: str) -> object:
        """Reply to another owner: take over a change now, or search for a decision."""
        if what == DEFINITIONS:
            await self.runtimes.refresh()
            return True
        return await asyncio.to_thread(self._has_decision, UUID(what.removeprefix(DECISION)))

    def _has_decision(self, decision_id: UUID) -> bool:
        with self.store.read() as connection:
            try:
                decisions.find_of_any(connection, decision_id)
            except NotFoundError:
                return False
            return True

    def _definitions_changed(self, tenant_id: UUID) -> bool:
        """Wait until changed definitions are in effect; handlers call this on their worker threads.

        Returns:
            Whether they are, in the process that decides this tenant's events.
        """

        async def refresh() -> bool:
            is_active = await self.runtimes.refresh(tenant_id)
            is_told = self._peers is None or await self._peers.tell(tenant_id, DEFINITIONS)
            return is_active and is_told

        return self._take_over(refresh)

    def _api_keys_changed(self, _tenant_id: UUID) -> None:
        """Make changed keys effective before the handler's answer is sent, on its worker thread."""

        async def refresh() -> bool:
            # Only the owner of a tenant admits its keys, and it has made the change.
            await self._refresh_keys()
            return True

        self._take_over(refresh)

    def _take_over(self, refresh: Callable[[], Coroutine[Any, Any, bool]]) -> bool:
        """Wait for a change to be taken over; return whether it was."""
        if self._loop is None:
            return True
        taken = asyncio.run_coroutine_threadsafe(refresh(), self._loop)
        try:
            return taken.result(TAKE_OVER_SECONDS)
        except TimeoutError:
            return False  # The compilation continues, and the definitions are active when it ends.
        except Exception:
            log.exception("a change could not be taken over; it is tried again")
            self._loop.call_soon_threadsafe(self._changed.set)
            return False

    async def _refresh_keys(self) -> None:
        # One at a time: otherwise definitions read first could become active last.
        async with self._refreshing_keys:
            found = await asyncio.to_thread(self._read_keys)
            self.key_ring.replace(found)
            self.lanes.keep({key.tenant_text for key in found})

    async def _follow_changes(self) -> None:
        """Take over changes of other processes, and changes that failed before."""
        while True:
            try:
                if not await self._has_changed():
                    continue
                self._changed.clear()
                await self._refresh_keys()
                await self.runtimes.refresh()
            except Exception:
                log.exception("changes could not be taken over; they are tried again")
                await asyncio.sleep(RETRY_SECONDS)
                self._changed.set()

    async def _has_changed(self) -> bool:
        """Wait for a change, and return whether there was one in that time."""
        try:
            async with asyncio.timeout(POLL_SECONDS):
                await self._changed.wait()
        except TimeoutError:
            if not await asyncio.to_thread(self.store.changed):
                return False
            await asyncio.sleep(GRACE_SECONDS)
        return True

    async def _fill_filter(self) -> None:
        """Read the idempotency keys of the last day, so that new ones need no lookup."""
        known = KeyFilter(KEPT)
        now = time.time_ns()

        def fill() -> None:
            self.store.index_now()
            with self.store.read() as connection:
                for key, at in idempotency.used(connection, now):
                    known.add([key], at)

        while True:
            try:
                await asyncio.to_thread(fill)
            except Exception:
                log.exception("idempotency keys could not be read; it is tried again")
                await asyncio.sleep(RETRY_SECONDS)
            else:
                break
        self.idempotency.use(known, now)

    def _note_uses(self) -> None:
        """Write when API keys were last used; if nothing can be written, try later."""
        used = [(UUID(api_key_id), at) for api_key_id, at in self._admission.used.items()]
        with suppress(StoreUnavailableError):
            for start in range(0, len(used), STEP_ROWS):
                part = dict(used[start : start + STEP_ROWS])
                self.store.write(partial(api_keys.used, last_used_at_ns=part), quietly=True)
            self._admission.used.clear()

    async def _remove_interrupted(self) -> None:
        """Remove the rows of changes that a kill or a full disk interrupted."""
        with self.store.read() as connection:
            found = pending.interrupted(connection, self.store.partition)
        for change in found:
            await asyncio.to_thread(remove_pending, self.store, change)

    async def _keep_house(self) -> None:
        note_uses_after = 0.0
        while True:
            await asyncio.sleep(HOUSEKEEPING_SECONDS)
            self.recorder.probe()
            if time.monotonic() > note_uses_after:
                note_uses_after = time.monotonic() + NOTE_USES_SECONDS
                self._note_uses()
            self.idempotency.forget(self.store.statistics().indexed_seq)
            due = self.recorder.seq - self._snapshot_seq >= self.settings.store.snapshot_every
            if not due or self.runtimes.left_to_load:
                continue
            started = time.monotonic()
            if started < self._save_after:
                continue
            try:
                await self.save_states()
            except Exception:
                log.exception("the states could not be saved; it is tried again")
            finished = time.monotonic()
            self._save_after = finished + (finished - started) / SAVING_SHARE

    async def _gather_figures(self) -> None:
        """Gather figures, so that reading them waits for no engine and no store."""
        while True:
            await asyncio.sleep(GATHER_SECONDS)
            try:
                await asyncio.to_thread(self.live.gather)
            except Exception:
                log.exception("figures could not be gathered; the ones before stay")

    def _read_keys(self) -> list[ApiKey]:
        with self.store.read() as connection:
            rows = api_keys.live(connection, time.time_ns())
            most = self.settings.server.max_api_key_rate_limit_per_minute
            return [_api_key(row, most) for row in rows]

    def _end_interrupted_jobs(self) -> None:
        now = time.time_ns()
        partition = self.store.partition
        self.store.write(lambda c: replay_jobs.fail_interrupted(c, now, partition)).result()

    def _last_seq(self) -> int:
        with self.store.read() as connection:
            return decision_log.last_seq(connection)

    def _oldest_snapshot(self) -> int:
        with self.store.read() as connection:
            return snapshots.oldest_newest_seq(connection, self.store.partition)

    def _recorded_answer(self, key: bytes) -> Recorded | None:
        with self.store.read() as connection:
            found = idempotency.find(connection, key, time.time_ns())
            if found is None:
                return None
            try:
                decision = decision_log.read(connection, found.seq).decision()
            except (NotFoundError, DamagedLogError):
                log.warning("the decision of an idempotency key is lost", seq=found.seq)
                return None
        return Recorded(found.fingerprint, bytes(decision.answer))

    def _recorded_answers(self, tenant_id: UUID, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        found = {}
        with self.store.read() as connection:
            for each in ids:
                with suppress(NotFoundError):
                    seq = decisions.find(connection, tenant_id, UUID(bytes=each)).seq
                    found[each] = bytes(decision_log.read(connection, seq).decision().answer)
        return found


def _turnstile(settings: Settings) -> Turnstile:
    keys = settings.challenge
    hostname = urlsplit(settings.server.public_url).hostname or ""
    return Turnstile(
        keys.turnstile_site_key, keys.turnstile_secret, keys.turnstile_verify_url, hostname
    )


@attrs.frozen
class _Taken:
    """A tenant's state to save."""

    tenant_id: UUID
    seq: int
    revision: int
    created_at_ns: int
    write: Callable[[Callable[[bytes], object]], None]


def _api_key(kept: api_keys.ApiKey, most: int) -> ApiKey:
    """Return a key for the hot path, with its limit capped at ``most``."""
    hashes: list[tuple[bytes, int | None]] = [(kept.secret_hash, None)]
    if kept.previous_secret_hash is not None:
        hashes.append((kept.previous_secret_hash, kept.previous_secret_until_ns or 0))
    return ApiKey(
        kept.api_key_id,
        kept.tenant_id,
        kept.prefix,
        min(kept.rate_limit_per_minute, most),
        tuple(hashes),
        kept.expires_at_ns,
        kept.can_sync,
    )
