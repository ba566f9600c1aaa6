"""The states of all tenants, kept up to date with a log that another process appends to.

``cluster/follower.py`` decides which parts are read, when, and whether they fit. Here are the
engines that it changes, and the log that it reads. A state depends on the definitions that made its
decisions, so a tenant must never lag behind its definitions. So each read takes log entries and the
revisions of the definitions that decided them from one snapshot of the database. A tenant whose
definitions changed gets its state rebuilt, as at a start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

import attrs

from tidegate.errors import EffectsError
from tidegate_server.cluster.messages import Block, Entry, ReadRequest, ReadResult
from tidegate_server.engines.engines import rebuilt
from tidegate_server.stores.base import NotFoundError
from tidegate_server.stores.decision_log import log as decision_log
from tidegate_server.stores.objects import tenants

if TYPE_CHECKING:
    from tidegate.evaluation.native import Redactor
    from tidegate.policy.proofs import ProofKeys
    from tidegate_server.engines.compiled import CompiledSet
    from tidegate_server.engines.engines import Runtimes
    from tidegate_server.engines.serving import BundledEngine
    from tidegate_server.engines.tenant import Revision, Tenant
    from tidegate_server.stores.port import Store

READ_ENTRIES = 4_096
"""The most decisions in one read."""


class UnfollowableError(Exception):
    """The log can't be followed from here: the states must be rebuilt."""


@attrs.frozen
class Level:
    """States as of a number in the log.

    Attributes:
        tenants: by id; the state of a missing one has to be read from the log.
        seq: the number of the last decision in the states.
        is_sound: whether the log that was read for them is undamaged.
    """

    tenants: Mapping[UUID, Tenant]
    seq: int
    is_sound: bool


class States:
    """The decider of a follower, with an engine for each tenant.

    Its methods run on one thread at a time.

    Args:
        runtimes: creates tenants from the store; holds no active ones meanwhile.
        store: stores definitions and the log.
    """

    def __init__(self, runtimes: Runtimes, store: Store) -> None:
        self._runtimes = runtimes
        self._store = store
        self._tenants: dict[UUID, tuple[Tenant, int]] = {}
        """Tenants, with the number up to which the log is in the state if that exceeds ``_seq``."""
        self._wanted: dict[UUID, Revision] = {}
        self._unusable: dict[UUID, Revision] = {}
        self._seq = 0
        self._is_sound = True

    @property
    def is_whole(self) -> bool:
        """Whether no tenant waits for its state; those with unusable definitions have none."""
        return not self._missing()

    def begin(self) -> int:
        """Forget everything, and start at the end of the log; return its number."""
        self._tenants.clear()
        self._unusable.clear()
        self._is_sound = True
        with self._store.read() as connection:
            self._seq = decision_log.last_seq(connection)
            self._wanted = tenants.definition_revisions(connection, self._store.partition)
        return self._seq

    async def restore(self) -> None:
        """Build missing states of tenants, by their present definitions."""
        for tenant_id, revision in self._missing().items():
            made_at: list[int] = []

            def make(
                made: CompiledSet,
                redactor: Redactor,
                proof_keys: ProofKeys,
                tenant_id: UUID = tenant_id,
                made_at: list[int] = made_at,
            ) -> BundledEngine:
                with self._store.read() as connection:
                    made_at.append(decision_log.last_seq(connection))
                    return rebuilt(connection, tenant_id, made, redactor, proof_keys, self._damaged)

            try:
                tenant = await self._runtimes.restored(tenant_id, revision, make)
            except NotFoundError:  # it was deleted meanwhile
                tenant = None
            if tenant is None:
                self._unusable[tenant_id] = revision
            else:
                self._tenants[tenant_id] = tenant, made_at[-1]

    def read(self, request: ReadRequest) -> ReadResult:
        """Read the entries after a number of the log.

        Raises:
            DamagedLogError: a row is damaged.
            StoreUnavailableError: the log can't be read now.
            UnfollowableError: decisions are missing.
        """
        after = request.after
        with self._store.read() as connection:
            self._wanted = tenants.definition_revisions(connection, self._store.partition)
            end = decision_log.last_seq(connection)
            until = min(end, after + READ_ENTRIES)
            lines = (
                list(decision_log.scan(connection, after=after, until=until)) if end > after else []
            )
        if len(lines) != max(until - after, 0):
            raise UnfollowableError(f"decisions are missing between {after} and {until}")
        for tenant_id in self._missing():
            # Later entries were decided by other definitions, which this state doesn't know.
            self._tenants.pop(tenant_id, None)
        for tenant_id in self._tenants.keys() - self._wanted.keys():
            del self._tenants[tenant_id]
        entries = tuple(Entry(str(each.tenant_id), each.effects()) for each in lines)
        blocks = (Block(after, entries),) if entries else ()
        return ReadResult(request.partition, after, blocks, end)

    def apply(self, entries: Sequence[Entry]) -> None:
        """Apply the effects of the entries' decisions to the states.

        Raises:
            UnfollowableError: an effect is malformed.
        """
        effects: dict[UUID, list[bytes]] = {}
        for seq, entry in enumerate(entries, self._seq + 1):
            tenant_id = UUID(entry.tenant)
            known = self._tenants.get(tenant_id)
            if known is not None and seq > known[1]:
                effects.setdefault(tenant_id, []).append(entry.effects)
        for tenant_id, found in effects.items():
            try:
                self._tenants[tenant_id][0].engine.apply_effects(found)
            except EffectsError as error:
                raise UnfollowableError(str(error)) from error
        self._seq += len(entries)

    def level(self) -> Level:
        """Hand the states over to the caller."""
        # A state built from more of the log than was read since is complete, but the others aren't.
        at_end = {each: tenant for each, (tenant, seq) in self._tenants.items() if seq <= self._seq}
        return Level(at_end, self._seq, self._is_sound)

    def _damaged(self) -> None:
        self._is_sound = False

    def _missing(self) -> dict[UUID, Revision]:
        """Return the tenants that need a state, with the revision it must have."""
        return {
            tenant_id: revision
            for tenant_id, revision in self._wanted.items()
            if not self._has(tenant_id, revision) and self._unusable.get(tenant_id) != revision
        }

    def _has(self, tenant_id: UUID, revision: Revision) -> bool:
        known = self._tenants.get(tenant_id)
        return known is not None and known[0].read_at == revision
