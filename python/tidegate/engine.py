"""The engine: definitions, the state between decisions, and a clock."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tidegate.definitions import load_compiled
from tidegate.errors import TidegateError
from tidegate.evaluation.geography import AddressDatabases
from tidegate.policy.bundle import bundle
from tidegate.policy.decide import LATEST
from tidegate.policy.decision import Decision
from tidegate.policy.document import compile_definitions
from tidegate.policy.explain import Explanation, explain
from tidegate.policy.model import Definitions
from tidegate.policy.reference_engine import ReferenceEngine
from tidegate.policy.snapshot import restore

if TYPE_CHECKING:
    from tidegate.definitions import Source
    from tidegate.errors import EventError
    from tidegate.evaluation.rules import Evaluator
    from tidegate.policy.compiled import CompiledDefinitions
    from tidegate.policy.served import Served

_EXPLAIN_ATTEMPTS = 5
"""Another thread may decide on the same actor between the two looks at the state."""

Event: TypeAlias = "Mapping[str, Any] | bytes"
Clock: TypeAlias = Callable[[], int]


class Engine:
    """Decides events by a tenant's definitions and remembers what windows and mitigations need.

    Args:
        definitions: a path or mapping as :func:`load_definitions` takes it, or its result.
        evaluator: ``"native"``, or ``"reference"``, the slow definition it is held to.
        clock: gives the time in nanoseconds since 1970 when an event comes without a
            ``received_at``; the evaluators themselves never read a clock.
        address_databases: paths of MaxMind DB files for ``derived.country``,
            ``derived.asn`` and ``derived.as_org``; the first that knows an address answers.

    Raises:
        DefinitionsError: the definitions are refused, with every finding.
        ValueError: a file is no address database.
        OSError: a file cannot be read.
    """

    def __init__(
        self,
        definitions: Definitions | Source,
        evaluator: Evaluator = "native",
        *,
        clock: Clock = time.time_ns,
        address_databases: Iterable[str | os.PathLike[str]] | None = None,
    ) -> None:
        self.evaluator = evaluator
        self._compiled = _compiled(definitions)
        self._clock = clock
        contents = [Path(os.fspath(path)).read_bytes() for path in address_databases or ()]
        self._addresses = AddressDatabases.from_bytes(contents) if contents else None
        self._backend = _backend(self._compiled, evaluator, contents, self._addresses)

    @classmethod
    def restore(
        cls,
        definitions: Definitions | Source,
        snapshot: bytes,
        evaluator: Evaluator = "native",
        *,
        clock: Clock = time.time_ns,
        address_databases: Iterable[str | os.PathLike[str]] | None = None,
    ) -> Engine:
        """An engine with the state of a snapshot, as far as the definitions have a place for it.

        Raises:
            DefinitionsError: the definitions are refused.
            SnapshotError: the snapshot is of another version or tenant, or malformed.
        """
        engine = cls(definitions, evaluator, clock=clock, address_databases=address_databases)
        engine._backend.restore(snapshot)
        return engine

    @property
    def definitions(self) -> Definitions:
        """The definitions it decides by."""
        return self._compiled.source

    def decide(self, event: Event, received_at: int | None = None) -> Decision:
        """Decide on one event and remember it.

        Args:
            event: a dict, or JSON bytes, in the shape of docs/fields.md.
            received_at: nanoseconds since 1970; the clock's time when left out.

        Raises:
            EventError: the event is refused; nothing is remembered of it.
        """
        return Decision.from_record(self._backend.decide_record(event, self._at(received_at)))

    def decide_json(self, body: bytes, received_at: int | None = None) -> bytes:
        """As :meth:`decide`, from JSON to the JSON that the caller is sent: the fastest way.

        Raises:
            EventError: the event is refused.
        """
        return self._backend.decide_json(body, self._at(received_at))

    def decide_batch(
        self, bodies: list[bytes], received_at: int | None = None
    ) -> list[bytes | EventError]:
        """As :meth:`decide_json` for each, in order; a refused event has its error in its place."""
        return self._backend.decide_batch(bodies, self._at(received_at))

    def serve(self, body: bytes, received_at: int, decision_id: str) -> Served:
        """As :meth:`decide_json`, with all that a service sends, records and finds it by.

        Raises:
            EventError: the event is refused.
        """
        return self._backend.serve(body, self._at(received_at), decision_id)

    def apply_effects(self, effects: Iterable[bytes]) -> None:
        """Repeat decisions that were served, in order, by their effects alone.

        The state is afterwards that of the engine that decided.  What the definitions no
        longer have a place for is passed over, as in a snapshot.

        Args:
            effects: the ``effects`` of each.

        Raises:
            EffectsError: one is malformed; those before it are applied, nothing of it is.
        """
        self._backend.apply_effects(effects)

    def explain(self, event: Event, received_at: int | None = None) -> Explanation:
        """Why an event would now be decided as it would; nothing is remembered.

        The reference evaluator walks the definitions under observation, over this
        engine's state, whichever evaluator decides.

        Raises:
            EventError: the event is refused.
            TidegateError: the explanation came to another decision than the engine does,
                which is a fault of this library.
        """
        at = self._at(received_at)
        for _ in range(_EXPLAIN_ATTEMPTS):
            state = restore(self._compiled, self._backend.entity_states(event, at))
            explanation = explain(self._compiled, state, event, at, addresses=self._addresses)
            if explanation.decision == Decision.from_record(self._backend.peek(event, at)):
                return explanation
        raise TidegateError("the explanation and the engine came to different decisions")

    def snapshot(self) -> bytes:
        """The whole state as JSON (docs/decision.md); both evaluators read both's."""
        return self._backend.snapshot()

    def stats(self) -> dict[str, int]:
        """Numbers about the state: keys held, their bound, evictions."""
        return dict(self._backend.stats())

    def _at(self, received_at: int | None) -> int:
        return min(max(self._clock() if received_at is None else received_at, 0), LATEST)


class _Backend(Protocol):
    """What an evaluator offers an engine; answers are JSON."""

    def decide_record(self, event: Event, received_at: int, /) -> bytes: ...
    def decide_json(self, body: bytes, received_at: int, /) -> bytes: ...
    def decide_batch(self, bodies: list[bytes], at: int, /) -> list[bytes | EventError]: ...
    def serve(self, body: bytes, received_at: int, decision_id: str, /) -> Served: ...
    def apply_effects(self, effects: Iterable[bytes], /) -> None: ...
    def peek(self, event: Event, received_at: int, /) -> bytes: ...
    def entity_states(self, event: Event, received_at: int, /) -> bytes: ...
    def snapshot(self) -> bytes: ...
    def restore(self, snapshot: bytes, /) -> None: ...
    def stats(self) -> dict[str, int]: ...


def _compiled(definitions: Definitions | Source) -> CompiledDefinitions:
    if isinstance(definitions, Definitions):
        return compile_definitions(definitions)
    return load_compiled(definitions).compiled


def _backend(
    compiled: CompiledDefinitions,
    evaluator: Evaluator,
    databases: list[bytes],
    addresses: AddressDatabases | None,
) -> _Backend:
    if evaluator == "reference":
        return ReferenceEngine(compiled, addresses, threading.Lock())
    if evaluator == "native":
        from tidegate.evaluation.native import NativeEngine

        return NativeEngine(bundle(compiled), databases)
    raise ValueError(f'there is no evaluator `{evaluator}`; it is "native" or "reference"')
