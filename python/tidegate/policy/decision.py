"""The decision on one event and its reasons; the same from both evaluators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import attrs
import orjson

import tidegate.notebook as notebook
from tidegate.decider import Action, Allow, Block, Challenge, Decision
from tidegate.policy.definitions.model import Mode
from tidegate.policy.shown_proof import ShownProof


@attrs.frozen
class Entity:
    """An actor the event belongs to."""

    definition: str
    entity_id: str
    key: tuple[str | int | bool, ...]


@attrs.frozen
class WindowValue:
    """The count of a window, including this event."""

    value: int
    threshold: int


@attrs.frozen
class FiredClause:
    """A clause that fired; ``active`` if only its earlier mitigation did."""

    policy: str
    clause: str
    mitigation: str | None
    mode: Mode
    entity_id: str | None
    window: WindowValue | None
    active: bool


@attrs.frozen
class EngineDecision(Decision):
    """One decision and its record; parts of the record are read on first use.

    Attributes:
        action: the action for the request.
        reason: ``policy``, ``active-mitigation``, ``no-match``, ``budget-exceeded``,
            ``challenge-proof``, ``banned`` or ``exempt``.
        policy: slug of the policy that decided; None if none did.
        clause: name of its clause.
        mitigation: slug of the mitigation applied.
        entities: the event's actors; the first is the primary one.
        matched_actions: slugs of the recognised actions.
        fired: every clause that fired, in order, including Monitor clauses.
        errors: place of an expression to its error code.
        budget_ended_at: where the decision's budget ended, empty if it did not: the place of an
            expression among actions and policies, one among entities, or both.
        client_ip_problem: why the event's client has no address; None if it has one, or if the
            event names no client.
        client_ip: the client's address that rules saw, where the event as recorded doesn't have
            the same text in ``request.client_ip``: behind a proxy, for example.
        proof: the finding about the challenge proof in the event; None if it has none.
        override: id of the override that answered; None if none did.
    """

    policy: str | None
    clause: str | None
    mitigation: str | None
    entities: tuple[Entity, ...]
    matched_actions: tuple[str, ...]
    fired: tuple[FiredClause, ...]
    errors: Mapping[str, str]
    budget_ended_at: tuple[str, ...] = ()
    client_ip_problem: str | None = None
    client_ip: str | None = attrs.field(default=None, eq=False)  # older records lack it
    proof: ShownProof | None = None
    override: str | None = None
    _record: bytes | str | Mapping[str, Any] | None = attrs.field(
        default=None, init=False, eq=False, repr=False
    )
    _read: Mapping[str, Any] | None = attrs.field(default=None, init=False, eq=False, repr=False)

    @classmethod
    def from_record(cls, record: bytes | str | Mapping[str, Any]) -> EngineDecision:
        """The decision in a record, from :meth:`to_record` or as JSON text."""
        decision = cls.__new__(cls)
        object.__setattr__(decision, "_record", record)
        return decision

    def to_json(self) -> bytes:
        """The record as JSON text; that of an engine's decision is the engine's own text."""
        record = self._record
        return record if isinstance(record, bytes) else orjson.dumps(self.to_record())

    if not TYPE_CHECKING:  # make a misspelt name an error

        def __getattr__(self, name: str) -> Any:
            """Parse a member of the record on first access."""
            # Most callers read only the action; building everything takes ten times as long.
            if name == "_read":
                return None
            read = _READ.get(name)
            if read is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            answer = _answer(self._record) if name in ("action", "reason") else None
            value = read(self.record if answer is None else answer)
            object.__setattr__(self, name, value)
            return value

    @property
    def record(self) -> Mapping[str, Any]:
        """The record that the decision was made from, which isn't to be changed.

        Reading many decisions takes a fraction of the time of their attributes.
        """
        read = self._read
        if read is None:
            read = self.to_record() if self._record is None else _record_of(self._record)
            object.__setattr__(self, "_read", read)
        return read

    def _repr_html_(self) -> str:
        fired = notebook.table(
            ("fired", "clause", "mitigation", "mode", "window"),
            (
                (
                    each.policy,
                    each.clause,
                    each.mitigation,
                    each.mode + (", active" if each.active else ""),
                    each.window and f"{each.window.value} of {each.window.threshold}",
                )
                for each in self.fired
            ),
        )
        return notebook.table((), self._shown()) + (fired if self.fired else "")

    def _shown(self) -> list[tuple[str, object]]:
        shown = super()._shown()
        shown += [(name, getattr(self, name)) for name in ("policy", "clause", "mitigation")]
        shown += [(each.definition, ", ".join(map(str, each.key))) for each in self.entities]
        shown.append(("override", self.override))
        shown.append(("actions", ", ".join(self.matched_actions)))
        shown.append(("client address", self.client_ip_problem))
        shown += [(f"error in {place}", code) for place, code in self.errors.items()]
        return [(name, value) for name, value in shown if value]

    @property
    def proofs(self) -> tuple[ShownProof, ...]:
        """The facts about proofs needed to repeat the decision."""
        return () if self.proof is None else (self.proof,)

    def to_record(self) -> dict[str, Any]:
        """Everything, as JSON data."""
        ended = {"budget_ended_at": list(self.budget_ended_at)} if self.budget_ended_at else {}
        problem = self.client_ip_problem
        return {
            "action": action_to_dict(self.action),
            "reason": self.reason,
            "policy": self.policy,
            "clause": self.clause,
            "mitigation": self.mitigation,
            "entities": [{**attrs.asdict(each), "key": list(each.key)} for each in self.entities],
            "matched_actions": list(self.matched_actions),
            "fired": [attrs.asdict(each) for each in self.fired],
            "errors": dict(self.errors),
            **ended,
            **({"client_ip_problem": problem} if problem else {}),
            **({"client_ip": self.client_ip} if self.client_ip else {}),
            **({"proof": self.proof.to_record()} if self.proof else {}),
            **({"override": self.override} if self.override else {}),
        }

    def to_wire(self) -> dict[str, Any]:
        """The answer to the caller."""
        return {"action": action_to_dict(self.action), "reason": self.reason}


def action_to_dict(action: Action) -> dict[str, Any]:
    """An engine's action as JSON data; a member named after the type has its details."""
    match action:
        case Challenge():
            how: dict[str, Any] = {
                "provider": action.provider,
                "difficulty": action.difficulty,
                "return_url": action.return_url,
            }
            return {"type": action.type, "challenge": how}
        case Block():
            how = {
                "status_code": action.status_code,
                "body": action.body,
                "headers": dict(action.headers),
            }
            return {"type": action.type, "block": how}
        case Allow():
            return {"type": action.type}


def _action(data: Mapping[str, Any]) -> Action:
    match data["type"]:
        case "challenge":
            return Challenge(**data["challenge"])
        case "block":
            return Block(**data["block"])
        case _:
            return _ALLOW


_ALLOW = Allow()


def _record_of(record: bytes | str | Mapping[str, Any]) -> Any:
    """The members of a record."""
    return orjson.loads(record) if isinstance(record, bytes | str) else record


def _answer(record: bytes | str | Mapping[str, Any] | None) -> Any:
    """The action and reason that the text of a record begins with; None if it doesn't."""
    if not isinstance(record, bytes):
        return None
    answer, found, _ = record.partition(b',"policy":')
    try:
        return orjson.loads(answer + b"}") if found else None
    except orjson.JSONDecodeError:  # a header has this name
        return None


def _entities(record: Mapping[str, Any]) -> tuple[Entity, ...]:
    return tuple(
        Entity(each["definition"], each["entity_id"], tuple(each["key"]))
        for each in record["entities"]
    )


def _fired(data: Mapping[str, Any]) -> FiredClause:
    window = data["window"]
    return FiredClause(**{**data, "window": WindowValue(**window) if window else None})


_READ: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "action": lambda record: _action(record["action"]),
    "reason": itemgetter("reason"),
    "decision_id": lambda _: None,
    "policy": itemgetter("policy"),
    "clause": itemgetter("clause"),
    "mitigation": itemgetter("mitigation"),
    "entities": _entities,
    "matched_actions": lambda record: tuple(record["matched_actions"]),
    "fired": lambda record: tuple(_fired(each) for each in record["fired"]),
    "errors": lambda record: dict(record["errors"]),
    "budget_ended_at": lambda record: tuple(record.get("budget_ended_at", ())),
    "client_ip_problem": lambda record: record.get("client_ip_problem"),
    "client_ip": lambda record: record.get("client_ip"),
    "proof": lambda record: ShownProof.of(record["proof"]) if "proof" in record else None,
    "override": lambda record: record.get("override"),
}
"""Member of a decision to the function that parses it from a record."""
