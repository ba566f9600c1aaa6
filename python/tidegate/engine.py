"""The engine: definitions, the state between decisions, and a clock."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self, TypeAlias, get_args, overload

import orjson

from tidegate.definitions import load_compiled
from tidegate.errors import TidegateError
from tidegate.evaluation.envelope import Strictness
from tidegate.evaluation.geography import AddressDatabases
from tidegate.evaluation.redact import Redactor as ReferenceRedactor
from tidegate.evaluation.secrets.names import Names
from tidegate.frames import table_functions
from tidegate.frames.frame import Frame
from tidegate.policy.decide import LATEST
from tidegate.policy.decision import EngineDecision
from tidegate.policy.definitions.bundle import bundle
from tidegate.policy.definitions.model import Definitions
from tidegate.policy.document import compile_definitions
from tidegate.policy.explain.explain import Explanation, explain
from tidegate.policy.explain.left_out import LeftOut
from tidegate.policy.key_forms import KeyForms
from tidegate.policy.reference_engine import ReferenceEngine
from tidegate.policy.shown_proof import to_records
from tidegate.policy.state.inspection import read_active, read_state
from tidegate.policy.state.snapshot import restore

if TYPE_CHECKING:
    import pyarrow

    from tidegate.definitions import Source
    from tidegate.errors import EventError
    from tidegate.evaluation.native import Redactor
    from tidegate.evaluation.rules import Evaluator
    from tidegate.event_form import Event
    from tidegate.policy.backend import Backend, Frozen
    from tidegate.policy.definitions.compile import Compilation
    from tidegate.policy.definitions.compiled import CompiledDefinitions
    from tidegate.policy.definitions.keys import Part
    from tidegate.policy.explain.shown import Later
    from tidegate.policy.proofs import ProofKeys
    from tidegate.policy.shown_proof import ShownProof
    from tidegate.policy.state.inspection import ActiveMitigation, EntityState

_EXPLAIN_ATTEMPTS = 5
"""Another thread may decide on the same actor between the two reads of the state."""

EventForm: TypeAlias = "Event | bytes"
"""An event: its members, or JSON text."""
Clock: TypeAlias = Callable[[], int]


class Deciding:
    """A backend and a clock that decide; :class:`Engine` adds definitions and explanations.

    Args:
        backend: the native engine, or the reference.
        clock: returns the time in nanoseconds since 1970.
    """

    evaluator: Evaluator = "native"

    def __init__(self, backend: Backend, clock: Clock) -> None:
        self._backend = backend
        self._clock = clock

    def decide(
        self,
        event: EventForm,
        received_at: int | None = None,
        *,
        ended_at: Sequence[str] | None = None,
        proofs: Sequence[ShownProof] | None = None,
    ) -> EngineDecision:
        """Decide on one event and remember it.

        Args:
            event: a dict, or JSON bytes, in the shape of docs/fields.md.
            received_at: nanoseconds since 1970; the clock's time when left out.
            ended_at: to repeat a decision, its ``budget_ended_at``: the budget ends exactly there
                (docs/decision.md, "Budget").  If left out, the native evaluator counts; the
                reference has no budget.
            proofs: to repeat a decision, its ``proof``: the finding about the challenge proofs in
                the event.  If left out, they are read with the engine's keys.

        Raises:
            EventError: the event is rejected; nothing is remembered of it.
            ValueError: the definitions have no such place for the budget's end.
        """
        at = self._at(received_at)
        record = self._backend.decide_record(event, at, ended_at, to_records(proofs))
        return EngineDecision.from_record(record)

    def decide_json(self, body: bytes, received_at: int | None = None) -> bytes:
        """Like :meth:`decide`, from JSON to the JSON of the answer: the fastest way.

        Raises:
            EventError: the event is rejected.
        """
        # Not through `_at`: on this path an extra call is noticeable, and both evaluators accept
        # every time.
        at = self._clock() if received_at is None else received_at
        return self._backend.decide_json(body, at)

    @overload
    def decide_batch(
        self, bodies: list[bytes], received_at: int | None = None
    ) -> list[bytes | EventError]: ...
    @overload
    def decide_batch(self, bodies: Frame, received_at: int | None = None) -> pyarrow.Table: ...
    def decide_batch(
        self, bodies: list[bytes] | Frame, received_at: int | None = None
    ) -> list[bytes | EventError] | pyarrow.Table:
        """Like :meth:`decide_json` for each event, in order.

        Args:
            bodies: events as JSON; or a frame with a row for each event (docs/frames.md).
            received_at: as for :meth:`decide`, the same for all.

        Returns:
            The answer to each; a rejected event has its error in its place.  For a frame, a table
            with a row for each event and the columns ``action`` and ``reason``, ``answer``, the
            answer as JSON, and ``error``, the text of the error of a rejected event.

        Raises:
            EventError: the frame has a column that isn't a member of an event, or of another type;
                nothing is remembered.  Of a frame that can't be read to its end, the rows before
                are remembered.
            ImportError: pyarrow isn't installed.
        """
        at = self._at(received_at)
        if not isinstance(bodies, Frame):
            return self._backend.decide_batch(bodies, at)
        return table_functions().decide_frame(
            bodies, self.evaluator, lambda rows: self._backend.decide_batch(rows, at)
        )

    def active_mitigations(
        self, at: int, limit: int = 100, after: ActiveMitigation | None = None
    ) -> list[ActiveMitigation]:
        """Mitigations that have not ended, in a stable order.

        Args:
            at: the time, in nanoseconds since 1970.
            limit: the largest number of entries.
            after: continue after this one, the last of the previous page.
        """
        name = None if after is None else after.name
        return read_active(self._backend.active_mitigations(self._at(at), limit, name))

    def lift(
        self, definition: str, key: Sequence[Part], policy: str, clause: str | None, at: int
    ) -> bytes | None:
        """End an entity's active mitigations by a policy.

        Args:
            definition: slug of the entity's definition.
            key: the parts of its key.
            policy: slug of the policy.
            clause: the name of one of its clauses; None for all of them.
            at: the time, in nanoseconds since 1970.

        Returns:
            Effects that repeat it (:meth:`apply_effects`); None if there is nothing to end.
        """
        return self._backend.lift(definition, orjson.dumps(list(key)), policy, clause, self._at(at))

    def entity_state(self, definition: str, key: Sequence[Part], at: int) -> EntityState | None:
        """The state of an entity at a time; None if nothing is known about it.

        Args:
            definition: slug of the entity's definition.
            key: the parts of its key.
            at: in nanoseconds since 1970; decides on windows and active mitigations.
        """
        state = self._backend.entity_state(definition, orjson.dumps(list(key)), self._at(at))
        return None if state is None else read_state(state)

    def load_state(self, snapshot: bytes) -> None:
        """Replace this engine's state by a snapshot's.

        Raises:
            SnapshotError: it has another version or tenant, or is malformed; the state is kept.
        """
        self._backend.restore(snapshot)

    def snapshot(self) -> bytes:
        """The whole state as JSON (docs/decision.md); both evaluators read it from each other."""
        return self._backend.snapshot()

    def freeze(self) -> Frozen:
        """A copy of the current state; its ``snapshot()`` returns the JSON, on any thread."""
        return self._backend.freeze()

    def stats(self) -> dict[str, int]:
        """Numbers about the state: stored keys, their limit, evictions."""
        return dict(self._backend.stats())

    def _at(self, received_at: int | None) -> int:
        at = self._clock() if received_at is None else received_at
        return at if 0 <= at <= LATEST else min(max(at, 0), LATEST)


class Engine(Deciding):
    """Decides events by a tenant's definitions, and keeps the state of windows and mitigations.

    Args:
        definitions: a path or mapping for :func:`load_definitions`, or its result.
        evaluator: ``"native"``, or ``"reference"``, the slow definition that it must match.
        clock: returns the time in nanoseconds since 1970 for events without a ``received_at``; the
            evaluators themselves never read a clock.
        address_databases: paths of MaxMind DB files for ``derived.country``, ``derived.asn`` and
            ``derived.as_org``; the first that knows an address counts.
        sample: JSON bytes of events like future ones, from which the native evaluator learns which
            conditions to search first; a few hundred are enough.  Without it, decisions are the
            same but slower.
        redaction_key: key for hashing secrets, which are selected by the names in
            ``settings.redact``: keys of entities, state, effects, records and explanations then
            contain no secret in clear.  Without it, they contain the events' values.
        events: which events it decides on.  ``"strict"`` rejects an event that has nothing in
            ``request`` and ``fields``, or an unknown top-level member: a line of a foreign log, a
            misspelt name.  ``"lenient"`` ignores unknown members.  ``"any"`` decides on everything,
            as recorded by a service.
        proof_keys: the tenant's keys for challenge proofs in events.  Without them, no proof is
            read.

    Raises:
        DefinitionsError: the definitions are rejected, with every finding.
        ValueError: a file isn't an address database, or ``evaluator`` or ``events`` is unknown.
        OSError: a file cannot be read.
    """

    def __init__(
        self,
        definitions: Definitions | Source,
        evaluator: Evaluator = "native",
        *,
        clock: Clock = time.time_ns,
        address_databases: Iterable[str | os.PathLike[str]] | None = None,
        sample: Sequence[bytes] = (),
        redaction_key: bytes | None = None,
        events: Strictness = "strict",
        proof_keys: ProofKeys | None = None,
    ) -> None:
        self._proof_keys = proof_keys
        self.evaluator = evaluator
        self._events: Strictness = _known(events)
        self._compiled = _compiled(definitions)
        self._databases = [Path(os.fspath(path)).read_bytes() for path in address_databases or ()]
        self._addresses = AddressDatabases.from_bytes(self._databases) if self._databases else None
        self._use(redaction_key)
        super().__init__(self._make_backend(self._compiled, sample), clock)

    @classmethod
    def restore(
        cls,
        definitions: Definitions | Source,
        snapshot: bytes,
        evaluator: Evaluator = "native",
        *,
        clock: Clock = time.time_ns,
        address_databases: Iterable[str | os.PathLike[str]] | None = None,
        sample: Sequence[bytes] = (),
        redaction_key: bytes | None = None,
        events: Strictness = "strict",
        proof_keys: ProofKeys | None = None,
    ) -> Self:
        """An engine with a snapshot's state, as far as it fits the definitions.

        Raises:
            DefinitionsError: the definitions are rejected.
            SnapshotError: the snapshot has another version or tenant, or is malformed.
        """
        engine = cls(
            definitions,
            evaluator,
            clock=clock,
            address_databases=address_databases,
            sample=sample,
            redaction_key=redaction_key,
            events=events,
            proof_keys=proof_keys,
        )
        engine._backend.restore(snapshot)
        return engine

    def __repr__(self) -> str:
        return f"<Engine of {len(self.definitions.policies)} policies, {self.evaluator}>"

    @property
    def definitions(self) -> Definitions:
        """The definitions it decides by."""
        return self._compiled.source

    def with_definitions(
        self, definitions: Definitions | Source, *, sample: Sequence[bytes] = ()
    ) -> Self:
        """An engine with changed definitions of the tenant that continues with this one's state.

        The state is taken over as far as it fits the definitions, as from a snapshot.  This engine
        may keep deciding meanwhile, on other threads too: until it is dropped, the new one takes
        over everything it decides (and applies, and lifts).  So call this while traffic continues,
        and swap the engines when it has returned.

        Args:
            definitions: as for a new engine.
            sample: as for a new engine; this engine's sample is not kept.

        Raises:
            DefinitionsError: the definitions are rejected.
            SnapshotError: they belong to another tenant.
        """
        successor = object.__new__(type(self))
        successor.__dict__.update(self.__dict__)
        successor._compiled = _compiled(definitions, self.definitions.compilation)
        successor._use(self._redaction_key)
        is_native = self.evaluator == "native"
        successor._backend = self._backend.with_definitions(
            bundle(successor._compiled) if is_native else successor._compiled,
            sample,
            successor.redactor,
        )
        return successor

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an engine can't be pickled or copied: save its definitions and `engine.snapshot()`,"
            " and call `Engine.restore` with them"
        )

    def explain(
        self,
        event: EventForm,
        received_at: int | None = None,
        *,
        ended_at: Sequence[str] | None = None,
        proofs: Sequence[ShownProof] | None = None,
        later: Later | None = None,
    ) -> Explanation:
        """Explain how an event would be decided now; nothing is remembered.

        The reference evaluator observes the definitions over this engine's state, whichever
        evaluator decides.

        Args:
            event: as for :meth:`decide`.
            received_at: as for :meth:`decide`.
            ended_at: as for :meth:`decide`; if left out, the budget ends where it would end now.
            proofs: as for :meth:`decide`.
            later: later definitions; their secrets are hidden too.

        Raises:
            EventError: the event is rejected.
            ValueError: the definitions have no such place for the budget's end.
            TidegateError: the explanation reached another decision than the engine, which is a bug
                in this library.
        """
        at = self._at(received_at)
        for _ in range(_EXPLAIN_ATTEMPTS):
            peeked = self._backend.peek(event, at, ended_at, to_records(proofs))
            decided = EngineDecision.from_record(peeked)
            ends = decided.budget_ended_at if ended_at is None else ended_at
            known = self._backend.entity_states(event, at, ends)
            explanation = explain(
                self._compiled,
                restore(self._compiled, known, self.redactor),
                event,
                at,
                addresses=self._addresses,
                ended_at=ends,
                redactor=self.redactor,
                names=self._names,
                proof=decided.proof,
                later=later,
            )
            if explanation.decision == decided:
                return explanation
        raise TidegateError("the explanation and the engine came to different decisions")

    def _use(self, redaction_key: bytes | None) -> None:
        """Set up the definitions' names and a key for hashing secrets."""
        self._key_forms = KeyForms.of(self._compiled)
        self._redaction_key = redaction_key
        redaction = self._key_forms.redaction
        self._names = None if redaction_key is None else Names(redaction.patterns)
        self.redactor: Redactor | ReferenceRedactor | None = None
        """Removes secrets from stored events; None without a key."""
        if redaction_key is None:
            return
        if self.evaluator == "reference":
            self.redactor = redaction.redactor(ReferenceRedactor, redaction_key)
        else:
            from tidegate.evaluation.native import Redactor

            self.redactor = redaction.redactor(Redactor, redaction_key)

    def _make_backend(self, compiled: CompiledDefinitions, sample: Sequence[bytes] = ()) -> Backend:
        if self.evaluator == "reference":
            return ReferenceEngine(
                compiled,
                self._addresses,
                threading.Lock,
                self.redactor,
                self._events,
                self._proof_keys,
            )
        if self.evaluator == "native":
            from tidegate.evaluation.native import NativeEngine

            assert not isinstance(self.redactor, ReferenceRedactor)
            return NativeEngine(
                bundle(compiled),
                self._databases,
                sample,
                self.redactor,
                self._events,
                None if self._proof_keys is None else self._proof_keys.native(),
            )
        raise ValueError(f'there is no evaluator `{self.evaluator}`; it is "native" or "reference"')


def left_out(engine: Engine) -> LeftOut:
    """An empty count of the events that entity definitions apply to.

    It also counts events on which policies may fire.
    """
    return LeftOut(engine._compiled, engine._make_backend, engine._addresses)


def _known(events: Strictness) -> Strictness:
    if events not in get_args(Strictness):
        raise ValueError(f'`events` is "strict", "lenient" or "any", not `{events}`')
    return events


def _compiled(
    definitions: Definitions | Source, before: Compilation | None = None
) -> CompiledDefinitions:
    if isinstance(definitions, Definitions):
        return compile_definitions(definitions)
    return load_compiled(definitions, before).compiled
