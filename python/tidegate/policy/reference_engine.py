"""The engine in Python: the same interface as the native one, over ``decide`` and ``State``."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import orjson

from tidegate.errors import EventError
from tidegate.policy import effects
from tidegate.policy.decide import decide
from tidegate.policy.served import ServedDecision
from tidegate.policy.snapshot import restore, save, save_keys
from tidegate.policy.state import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager

    from tidegate.evaluation.encoder import AddressLookup
    from tidegate.policy.compiled import CompiledDefinitions
    from tidegate.policy.decide import Decided


class ReferenceEngine:
    """Definitions and a state; every answer is JSON.

    Args:
        compiled: the definitions.
        addresses: the address databases, if there are any.
        turn: a lock, when threads share the engine.
    """

    def __init__(
        self,
        compiled: CompiledDefinitions,
        addresses: AddressLookup | None = None,
        turn: AbstractContextManager[object] | None = None,
    ) -> None:
        self._compiled = compiled
        self._addresses = addresses
        self._state = State(compiled.max_keys)
        self._turn = turn or nullcontext()

    def decide_record(self, event: Mapping[str, Any] | bytes, received_at: int) -> bytes:
        """Decide, remember, and give the full record."""
        return orjson.dumps(self._decide(event, received_at).decision.to_record())

    def decide_json(self, body: bytes, received_at: int) -> bytes:
        """Decide, remember, and give what the caller is sent."""
        return orjson.dumps(self._decide(body, received_at).decision.to_wire())

    def serve(self, body: bytes, received_at: int, decision_id: str) -> ServedDecision:
        """Decide, remember, and give all that a service needs."""
        return ServedDecision.of(self._decide(body, received_at), decision_id)

    def apply_effects(self, entries: Iterable[bytes]) -> None:
        """Repeat decisions by what they did."""
        with self._turn:
            for position, entry in enumerate(entries):
                self._state.apply(effects.read(self._compiled, entry, position))

    def decide_batch(self, bodies: list[bytes], received_at: int) -> list[bytes | EventError]:
        """As :meth:`decide_json` for each; a refused event has its error in its place."""
        answers: list[bytes | EventError] = []
        for body in bodies:
            try:
                answers.append(self.decide_json(body, received_at))
            except EventError as error:
                answers.append(error)
        return answers

    def peek(self, event: Mapping[str, Any] | bytes, received_at: int) -> bytes:
        """The record that :meth:`decide_record` would give; nothing is remembered."""
        return orjson.dumps(self._look(event, received_at).decision.to_record())

    def entity_states(self, event: Mapping[str, Any] | bytes, received_at: int) -> bytes:
        """A snapshot with only the keys of the event's entities."""
        known = [
            (entity.key, entity.block)
            for entity in self._look(event, received_at).entities
            if entity.block is not None
        ]
        return save_keys(self._compiled, self._state.evictions, known)

    def snapshot(self) -> bytes:
        """The whole state."""
        with self._turn:
            return save(self._compiled, self._state)

    def restore(self, snapshot: bytes) -> None:
        """Take over a state; a refused one changes nothing."""
        self._state = restore(self._compiled, snapshot)

    def stats(self) -> dict[str, int]:
        """Keys held, their bound, and evictions."""
        evictions = self._state.evictions
        return {
            "keys": len(self._state),
            "max_keys": self._state.max_keys,
            "evictions_total": evictions.total,
            "evictions_mitigated": evictions.mitigated,
        }

    def _look(self, event: Mapping[str, Any] | bytes, received_at: int) -> Decided:
        return decide(self._compiled, self._state, event, received_at, addresses=self._addresses)

    def _decide(self, event: Mapping[str, Any] | bytes, received_at: int) -> Decided:
        with self._turn:
            decided = self._look(event, received_at)
            self._state.apply(decided.changes)
        return decided
