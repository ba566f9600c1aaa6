"""Engines as a service uses them: with what it records, repeats and looks up."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import orjson

from tidegate.engine import Clock, Deciding, Engine, EventForm
from tidegate.errors import TidegateError
from tidegate.policy.served import Served
from tidegate.policy.shown_proof import to_records

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate.evaluation.native import AddressDatabases, Calls, Redactor
    from tidegate.policy.decision import EngineDecision
    from tidegate.policy.definitions.keys import Part
    from tidegate.policy.proofs import ProofKeys
    from tidegate.policy.shown_proof import ShownProof


class Serving(Deciding):
    """The operations that a service needs of an engine in addition to decisions."""

    def serve(
        self,
        body: bytes,
        received_at: int,
        decision_id: str,
        *,
        proofs: Sequence[ShownProof] | None = None,
    ) -> Served:
        """Like :meth:`decide_json`, with everything that a service sends, records and indexes.

        Args:
            body: the event.
            received_at: nanoseconds since 1970.
            decision_id: a UUID as text.
            proofs: as for :meth:`decide`.

        Raises:
            EventError: the event is rejected.
        """
        at = self._at(received_at)
        return Served(*self._backend.serve(body, at, decision_id, to_records(proofs)))

    def read_calls(
        self,
        bodies: list[bytes],
        needs_content: list[bool],
        hash_key: bytes,
        databases: AddressDatabases | None = None,
    ) -> Calls:
        """Parse hot-path calls of the tenant, to be decided on together.

        Args:
            bodies: the bodies, which are events.
            needs_content: for each, whether it is a call for a decision, which needs a non-empty
                event, or one of the beacon.
            hash_key: key for hashing idempotency keys, at most 64 bytes.
            databases: say where clients are; events that don't state it are recorded with it.

        Raises:
            TidegateError: the native evaluator isn't the one that decides.
            ValueError: the hash key is too long.
        """
        read = getattr(self._backend, "read_calls", None)
        if read is None:
            raise TidegateError("only the native evaluator decides on calls together")
        calls: Calls = read(bodies, needs_content, hash_key, databases)
        return calls

    def located(self, event: bytes, databases: AddressDatabases) -> bytes:
        """Return an event as :meth:`read_calls` has it recorded.

        Raises:
            EventError: the event is rejected.
        """
        locate = getattr(self._backend, "located", None)
        if locate is None:
            raise TidegateError("only the native evaluator looks up clients")
        located: bytes = locate(event, databases)
        return located

    def apply_effects(self, effects: Iterable[bytes]) -> None:
        """Repeat served decisions, in order, by their effects alone.

        Afterwards the state equals the deciding engine's.  Effects that no longer fit the
        definitions are skipped, as in a snapshot.

        Args:
            effects: the ``effects`` of each.

        Raises:
            EffectsError: one is malformed; the ones before it are applied, nothing of it is.
        """
        self._backend.apply_effects(effects)

    def count_late(self, effects: bytes, now: int) -> bytes:
        """Count another engine's decision at its event's time, by its effects there; return those
        here.

        See docs/decision.md, "Late events"; ``now`` is in nanoseconds since 1970.

        Raises:
            EffectsError: they are malformed; nothing is counted.
        """
        return self._backend.count_late(effects, now)

    def revoke_pass(self, pass_id: UUID, expires_at: int, at: int) -> bytes | None:
        """Revoke a pass: its proof is no longer valid.

        Args:
            pass_id: the pass's id.
            expires_at: when its proof expires, in nanoseconds since 1970.
            at: when it is revoked, in nanoseconds since 1970.

        Returns:
            Effects that repeat it (:meth:`apply_effects`); None if it is already revoked or has
            expired.
        """
        at = self._at(at)
        return self._backend.revoke_pass(pass_id.bytes, self._at(expires_at), at)

    def is_revoked(self, pass_id: UUID) -> bool:
        """Whether a pass was revoked, by an operator or a Block; known until it expires."""
        return self._backend.is_revoked(pass_id.bytes)

    def find_entity(self, entity_id: str) -> tuple[str, tuple[Part, ...]] | None:
        """Definition and key of the entity with an id; None if it is unknown.

        Scans the whole state.
        """
        found = self._backend.find_entity(entity_id)
        if found is None:
            return None
        definition, key = orjson.loads(found)
        return definition, tuple(key)

    def state_of(self, event: EventForm, received_at: int | None = None) -> bytes:
        """Like :meth:`snapshot`, for one event's entities only; the engine does not change.

        Raises:
            EventError: the event is rejected.
        """
        return self._backend.entity_states(event, self._at(received_at))


class TenantEngine(Serving, Engine):
    """The engine of one tenant of a service; it can explain."""

    def has_secret_key(self, definition: str) -> bool:
        """Whether a key part of an entity definition is stored as a hash."""
        return self.redactor is not None and self._key_forms.has_secret(definition)

    def kept_key(self, definition: str, key: Sequence[Part]) -> tuple[Part, ...]:
        """The parts of a key as stored: secrets as hashes."""
        return self._key_forms.kept(definition, key, self.redactor)

    def kept(self, decision: EngineDecision) -> EngineDecision:
        """A decision of these definitions as stored.

        One from an earlier version of Tidegate may have secrets in clear in its keys and return
        URL.
        """
        return self._key_forms.decision(decision, self.redactor)


class BundledEngine(Serving):
    """The native engine for definitions compiled elsewhere; it can't explain.

    Args:
        content: the result of :func:`tidegate.policy.definitions.bundle.bundle` for the
            definitions.
        redactor: hashes the secrets in keys; None leaves them in clear.
        clock: as for :class:`Engine`; so are ``sample`` and ``proof_keys``.
    """

    def __init__(
        self,
        content: bytes,
        redactor: Redactor | None = None,
        *,
        clock: Clock = time.time_ns,
        sample: Sequence[bytes] = (),
        proof_keys: ProofKeys | None = None,
    ) -> None:
        from tidegate.evaluation.native import NativeEngine

        keys = None if proof_keys is None else proof_keys.native()
        self._native = NativeEngine(content, [], sample, redactor, "any", keys)
        super().__init__(self._native, clock)

    def with_bundle(
        self, content: bytes, redactor: Redactor | None = None, *, sample: Sequence[bytes] = ()
    ) -> BundledEngine:
        """Like :meth:`Engine.with_definitions`, for definitions compiled elsewhere."""
        successor = copy.copy(self)
        native = self._native.with_definitions(content, list(sample), redactor)
        successor._backend = successor._native = native
        return successor

    def with_change(self, change: bytes) -> BundledEngine | None:
        """Like :meth:`with_bundle`, for a change of policies only.

        Unchanged parts are taken over compiled; the engine searches the changed ones in a layer
        next to its index, until :meth:`rebuild`.

        Args:
            change: the result of :func:`~tidegate.policy.definitions.bundle.change` for this
                engine's definitions and the changed ones.

        Returns:
            None if changes have left so much behind that a new engine is better.

        Raises:
            CanonicalFormError: it is a change of other definitions.
        """
        backend = self._native.with_change(change)
        if backend is None:
            return None
        successor = copy.copy(self)
        successor._backend = successor._native = backend
        return successor

    @property
    def layered(self) -> int:
        """How many rules of the index have changed since it was built."""
        return self._native.layered()

    def rebuild(self) -> None:
        """Build one index of all rules, on any thread, while the engine keeps deciding."""
        self._native.rebuild()
