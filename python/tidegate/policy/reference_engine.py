"""The engine in Python: the same interface as the native one, over ``decide`` and ``State``."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import UUID
from weakref import WeakSet

import attrs
import orjson

from tidegate.errors import EventError, SnapshotError
from tidegate.evaluation.envelope import admit
from tidegate.policy import effects
from tidegate.policy.decide import decide
from tidegate.policy.served import Served, served_of
from tidegate.policy.shown_proof import ShownProof
from tidegate.policy.state import inspection
from tidegate.policy.state.passes import Revoke
from tidegate.policy.state.places import kept_key
from tidegate.policy.state.snapshot import restore, save, save_keys
from tidegate.policy.state.state import Lift, State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from tidegate.evaluation.encoder import AddressLookup
    from tidegate.evaluation.envelope import Strictness
    from tidegate.policy.decide import Decided
    from tidegate.policy.definitions.compiled import CompiledDefinitions
    from tidegate.policy.definitions.keys import EntityKey
    from tidegate.policy.definitions.secrets import Redacts
    from tidegate.policy.proofs import ProofKeys
    from tidegate.policy.state.passes import Pass
    from tidegate.policy.state.state import Block, Evictions


class ReferenceEngine:
    """Definitions and a state; every answer is JSON.

    Args:
        compiled: the definitions.
        addresses: the address databases, if there are any.
        make_turn: creates a lock, if threads share the engine.
        redactor: removes secrets from keys and records, if there is one.
        events: which events it decides on.
        proof_keys: keys for reading challenge proofs in events, if there are any.
    """

    def __init__(
        self,
        compiled: CompiledDefinitions,
        addresses: AddressLookup | None = None,
        make_turn: Callable[[], AbstractContextManager[object]] = nullcontext,
        redactor: Redacts | None = None,
        events: Strictness = "any",
        proof_keys: ProofKeys | None = None,
    ) -> None:
        self._proof_keys = proof_keys
        self._events = events
        self._compiled = compiled
        self._addresses = addresses
        self._redactor = redactor
        self._state = State(compiled.max_keys)
        self._make_turn = make_turn
        self._turn = make_turn()
        self._heirs: WeakSet[ReferenceEngine] = WeakSet()

    def decide_record(
        self,
        event: Mapping[str, Any] | bytes,
        received_at: int,
        ended_at: Sequence[str] | None = None,
        proofs: bytes | None = None,
    ) -> bytes:
        """Decide, remember, and return the full record; the budget isn't counted here."""
        return orjson.dumps(self._decide(event, received_at, ended_at, proofs).decision.to_record())

    def decide_json(self, body: bytes, received_at: int) -> bytes:
        """Decide, remember, and return the answer to the caller."""
        return orjson.dumps(self._decide(body, received_at).to_wire())

    def serve(
        self, body: bytes, received_at: int, decision_id: str, proofs: bytes | None = None
    ) -> Served:
        """Decide, remember, and return everything that a service needs."""
        return served_of(self._decide(body, received_at, None, proofs), decision_id)

    def apply_effects(self, entries: Iterable[bytes]) -> None:
        """Repeat decisions by their effects."""
        with self._turn:
            for position, entry in enumerate(entries):
                self._state.apply(effects.read(self._compiled, entry, position, self._redactor))
                self._hand_on(entry)

    def count_late(self, entry: bytes, now: int) -> bytes:
        """Count a decision made elsewhere, by its effects there; return the effects here."""
        with self._turn:
            read = effects.read_late(self._compiled, entry, self._redactor)
            counted = effects.judged(self._compiled, self._state, read, now)
            self._state.apply(counted)
            written = effects.save(counted)
            self._hand_on(written)
            return written

    def decide_batch(self, bodies: list[bytes], received_at: int) -> list[bytes | EventError]:
        """Like :meth:`decide_json` for each; a rejected event has its error in its place."""
        answers: list[bytes | EventError] = []
        for body in bodies:
            try:
                answers.append(self.decide_json(body, received_at))
            except EventError as error:
                answers.append(error)
        return answers

    def peek(
        self,
        event: Mapping[str, Any] | bytes,
        received_at: int,
        ended_at: Sequence[str] | None = None,
        proofs: bytes | None = None,
    ) -> bytes:
        """The record that :meth:`decide_record` would return; nothing is remembered."""
        return orjson.dumps(self._look(event, received_at, ended_at, proofs).decision.to_record())

    def entity_states(
        self,
        event: Mapping[str, Any] | bytes,
        received_at: int,
        ended_at: Sequence[str] | None = None,
        proofs: bytes | None = None,
    ) -> bytes:
        """A snapshot with only the keys of the event's entities, and the pass it presents."""
        decided = self._look(event, received_at, ended_at, proofs)
        known = [
            (entity.key, entity.block) for entity in decided.entities if entity.block is not None
        ]
        shown = {proof.claim.pass_id for proof in decided.decision.proofs if proof.claim}
        passes = [each for each in self._state.passes.items() if each[0] in shown]
        return save_keys(self._compiled, self._state.evictions, known, passes)

    def snapshot(self) -> bytes:
        """The whole state."""
        with self._turn:
            return save(self._compiled, self._state)

    def restore(self, snapshot: bytes) -> None:
        """Load a state; a rejected one changes nothing."""
        self._state = restore(self._compiled, snapshot, self._redactor)

    def freeze(self) -> FrozenState:
        """A copy of the current state."""
        with self._turn:
            keys, passes = tuple(self._state.items()), tuple(self._state.passes.items())
            return FrozenState(self._compiled, self._state.evictions, keys, passes)

    def with_definitions(
        self,
        compiled: CompiledDefinitions,
        _sample: Sequence[bytes] = (),
        redactor: Redacts | None = None,
    ) -> ReferenceEngine:
        """An engine that takes over this state, and this engine's decisions from now on."""
        with self._turn:
            if compiled.tenant != self._compiled.tenant:
                raise SnapshotError("the definitions are of another tenant")
            heir = ReferenceEngine(
                compiled,
                self._addresses,
                self._make_turn,
                redactor,
                self._events,
                self._proof_keys,
            )
            heir.restore(save(self._compiled, self._state))
            self._heirs.add(heir)
        return heir

    def active_mitigations(
        self, at: int, limit: int, after: inspection.MitigationName | None
    ) -> bytes:
        """Active mitigations, ordered by name, after one."""
        return inspection.active(self._compiled, self._state.items(), at, limit, after)

    def lift(
        self, definition: str, key: bytes, policy: str, clause: str | None, at: int
    ) -> bytes | None:
        """End mitigations by a policy, or one of its clauses; return the effects, or None."""
        with self._turn:
            entity = self._key(definition, key)
            block = self._state.get(entity)
            lifted = tuple(
                (of, name)
                for of, name in self._compiled.clauses
                if block is not None
                and at < block.mitigations.get((of, name), 0)
                and of == policy
                and clause in (None, name)
            )
            if not lifted:
                return None
            lift = Lift(entity, at, lifted)
            self._state.apply((lift,))
            written = effects.save((lift,))
            self._hand_on(written)
            return written

    def revoke_pass(self, pass_id: bytes, expires_at: int, at: int) -> bytes | None:
        """Revoke an unexpired pass; return the effects, or None if it is already revoked."""
        with self._turn:
            if expires_at <= at or self.is_revoked(pass_id):
                return None
            revoke = Revoke(UUID(bytes=pass_id), at, expires_at)
            self._state.apply((revoke,))
            written = effects.save((revoke,))
            self._hand_on(written)
            return written

    def is_revoked(self, pass_id: bytes) -> bool:
        """Whether a pass was revoked, as long as that is remembered."""
        known = self._state.passes.get(UUID(bytes=pass_id))
        return known is not None and known.is_revoked

    def entity_state(self, definition: str, key: bytes, at: int) -> bytes | None:
        """The state of an entity, or None if nothing is known about it."""
        entity = self._key(definition, key)
        block = self._state.get(entity)
        return None if block is None else inspection.state(self._compiled, entity, block, at)

    def find_entity(self, entity_id: str) -> bytes | None:
        """Definition and key of the entity with an id, or None if it is unknown."""
        known = (key for key, _ in self._state.items())
        found = (key for key in known if inspection.identity(self._compiled, key) == entity_id)
        key = next(found, None)
        return None if key is None else orjson.dumps([key.definition, orjson.Fragment(key.text)])

    def stats(self) -> dict[str, int]:
        """Number of keys, their limit, and evictions."""
        evictions = self._state.evictions
        return {
            "keys": len(self._state),
            "max_keys": self._state.max_keys,
            "evictions_total": evictions.total,
            "evictions_mitigated": evictions.mitigated,
        }

    def _look(
        self,
        event: Mapping[str, Any] | bytes,
        received_at: int,
        ended_at: Sequence[str] | None = None,
        proofs: bytes | None = None,
    ) -> Decided:
        admit(event, self._events)
        return decide(
            self._compiled,
            self._state,
            event,
            received_at,
            addresses=self._addresses,
            ended_at=ended_at or (),
            redactor=self._redactor,
            proof_keys=self._proof_keys,
            proofs=None
            if proofs is None
            else [ShownProof.of(each) for each in orjson.loads(proofs)],
        )

    def _key(self, definition: str, key: bytes) -> EntityKey:
        return kept_key(self._compiled, definition, tuple(orjson.loads(key)), self._redactor)

    def _decide(
        self,
        event: Mapping[str, Any] | bytes,
        received_at: int,
        ended_at: Sequence[str] | None = None,
        proofs: bytes | None = None,
    ) -> Decided:
        with self._turn:
            decided = self._look(event, received_at, ended_at, proofs)
            self._state.apply(decided.changes)
            if self._heirs:
                self._hand_on(effects.save(decided.changes))
        return decided

    def _hand_on(self, entry: bytes) -> None:
        for heir in self._heirs:
            heir.apply_effects([entry])


@attrs.frozen
class FrozenState:
    """The state at one moment; blocks are replaced, never changed."""

    _compiled: CompiledDefinitions
    _evictions: Evictions
    _keys: tuple[tuple[EntityKey, Block], ...]
    _passes: tuple[tuple[UUID, Pass], ...]

    def __reduce__(self) -> NoReturn:
        raise TypeError("a frozen state can't be pickled or copied: keep its `snapshot()`")

    def snapshot(self) -> bytes:
        """The state as JSON."""
        return save_keys(self._compiled, self._evictions, self._keys, self._passes)

    def write(self, take: Callable[[bytes], object]) -> None:
        """Pass on the JSON, here in one piece."""
        take(self.snapshot())
