"""The interface between an engine and its evaluator, reference or native."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tidegate.decider import ActionType, Reason
    from tidegate.errors import EventError
    from tidegate.policy.definitions.model import Mode
    from tidegate.policy.state.inspection import MitigationName


class Frozen(Protocol):
    """An engine's state at one moment."""

    def snapshot(self) -> bytes:
        """The state as JSON, as returned by ``Engine.snapshot``."""

    def write(self, take: Callable[[bytes], object], /) -> None:
        """Produce the output of :meth:`snapshot` in pieces: a large one is never in memory as a
        whole.

        Args:
            take: called with each piece, in order; an exception from it stops the writing.
        """


ServedColumns: TypeAlias = (
    "tuple[bytes, bytes, bytes, ActionType, Reason, str | None, Mode | None, str | None, list[str],"
    " int, str | None, list[tuple[str, Mode]]]"
)
"""The parts of a :class:`~tidegate.policy.served.Served`, in its order."""


class Backend(Protocol):
    """An evaluator's interface for an engine; answers are JSON."""

    def decide_record(
        self,
        event: Mapping[str, Any] | bytes,
        at: int,
        ends: Sequence[str] | None,
        proofs: bytes | None,
        /,
    ) -> bytes: ...
    def decide_json(self, body: bytes, received_at: int, /) -> bytes: ...
    def decide_batch(self, bodies: list[bytes], at: int, /) -> list[bytes | EventError]: ...
    def serve(
        self, body: bytes, received_at: int, decision_id: str, proofs: bytes | None = None, /
    ) -> ServedColumns: ...
    def apply_effects(self, effects: Iterable[bytes], /) -> None: ...
    def count_late(self, effects: bytes, now: int, /) -> bytes: ...
    def peek(
        self,
        event: Mapping[str, Any] | bytes,
        at: int,
        ends: Sequence[str] | None,
        proofs: bytes | None,
        /,
    ) -> bytes: ...
    def entity_states(
        self, event: Mapping[str, Any] | bytes, at: int, ends: Sequence[str] | None = None, /
    ) -> bytes: ...
    def snapshot(self) -> bytes: ...
    def restore(self, snapshot: bytes, /) -> None: ...
    def freeze(self) -> Frozen: ...
    def with_definitions(
        self, definitions: Any, sample: Sequence[bytes], redactor: Any, /
    ) -> Backend: ...
    def active_mitigations(self, at: int, limit: int, after: MitigationName | None, /) -> bytes: ...
    def lift(
        self, definition: str, key: bytes, policy: str, clause: str | None, at: int, /
    ) -> bytes | None: ...
    def revoke_pass(self, pass_id: bytes, expires_at: int, at: int, /) -> bytes | None: ...
    def is_revoked(self, pass_id: bytes, /) -> bool: ...
    def entity_state(self, definition: str, key: bytes, at: int, /) -> bytes | None: ...
    def find_entity(self, entity_id: str, /) -> bytes | None: ...
    def stats(self) -> dict[str, int]: ...
