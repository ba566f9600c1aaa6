"""Decisions that daemons made and forward: recorded as decided, and counted once.

A decision has a number in the spool of its daemon. The number of the last one is written in the
transaction that appends the decisions, so a repeated batch adds nothing.
"""

from __future__ import annotations

import asyncio
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias
from uuid import UUID
from weakref import WeakValueDictionary

import attrs
import msgspec
import orjson
from msgspec import UNSET, Meta, UnsetType

from tidegate.decider import ActionType
from tidegate.errors import EffectsError, EventError
from tidegate.policy.definitions.model import Mode
from tidegate.policy.effects import read_passes
from tidegate.values import INT_MIN, UINT_MAX
from tidegate_server.http.problems import Problem
from tidegate_server.stores.decision_log.decisions import DIFFERENCE_MS
from tidegate_server.stores.decision_log.foreign_ids import ids_of_others
from tidegate_server.stores.decision_log.lines import (
    LogBlock,
    encode_index,
    encode_line,
    join_effects,
)
from tidegate_server.stores.objects import daemons
from tidegate_server.sync.messages import MAX_EVENTS

if TYPE_CHECKING:
    from tidegate_server.engines.tenant import Tenant
    from tidegate_server.hot.admission import Admission
    from tidegate_server.hot.recorder import Recorder
    from tidegate_server.operators.key_ring import ApiKey
    from tidegate_server.stores.port import Store
    from tidegate_server.sync.feed import Feed
    from tidegate_server.turns.lanes import Lanes

Text: TypeAlias = Annotated[str, Meta(max_length=4_096)]
Int: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Flat: TypeAlias = dict[str, str | Int | bool | None]
"""An object without a list in it: nothing in it can pass for the effects of a line."""
_IDS = Annotated[
    str, Meta(pattern="^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})*$", max_length=36 * 1_000)
]
_COMMIT_SECONDS = 30.0


class _Strict(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Known members of a daemon's decision; serialising them again keeps others out of the log."""


class _Block(_Strict):
    status_code: Int
    body: str
    headers: dict[str, str]


class _Action(_Strict):
    type: ActionType
    block: _Block | UnsetType = UNSET
    challenge: Flat | UnsetType = UNSET


class _Challenge(_Strict):
    provider: Text
    difficulty: Int
    return_url: str | None


class _RecordedAction(_Strict):
    type: ActionType
    block: _Block | UnsetType = UNSET
    challenge: _Challenge | UnsetType = UNSET


class _Answer(_Strict):
    action: _Action | UnsetType = UNSET
    reason: Text | UnsetType = UNSET
    decision_id: UUID | UnsetType = UNSET
    item_id: UUID | UnsetType = UNSET
    lookup_entity_id: UUID | UnsetType | None = UNSET
    active_mitigation: Flat | UnsetType | None = UNSET


class _Entity(_Strict):
    definition: Text
    entity_id: UUID
    key: list[str | int | bool]


class _Window(_Strict):
    value: Int
    threshold: Int


class _Fired(_Strict):
    policy: Text
    clause: Text
    mitigation: Text | None
    mode: Mode
    entity_id: UUID | None
    window: _Window | None
    active: bool


class _Proof(_Strict):
    status: Text
    pass_id: UUID | UnsetType = UNSET
    expires_at: Text | UnsetType = UNSET
    network: Text | UnsetType | None = UNSET
    differs: list[Text] | UnsetType = UNSET


class _Record(_Strict):
    action: _RecordedAction
    reason: Text
    policy: Text | None
    clause: Text | None
    mitigation: Text | None
    entities: list[_Entity]
    matched_actions: list[Text]
    fired: list[_Fired]
    errors: dict[Text, Text]
    budget_ended_at: list[Text] | UnsetType = UNSET
    client_ip_problem: Text | UnsetType = UNSET
    client_ip: Text | UnsetType = UNSET
    proof: _Proof | UnsetType = UNSET


class _Line(msgspec.Struct):
    decision_id: UUID
    source: Text | None
    endpoint: Literal["beacon", "runtime", "authz"]
    revision: Int
    duration_us: Int
    answer: _Answer
    record: _Record
    effects: msgspec.Raw
    event: msgspec.Raw
    sealed: Annotated[str, Meta(pattern="^[A-Za-z0-9_-]*$", max_length=65_536)] | None = None
    trace_id: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")] | None = None


class _Index(msgspec.Struct, array_like=True):
    tenant_id: UUID
    decision_id: UUID
    received_at: Int
    api_key_id: UUID | None
    key: str | None
    fingerprint: str | None
    observed_at: Int
    action: ActionType
    reason: Text
    policy_id: UUID | None
    path: Annotated[str, Meta(max_length=16_384)] | None
    entity_ids: _IDS
    fired: list[tuple[UUID, Mode]]
    errors: list[Annotated[str, Meta(max_length=36)]]


class Item(msgspec.Struct, forbid_unknown_fields=True):
    """A decision to record: its number in the spool, its line and its index entry."""

    number: Int
    line: msgspec.Raw
    index: msgspec.Raw


class Batch(msgspec.Struct, forbid_unknown_fields=True):
    """Decisions of one spool, in order."""

    daemon_id: UUID
    spool_id: UUID
    events: Annotated[list[Item], Meta(max_length=MAX_EVENTS)]


class Refused(msgspec.Struct):
    """A decision that is refused for good."""

    number: int
    detail: str


class Taken(msgspec.Struct):
    """The last decisions of a spool that are in the log."""

    acknowledged: int
    recorded: int
    refused: list[Refused]


@attrs.frozen
class _Read:
    """A decision that can be recorded; its JSON members are as they will be in its line."""

    number: int
    line: _Line
    index: _Index
    answer: bytes
    record: bytes
    event: bytes
    sealed: bytes | None


_BATCH = msgspec.json.Decoder(Batch)
_LINE = msgspec.json.Decoder(_Line)
_INDEX = msgspec.json.Decoder(_Index)


class Forwarding:
    """Takes decisions of daemons; use it only on the event loop's thread.

    Args:
        store: stores how far each spool was recorded.
        recorder: writes to the decision log.
        admission: counts decisions against the limits of keys.
        lanes: the queues of the tenants' decisions.
        feed: knows the active tenants and lifted mitigations.
        clock: nanoseconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        recorder: Recorder,
        admission: Admission,
        lanes: Lanes,
        feed: Feed,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store = store
        self._recorder = recorder
        self._admission = admission
        self._lanes = lanes
        self._feed = feed
        self._clock = clock
        self._spools: WeakValueDictionary[tuple[UUID, UUID, UUID], asyncio.Lock] = (
            WeakValueDictionary()
        )
        self.recorded = 0
        """Decisions recorded since the start."""

    async def take(self, key: ApiKey, body: bytes) -> Taken:
        """Record a batch, without the decisions that are already in the log.

        Raises:
            Problem: it isn't a batch, or the log can't be written; then nothing is taken.
        """
        tenant = self._feed.tenant(key.tenant_id)
        batch = await asyncio.to_thread(read_batch, body)
        spool = (key.tenant_id, batch.daemon_id, batch.spool_id)
        lock = self._spools.setdefault(spool, asyncio.Lock())
        async with lock:
            last = await asyncio.to_thread(self._last, *spool)
            new = [item for item in batch.events if item.number > last]
            new = new[: self._admit(key, len(new))]
            if not new:
                return Taken(last, 0, [])
            read, refused, reached = await asyncio.to_thread(self._read, tenant, new)
            place = daemons.Forwarded(batch.daemon_id, batch.spool_id, reached)
            async with self._lanes.still(key.tenant_id):
                done = self._append(key, read, place, refused)
            if done is None:
                await asyncio.to_thread(self._note, key.tenant_id, place)
            else:
                await asyncio.wait_for(done, _COMMIT_SECONDS)
            count = sum(item.number <= reached for item in new) - len(refused)
            self.recorded += count
            return Taken(place.number, count, refused)

    def _admit(self, key: ApiKey, count: int) -> int:
        """Return how many decisions fit within the limits of the key, from the first on.

        Raises:
            Problem: ``rate-limited``, if none fits.
        """
        room, over = self._admission.count_many(key, count) if count else (0, None)
        if not room and over is not None:
            raise over
        return room

    def _read(
        self, tenant: Tenant, items: Sequence[Item]
    ) -> tuple[list[_Read], list[Refused], int]:
        """Return the decisions to record under their ids, refusals, and how far both reach.

        They reach up to the first decision whose id is of another time, so that a row of the log
        spans no long period. The daemon sends the rest again.
        """
        read, refused = _read(tenant, items)
        first = read[0].line.decision_id.bytes if read else b""
        near = list(takewhile(lambda item: _is_near(item.line.decision_id.bytes, first), read))
        reached = items[-1].number if len(near) == len(read) else read[len(near)].number - 1
        ids = [item.line.decision_id.bytes for item in near]
        with self._store.read() as connection:
            others = ids_of_others(connection, tenant.tenant_id, ids)
        kept = [item for item in near if item.line.decision_id.bytes not in others]
        refused = [each for each in refused if each.number <= reached]
        refused += [
            Refused(item.number, "its id is not free")
            for item in near
            if item.line.decision_id.bytes in others
        ]
        return kept, refused, reached

    def _last(self, tenant_id: UUID, daemon_id: UUID, spool_id: UUID) -> int:
        with self._store.read() as connection:
            return daemons.forwarded(connection, tenant_id, daemon_id, spool_id)

    def _note(self, tenant_id: UUID, place: daemons.Forwarded) -> None:
        note = daemons.note_forwarded
        self._store.write(lambda c: note(c, tenant_id, place), quietly=True).result()

    def _append(
        self,
        key: ApiKey,
        items: Sequence[_Read],
        place: daemons.Forwarded,
        refused: list[Refused],
    ) -> asyncio.Future[None] | None:
        """Count decisions and hand them to the log, between two other decisions of the tenant.

        Returns:
            Done when they are durable; None if all are refused.
        """
        tenant = self._feed.tenant(key.tenant_id)
        self._recorder.check(key.tenant_id)
        if not self._recorder.is_available:
            raise Problem("decision-log-unavailable", headers={"retry-after": "1"})
        now = self._clock()
        lines, index, ids = [], [], []
        for item in items:
            try:
                effects = self._count(tenant, bytes(item.line.effects), now)
            except EffectsError as error:
                refused.append(Refused(item.number, str(error)))
                continue
            ids.append(item.line.decision_id.bytes)
            lines.append(_line(key, item, place, effects, now))
            index.append(_index(key, item, now))
        if not lines:
            return None
        return self._recorder.append(
            LogBlock(
                key.tenant_id,
                len(lines),
                now,
                min(ids),
                max(ids),
                b"\n".join(lines),
                b",".join(index),
                forwarded=place,
            )
        )

    def _count(self, tenant: Tenant, effects: bytes, now: int) -> bytes:
        """Count a decision; a mitigation that was lifted after it stays lifted.

        Raises:
            EffectsError: its effects are malformed.
        """
        events, passes = _parted(effects)
        counted = tenant.engine.count_late(events, now)
        tenant.engine.apply_effects([passes])
        parts = [counted, passes]
        changes = self._feed.log_of(tenant.tenant_id)
        for _, definition, key, at, _, mitigations in orjson.loads(counted):
            for policy, clause, _ in mitigations:
                if changes.lifted_at(definition, key, policy, clause) >= int(at):
                    lifted = tenant.engine.lift(definition, key, policy, clause, now)
                    parts += [] if lifted is None else [lifted]
        return join_effects(parts)


def read_batch(body: bytes) -> Batch:
    """Parse a batch, as it was sent.

    Raises:
        Problem: it is invalid, or its numbers don't increase.
    """
    try:
        batch = _BATCH.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem("invalid-request", f"this is no batch of decisions: {error}") from None
    numbers = [item.number for item in batch.events]
    if numbers != sorted(set(numbers)) or (numbers and numbers[0] < 1):
        raise Problem("invalid-request", "the numbers of the decisions have to rise from 1")
    return batch


def _read(tenant: Tenant, items: Sequence[Item]) -> tuple[list[_Read], list[Refused]]:
    read: list[_Read] = []
    refused: list[Refused] = []
    for item in items:
        try:
            read.append(_sound(tenant, item))
        except (ValueError, OverflowError, EventError) as error:
            refused.append(Refused(item.number, str(error)))
    return read, refused


def _sound(tenant: Tenant, item: Item) -> _Read:
    """Return a decision as it will be recorded.

    Raises:
        ValueError, OverflowError, EventError: it can't be recorded.
    """
    line, index = _LINE.decode(item.line), _INDEX.decode(item.index)
    for part in (part for entity in line.record.entities for part in entity.key):
        if isinstance(part, int) and not INT_MIN <= part <= UINT_MAX:
            raise ValueError("a key has a number that no key can have")
    return _Read(
        number=item.number,
        line=line,
        index=index,
        answer=msgspec.json.encode(line.answer),
        record=msgspec.json.encode(line.record),
        # Secrets of names that the daemon didn't know yet.
        event=tenant.redactor.redact(bytes(line.event)),
        sealed=None if line.sealed is None else urlsafe_b64decode(line.sealed + "=="),
    )


def _is_near(name: bytes, first: bytes) -> bool:
    """Tell whether two ids are close in time, so that a row of both spans a short period."""
    return abs(int.from_bytes(name[:6]) - int.from_bytes(first[:6])) <= DIFFERENCE_MS


def _parted(effects: bytes) -> tuple[bytes, bytes]:
    """Split a decision's effects into those on entities, which are judged again, and on passes.

    Raises:
        EffectsError: they are malformed.
    """
    if b'"revoke"' not in effects and b'"move"' not in effects:
        return effects, b"[]"
    events: list[Any] = []
    of_passes: list[Any] = []
    try:
        for each in orjson.loads(effects):
            is_of_pass = isinstance(each, list) and each[:1] in (["revoke"], ["move"])
            (of_passes if is_of_pass else events).append(each)
    except (ValueError, TypeError) as error:
        raise EffectsError(f"the effects are malformed: {error}") from None
    passes = orjson.dumps(of_passes)
    read_passes(passes)  # before anything of the decision is counted
    return orjson.dumps(events), passes


def _line(key: ApiKey, item: _Read, place: daemons.Forwarded, effects: bytes, now: int) -> bytes:
    line = item.line
    return encode_line(
        str(line.decision_id),
        now,
        key.id_text,
        orjson.dumps(line.source),
        line.endpoint,
        None,
        line.revision,
        line.duration_us,
        item.answer,
        item.record,
        effects,
        item.event,
        sealed=item.sealed,
        daemon=(str(place.daemon_id), item.number),
        trace_id=line.trace_id,
    )


def _index(key: ApiKey, item: _Read, now: int) -> bytes:
    index = item.index
    return encode_index(
        key.tenant_text,
        str(item.line.decision_id),
        now,
        key.id_text,
        None,
        index.observed_at,
        index.action,
        index.reason,
        None if index.policy_id is None else str(index.policy_id),
        index.path,
        [index.entity_ids],
        [(str(policy), mode) for policy, mode in index.fired],
        index.errors,
    )
