"""The decision on one event: the definition of its semantics (docs/decision.md).

Short and plain on purpose; the native engine must match it.  A decision is a function of the
compiled definitions, the state, the event, the time it was received, and the findings about its
challenge proofs.  An override changes only the answer: everything counts as it would without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

import tidegate.decider as decider  # not `from tidegate`: that loads all public names
from tidegate.evaluation.clients import noted
from tidegate.evaluation.encoder import encode
from tidegate.evaluation.event import read_event
from tidegate.evaluation.outcome import Failure, Outcome
from tidegate.evaluation.reference import evaluate
from tidegate.functions.addresses import parse_address
from tidegate.limits import CLOCK_TOLERANCE
from tidegate.policy.budget import Ends, past_budget
from tidegate.policy.decision import EngineDecision, Entity, FiredClause, WindowValue
from tidegate.policy.definitions.header_values import header_value_problem
from tidegate.policy.definitions.keys import EntityKey, Part, counted_text, entity_id, part_of
from tidegate.policy.definitions.secrets import (
    PLAIN,
    Reading,
    keeps_forwarded,
    kept_part,
    kept_text,
)
from tidegate.policy.shown_proof import FIELDS, ShownProof, counting, shown_proofs
from tidegate.policy.state.state import Block, Change, Changed, Count, Mitigate, State
from tidegate.policy.state.windows import added
from tidegate.types import STRING
from tidegate.values import Timestamp

if TYPE_CHECKING:
    from tidegate.language.check.checker import CheckedExpression
    from tidegate.policy.definitions.compiled import (
        CompiledClause,
        CompiledDefinitions,
        CompiledEntity,
        CompiledMitigation,
        CompiledPolicy,
    )
    from tidegate.policy.definitions.overrides import CompiledOverride
    from tidegate.policy.definitions.secrets import Redacts
    from tidegate.policy.proofs import ProofKeys

LATEST = 2**63 - 1
MISSING = frozenset({"no_such_key", "no_such_field"})
RETURN_URL = "return_url"
PATH = "request.raw_path"
CLIENT_IP = "request.client_ip"
CLIENT_PROBLEM = "derived.client_ip_problem"

Record: TypeAlias = Mapping[str, Any]
Evaluate: TypeAlias = Callable[[str, "CheckedExpression", Record], Outcome]
"""Evaluates the expression at a place; an explanation substitutes an observing one."""


@attrs.frozen
class AppliedEntity:
    """An entity of the event, with its block before the event."""

    definition: CompiledEntity
    key: EntityKey
    id: str
    block: Block | None


@attrs.frozen
class TriedClause:
    """One clause and the result of trying it.  None means not evaluated.

    ``past_budget``: the budget ended before it, so that it cannot fire by itself.
    """

    place: str
    policy: CompiledPolicy
    clause: CompiledClause
    in_scope: bool
    missing_actions: tuple[str, ...]
    entity: AppliedEntity | None
    condition: bool | None
    window: int | None
    active_until: int | None
    fired: bool
    active: bool
    past_budget: bool


@attrs.frozen
class Decided:
    """A decision, its changes, and how it came about."""

    decision: EngineDecision
    changes: tuple[Changed, ...]
    time: int
    entities: tuple[AppliedEntity, ...]
    tried: tuple[TriedClause, ...]
    path: str | None
    """``request.path`` as received, without secrets."""
    return_url: str | None
    """The event's URL as received; the decision has it without secrets."""

    def to_wire(self) -> dict[str, Any]:
        """The answer to the caller."""
        decision, action = self.decision, self.decision.action
        if isinstance(action, decider.Challenge) and self.return_url is not None:
            exact = attrs.evolve(action, return_url=self.return_url)
            decision = attrs.evolve(decision, action=exact)
        return decision.to_wire()


def decide(
    compiled: CompiledDefinitions,
    state: State,
    event: Mapping[str, Any] | bytes,
    received_at: int,
    *,
    addresses: Any = None,
    evaluate_at: Evaluate | None = None,
    ended_at: Sequence[str] = (),
    redactor: Redacts | None = None,
    proof_keys: ProofKeys | None = None,
    proofs: Sequence[ShownProof] | None = None,
) -> Decided:
    """Decide on one event; the state is read, not changed.

    Args:
        compiled: the definitions.
        state: the state from earlier events; ``state.apply(decided.changes)`` turns it into the
            state after this one.
        event: a dict, or JSON bytes.
        received_at: when the event arrived, in nanoseconds since 1970.
        addresses: the address databases, for ``derived.country`` and similar fields.
        evaluate_at: replaces the reference evaluator, to observe it.
        ended_at: where the decision's budget ended; nothing is counted here.
        redactor: removes secrets from keys and records; without one they are in clear.
        proof_keys: keys for reading challenge proofs; without them none is read.
        proofs: earlier findings about the proofs, used instead of reading them.

    Raises:
        EventError: the event is rejected.
        ValueError: the definitions have no such place for the budget's end.
    """
    ends = Ends(compiled, ended_at)
    names = {name for name in compiled.names_read if not name.startswith(("actions.", "entity."))}
    record = encode(
        event,
        names | FIELDS | {"observed_at", RETURN_URL, PATH, CLIENT_IP, CLIENT_PROBLEM},
        variables={RETURN_URL: STRING},
        trusted_proxies=compiled.trusted_proxies,
        addresses=addresses,
    )
    time = event_time(record.get("observed_at"), received_at)
    received_at = min(max(received_at, 0), LATEST)
    evaluate_with = evaluate_at or _evaluator(compiled)
    if proofs is None:
        proofs = shown_proofs(proof_keys, record, received_at) if proof_keys else []
    member = read_event(event, frozenset({RETURN_URL})).texts.get("client_ip")
    client_ip = _kept_client(member, record[CLIENT_IP], redactor)
    times = (time, received_at)
    walk = _Walk(compiled, state, record, times, evaluate_with, ends, redactor, client_ip)
    return walk.run(counting(proofs, state.passes))


def _kept_client(member: str | None, address: str, redactor: Redacts | None) -> str | None:
    """The client's address as a record has it; None if the stored event has it, or hides it.

    Args:
        member: ``request.client_ip`` as received.
        address: the address that rules see.
        redactor: of the tenant.
    """
    if not address or member == address:
        return None
    if member is None and not keeps_forwarded(redactor):
        return None
    return address


def event_time(observed_at: Timestamp | None, received_at: int) -> int:
    """The time at which an event counts, between 0 and the last nanosecond of 64 bits."""
    received_at = min(max(received_at, 0), LATEST)
    if observed_at is None:
        return received_at
    return min(max(observed_at.nanoseconds, 0), received_at + CLOCK_TOLERANCE, LATEST)


def _evaluator(compiled: CompiledDefinitions) -> Evaluate:
    def evaluate_at(_place: str, expression: CheckedExpression, record: Record) -> Outcome:
        return evaluate(expression.root, record, lists=compiled.lists, limits=compiled.limits)

    return evaluate_at


class _Walk:
    """The walk through the definitions for one event."""

    def __init__(
        self,
        compiled: CompiledDefinitions,
        state: State,
        record: Record,
        times: tuple[int, int],
        evaluate_at: Evaluate,
        ends: Ends,
        redactor: Redacts | None,
        client_ip: str | None,
    ) -> None:
        self._client_ip = client_ip
        self._compiled = compiled
        self._state = state
        self._record = dict(record)
        self._time, self._received_at = times
        self._evaluate = evaluate_at
        self._ends = ends
        self._final: str | None = None
        """The place of the clause that ended the walk."""
        self._redactor = redactor
        self._override: CompiledOverride | None = None
        self._matched: list[str] = []
        self._entities: dict[str, AppliedEntity] = {}
        self._tried: list[TriedClause] = []
        self._errors: dict[str, str] = {}
        self._counts: list[tuple[EntityKey, Count]] = []
        self._mitigations: list[tuple[EntityKey, Mitigate]] = []

    def run(self, proof: ShownProof | None) -> Decided:
        self._actions()
        for definition in self._compiled.entities:
            self._entity(definition)
        self._override = self._find_override()
        for policy in self._compiled.policies:
            if self._policy(policy):
                break
        changes: list[Changed] = [self._change(entity) for entity in self._entities.values()]
        if proof is not None:
            changes += proof.changes(self._state.passes, self._received_at, blocks=self._blocks())
        return Decided(
            self._decision(proof),
            tuple(changes),
            self._time,
            tuple(self._entities.values()),
            tuple(self._tried),
            self._kept_link(PATH),
            self._record.get(RETURN_URL) or None,
        )

    # --- actions and entities -------------------------------------------------------------

    def _actions(self) -> None:
        for action in self._compiled.actions:
            place = f"actions.{action.slug}.expression"
            has_matched = self._test(place, action.expression)
            self._record[f"actions.{action.slug}"] = has_matched
            if has_matched:
                self._matched.append(action.slug)

    def _entity(self, definition: CompiledEntity) -> None:
        if not self._test(f"entities.{definition.slug}.match_expression", definition.match):
            return
        parts: list[Part] = []
        for number, field in enumerate(definition.key_fields):
            place = f"entities.{definition.slug}.key_fields[{number}]"
            if self._ends.are_before(place):
                return
            part = self._part(place, field, definition.key_readings[number])
            if part is None or (part == "" and definition.on_missing_key == "skip"):
                return
            parts.append(part)
        key = EntityKey.of(definition.slug, tuple(parts))
        identity = str(entity_id(self._compiled.tenant, definition.id, key))
        self._entities[definition.slug] = AppliedEntity(
            definition, key, identity, self._state.get(key)
        )

    def _part(self, place: str, field: CheckedExpression, read: Reading) -> Part | None:
        """A part of a key: "" if it is missing, None for an error, which is recorded."""
        outcome = self._evaluate(place, field, self._record)
        if outcome.failure is not None and outcome.failure.code in MISSING:
            return ""
        return self._key_part(place, outcome, read)

    def _key_part(self, place: str, outcome: Outcome, read: Reading) -> Part | None:
        if outcome.failure is not None:
            self._errors[place] = outcome.failure.code
            return None
        part = part_of(outcome.value)
        if part is None:
            self._errors[place] = "no_such_overload"
            return None
        return kept_part(self._redactor, read, part)

    def _find_override(self) -> CompiledOverride | None:
        if not self._compiled.overrides.all:
            return None
        address = parse_address(self._record[CLIENT_IP])
        ids = {each.id for each in self._entities.values()}
        return self._compiled.overrides.find(address, ids, self._received_at)

    @property
    def _is_exempt(self) -> bool:
        return self._override is not None and self._override.kind == "allow"

    # --- policies -------------------------------------------------------------------------

    def _policy(self, policy: CompiledPolicy) -> bool:
        """Try a policy's clauses; return whether a final one fired."""
        place = f"policies.{policy.slug}"
        in_scope = self._test(f"{place}.expression", policy.expression)
        for number, clause in enumerate(policy.clauses):
            if not clause.enabled:
                continue
            tried = self._clause(f"{place}.clauses[{number}]", policy, clause, in_scope)
            self._tried.append(tried)
            if tried.fired and clause.final:
                self._final = tried.place
                return True
        return False

    def _clause(
        self, place: str, policy: CompiledPolicy, clause: CompiledClause, in_scope: bool
    ) -> TriedClause:
        entity = self._entities.get(clause.entity) if clause.entity else None
        missing = tuple(slug for slug in clause.actions if slug not in self._matched)
        applies = entity is not None or clause.entity is None
        condition = window = None
        past_budget = self._ends.are_before(f"{place}.expression")
        if in_scope and not missing and applies and not past_budget:
            record = self._record if entity is None else self._with_state(entity)
            condition = self._test(f"{place}.expression", clause.expression, record)
        if condition and clause.window is not None and entity is not None:
            window = self._count(place, policy, clause, entity)
        fires = bool(condition) and (
            clause.window is None or (window is not None and window >= clause.window.threshold)
        )
        active_until = self._active_until(policy, clause, entity)
        if fires:
            self._mitigate(policy, clause, entity)
        return TriedClause(
            place=place,
            policy=policy,
            clause=clause,
            in_scope=in_scope,
            missing_actions=missing,
            entity=entity,
            condition=condition,
            window=window,
            active_until=active_until,
            fired=fires or active_until is not None,
            active=not fires and active_until is not None,
            past_budget=past_budget,
        )

    def _with_state(self, entity: AppliedEntity) -> Record:
        block = entity.block or Block(0, self._time, self._time)
        return {
            **self._record,
            "entity.event_count": block.event_count,
            "entity.first_seen_at": Timestamp(block.first_seen),
            "entity.last_seen_at": Timestamp(block.last_seen),
        }

    def _count(
        self, place: str, policy: CompiledPolicy, clause: CompiledClause, entity: AppliedEntity
    ) -> int | None:
        """The window's count with this event; None if it is not counted."""
        rule = clause.window
        if rule is None:
            return None
        value = None
        if rule.field is not None:
            field_place = f"{place}.window.field"
            if self._ends.are_before(field_place):
                return None
            outcome = self._evaluate(field_place, rule.field, self._record)
            part = self._key_part(field_place, outcome, rule.field_reading or PLAIN)
            if part is None:
                return None
            value = counted_text(part)
        clause_key = (policy.slug, clause.name)
        self._counts.append((entity.key, Count(clause_key, rule, value)))
        before = entity.block.windows.get(clause_key) if entity.block else None
        return len(added(before, rule, self._time, value))

    def _active_until(
        self, policy: CompiledPolicy, clause: CompiledClause, entity: AppliedEntity | None
    ) -> int | None:
        """The end of the mitigation that this clause set earlier, if it has not ended yet."""
        if entity is None or entity.block is None:
            return None
        expires_at = entity.block.mitigations.get((policy.slug, clause.name))
        return expires_at if expires_at is not None and self._time < expires_at else None

    def _mitigate(
        self, policy: CompiledPolicy, clause: CompiledClause, entity: AppliedEntity | None
    ) -> None:
        mitigation = clause.mitigation
        if self._is_exempt or entity is None or mitigation is None:
            return
        if mitigation.ttl_seconds > 0:
            expires_at = min(self._time + mitigation.ttl_seconds * 1_000_000_000, LATEST)
            change = Mitigate((policy.slug, clause.name), expires_at)
            self._mitigations.append((entity.key, change))

    def _test(
        self, place: str, expression: CheckedExpression | None, record: Record | None = None
    ) -> bool:
        """Whether an expression holds; a missing one always does, and a failed one is recorded and
        doesn't.

        Past the budget none does.
        """
        if self._ends.are_before(place):
            return False
        if expression is None:
            return True
        outcome = self._evaluate(place, expression, record or self._record)
        failure = outcome.failure
        if failure is None and not isinstance(outcome.value, bool):
            failure = Failure("no_such_overload", "the result is no bool")
        if failure is not None:
            self._errors[place] = failure.code
            return False
        return bool(outcome.value)

    # --- the result -----------------------------------------------------------------------

    def _change(self, entity: AppliedEntity) -> Change:
        return Change(
            entity.key,
            self._time,
            tuple(count for key, count in self._counts if key == entity.key),
            tuple(each for key, each in self._mitigations if key == entity.key),
        )

    def _blocks(self) -> bool:
        """Whether a Block fired, or is the answer past the budget; never while exempt."""
        if self._is_exempt:
            return False
        modes = [_mode(each.clause) for each in self._tried if each.fired]
        is_past_budget = bool(self._ends.reached(self._final)) and set(modes) <= {"Monitor"}
        return "Block" in modes or (is_past_budget and self._compiled.on_budget_exceeded == "block")

    def _decision(self, proof: ShownProof | None) -> EngineDecision:
        fired = [each for each in self._tried if each.fired]
        override = self._override
        is_proven = proof is not None and proof.status == "valid"
        answer = None if is_proven or override else _answer(fired, proof)
        mitigation = answer.clause.mitigation if answer else None
        ended_at = self._ends.reached(self._final)
        action: decider.Action = decider.Allow()
        reason: decider.Reason = "challenge-proof"
        if override is not None:
            action, reason = _overriding(override, self._received_at)
        elif not is_proven:
            action, reason = self._action(answer, ended_at), _reason(answer, ended_at)
        return EngineDecision(
            action=action,
            reason=reason,
            policy=answer.policy.slug if answer else None,
            clause=answer.clause.name if answer else None,
            mitigation=mitigation.slug if mitigation else None,
            entities=tuple(
                Entity(each.definition.slug, each.id, each.key.parts)
                for each in self._entities.values()
            ),
            matched_actions=tuple(self._matched),
            fired=tuple(_fired_clause(each) for each in fired),
            errors=self._errors,
            budget_ended_at=ended_at,
            client_ip_problem=noted(self._record[CLIENT_PROBLEM]),
            client_ip=self._client_ip,
            proof=proof,
            override=override.id if override else None,
        )

    def _kept_link(self, name: str) -> str | None:
        """An event's path or URL as stored; None if it is absent or empty."""
        text: str = self._record.get(name) or ""
        kept = text if self._redactor is None else self._redactor.link(text)
        return kept or None

    def _action(self, answer: TriedClause | None, ended_at: tuple[str, ...]) -> decider.Action:
        if answer is None and ended_at:
            setting = self._compiled.on_budget_exceeded
            return past_budget(setting, self._kept_link(RETURN_URL))
        mitigation = answer.clause.mitigation if answer else None
        if mitigation is not None and mitigation.challenge is not None:
            challenge = mitigation.challenge
            return_url = self._kept_link(RETURN_URL) or challenge.default_return_url_template
            return decider.Challenge(
                provider=challenge.provider, difficulty=challenge.difficulty, return_url=return_url
            )
        if mitigation is not None and mitigation.block is not None:
            block = mitigation.block
            headers = {**block.headers, **dict(self._headers(mitigation, ended_at))}
            return decider.Block(block.status_code, block.body, headers)
        return decider.Allow()

    def _headers(
        self, mitigation: CompiledMitigation, ended_at: tuple[str, ...]
    ) -> Iterator[tuple[str, str]]:
        """The computed headers of a block, as stored; none once the budget ended."""
        for each in () if ended_at else mitigation.headers:
            outcome = self._evaluate(each.place, each.expression, self._record)
            failure, value = outcome.failure, outcome.value
            if failure is None and not isinstance(value, str):
                failure = Failure("no_such_overload", "the result isn't a string")
            if failure is None:
                value = kept_text(self._redactor, each.reading, str(value))
                if header_value_problem(value) is not None:
                    failure = Failure(
                        "invalid_argument", "the result can't be the value of a header"
                    )
            if failure is not None:
                self._errors[each.place] = failure.code
            elif value:
                yield each.name, value


def _overriding(
    override: CompiledOverride, received_at: int
) -> tuple[decider.Action, decider.Reason]:
    """The answer that an override gives."""
    if override.kind == "allow":
        return decider.Allow(), "exempt"
    headers = {"retry-after": str(override.seconds_left(received_at))}
    return decider.Block(headers=headers), "banned"


def _reason(answer: TriedClause | None, ended_at: tuple[str, ...]) -> decider.Reason:
    if answer is not None:
        return "active-mitigation" if answer.active else "policy"
    return "budget-exceeded" if ended_at else "no-match"


def _answer(fired: Sequence[TriedClause], proof: ShownProof | None) -> TriedClause | None:
    """The clause that answers: the first that does not monitor.

    After a revoked pass a Block comes before Challenges, since another solution would lead to it
    again.
    """
    modes = ("Block",) if proof is not None and proof.status == "revoked" else ()
    for wanted in (modes, ("Challenge", "Block")):
        for each in fired:
            if _mode(each.clause) in wanted:
                return each
    return None


def _mode(clause: CompiledClause) -> Any:
    return clause.mitigation.mode if clause.mitigation else "Monitor"


def _fired_clause(tried: TriedClause) -> FiredClause:
    clause = tried.clause
    window = None
    if tried.window is not None and clause.window is not None:
        window = WindowValue(tried.window, clause.window.threshold)
    return FiredClause(
        policy=tried.policy.slug,
        clause=clause.name,
        mitigation=clause.mitigation.slug if clause.mitigation else None,
        mode=_mode(clause),
        entity_id=tried.entity.id if tried.entity else None,
        window=window,
        active=tried.active,
    )
