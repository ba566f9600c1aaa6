"""Findings about what definitions do with events: what never matches, and what matches too much.

A trial decides with copies of the policies whose clauses only watch. So a clause is seen whether or
not another one answers before it, and a window is also watched at a fifth of its threshold.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from tidegate.language.check.checker import CheckedExpression, check
from tidegate.language.tree.schema import Schema
from tidegate.policy.callers import KINDS, MACHINES, Request, kind_of
from tidegate.policy.definitions.findings import Finding, pointer_to
from tidegate.policy.definitions.reads import reads
from tidegate.policy.traffic.programs import compile_programs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.policy.decision import EngineDecision
    from tidegate.policy.definitions.compile import Compilation
    from tidegate.policy.definitions.model import Clause, Definitions, Policy
    from tidegate.policy.traffic.doctor import KeyReport

LEAST_EVENTS = 100
"""Fewer events say nothing about what is usual."""
MOST_MATCHED = 0.5
LEAST_OF_THRESHOLD = 5
LEAST_FILLED = 0.05
MOST_ERRORS = 0.01
_TESTS, _NEAR, _FIRES = "tests", "near", "fires"
_MAPS = frozenset(
    (
        "request.headers",
        "request.query_params",
        "request.cookies",
        "request.route_params",
        "fields",
    )
)


class Trial:
    """Counts what definitions do with events.

    Args:
        compilation: the definitions, without errors.
    """

    def __init__(self, compilation: Compilation) -> None:
        self._compilation = compilation
        self._source = compilation.compiled.source
        self._machines = next(
            (each.entries for each in self._source.lists if each.slug == MACHINES), ()
        )
        self.events = 0
        self._fired: Counter[tuple[str, int, int]] = Counter()
        self._actions: Counter[str] = Counter()
        self._errors: dict[str, Counter[str]] = defaultdict(Counter)
        self._cannot_answer: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
        self._filled: Counter[str] = Counter()
        self._fields = self._fields_read()
        checked = {each: _presence(each) for each in self._fields}
        self._programs = compile_programs(
            checked, {}, Schema.default(), compilation.compiled.trusted_proxies
        )

    @cached_property
    def definitions(self) -> Definitions:
        """The definitions that an engine decides with for :meth:`add`."""
        policies = [
            policy
            for number, each in enumerate(self._source.policies)
            if each.enabled and each.status != "retired"
            for policy in _copies(each, number)
        ]
        return attrs.evolve(self._source, policies=tuple(policies))

    def add(self, event: bytes, decision: EngineDecision) -> None:
        """Count an event and the decision of :attr:`definitions` about it."""
        self.events += 1
        self._actions.update(decision.matched_actions)
        challenged = []
        for fired in decision.fired:
            kind, number, at = _place(fired.policy, fired.clause)
            self._fired[kind, number, at] += 1
            if kind == _FIRES and (number, at) in self._challenges:
                challenged.append((number, at))
        for place, code in decision.errors.items():
            self._errors[place][code] += 1
        if challenged:
            request = Request.of(orjson.loads(event).get("request") or {})
            caller = kind_of(request, self._machines)
            for each in challenged if caller is not None else ():
                self._cannot_answer[each][str(caller)] += 1
        if self._fields:
            found = self._programs.rules.match(event, False)
            self._filled.update(found.matched)

    def findings(self, keys: list[KeyReport]) -> Iterator[Finding]:
        """Findings about the definitions, with pointers into the document.

        Args:
            keys: what is known about the keys of entity definitions.
        """
        if self.events < LEAST_EVENTS:
            yield _warning(
                "too-few-events",
                f"{self.events} events say nothing about what is usual, {LEAST_EVENTS} may",
                "",
                "give more events",
            )
            return
        yield from self._of_actions()
        for number, policy in enumerate(self._source.policies):
            if policy.enabled and policy.status != "retired":
                for at, clause in enumerate(policy.clauses):
                    yield from self._of_clause(number, at, clause)
        yield from self._of_errors()
        yield from self._of_fields()
        yield from self._of_keys(keys)

    def _of_actions(self) -> Iterator[Finding]:
        for number, action in enumerate(self._source.actions):
            if action.enabled:
                name, pointer = f"the action `{action.slug}`", f"/actions/{number}/expression"
                yield from self._of_matches(name, self._actions[action.slug], pointer)

    def _of_matches(self, name: str, matched: int, pointer: str) -> Iterator[Finding]:
        if not matched:
            yield _warning(
                "never-matched",
                f"{name} matches none of {self.events:,} events",
                pointer,
                "compare its tests with an event that it is meant for (`tidegate explain`)",
            )
        elif matched > MOST_MATCHED * self.events:
            yield _warning(
                "matches-most",
                f"{name} matches {matched:,} of {self.events:,} events",
                pointer,
                "make its tests narrower, or its threshold higher",
            )

    def _of_clause(self, number: int, at: int, clause: Clause) -> Iterator[Finding]:
        pointer, name = f"/policies/{number}/clauses/{at}", f"the clause `{clause.name}`"
        tested = self._fired[_TESTS, number, at]
        if not tested:
            yield from self._of_matches(name, 0, pointer)
            return
        if clause.mitigation in self._answering:
            fires = self._fired[_FIRES, number, at]
            yield from self._of_matches(name, max(1, fires), pointer)
        window = clause.window
        if window is not None and not self._fired[_NEAR, number, at] and _near(clause) > 1:
            yield _warning(
                "threshold-far",
                f"the window never reaches {_near(clause):,}, a fifth of its threshold of"
                f" {window.threshold:,}",
                f"{pointer}/window/threshold",
                "lower the threshold, or use a longer window",
            )
        callers = self._cannot_answer[number, at]
        if callers:
            kinds = sorted(callers, key=KINDS.index)
            shown = ", ".join(f"{callers[each]:,} {each}" for each in kinds)
            yield _warning(
                "challenge-not-answerable",
                f"of {self._fired[_FIRES, number, at]:,} requests that the clause challenges,"
                f" {callers.total():,} are of callers that can't answer: {shown}",
                f"{pointer}/mitigation",
                "leave them out with the clause's expression, or put a final clause for them before"
                " it",
            )

    def _of_errors(self) -> Iterator[Finding]:
        pointers = _pointers(self._source)
        for place, codes in self._errors.items():
            failed = codes.total()
            pointer = pointers.get(place)
            if failed > MOST_ERRORS * self.events and pointer is not None:
                code, _ = codes.most_common(1)[0]
                yield _warning(
                    "errors-often",
                    f"the expression fails for {failed:,} of {self.events:,} events, mostly with"
                    f" `{code}`, and then doesn't hold",
                    pointer,
                    f"test for the case first; `tidegate explain-code {code}` says what it is",
                )

    def _of_fields(self) -> Iterator[Finding]:
        for name, pointer in self._fields.items():
            filled = self._filled[name]
            if filled < LEAST_FILLED * self.events:
                yield _warning(
                    "field-rare",
                    f"{filled:,} of {self.events:,} events have `{name}`",
                    pointer,
                    "check its name, and whether whoever sends the events fills it in",
                )

    def _of_keys(self, keys: list[KeyReport]) -> Iterator[Finding]:
        numbers = {each.slug: at for at, each in enumerate(self._source.entities)}
        for report in keys:
            pointer = f"/entities/{numbers[report.slug]}/key_fields"
            for each in report.findings:
                message = each.detail.rstrip(".")
                yield _warning(
                    each.code,
                    message[:1].lower() + message[1:],
                    pointer,
                    "`tidegate keys` shows the figures",
                )

    @cached_property
    def _answering(self) -> frozenset[str]:
        return frozenset(each.slug for each in self._source.mitigations if each.mode != "Monitor")

    @cached_property
    def _challenges(self) -> frozenset[tuple[int, int]]:
        slugs = {each.slug for each in self._source.mitigations if each.mode == "Challenge"}
        return frozenset(
            (number, at)
            for number, policy in enumerate(self._source.policies)
            for at, clause in enumerate(policy.clauses)
            if clause.mitigation in slugs
        )

    def _fields_read(self) -> dict[str, str]:
        """The members that conditions read by name, with the pointer of the first to read each."""
        found: dict[str, str] = {}
        for pointer, expression in _conditions(self._compilation):
            for each in reads(expression.root):
                for field in expression.references.fields & _MAPS:
                    path = tuple(field.split("."))
                    if each.path[: len(path)] == path and len(each.path) > len(path):
                        name = orjson.dumps(each.path[len(path)]).decode()
                        found.setdefault(f"{field}[{name}]", pointer)
        return found


def _warning(code: str, message: str, pointer: str, hint: str) -> Finding:
    return Finding(code, message, pointer, severity="warning", hint=hint)


def _presence(name: str) -> CheckedExpression:
    field, _, rest = name.partition("[")
    return check(f"{rest.removesuffix(']')} in {field}", Schema.default())


def _near(clause: Clause) -> int:
    """A fifth of the clause's threshold, rounded up."""
    return 1 if clause.window is None else -(-clause.window.threshold // LEAST_OF_THRESHOLD)


def _copies(policy: Policy, number: int) -> Iterator[Policy]:
    """The policy three times: its clauses without windows, with low thresholds, and as they are."""
    for kind in (_TESTS, _NEAR, _FIRES):
        clauses = [_watching(clause, at, kind) for at, clause in enumerate(policy.clauses)]
        yield attrs.evolve(
            policy,
            policy_id=_id(number, kind),
            name=f"{kind}-{number}",
            slug=f"{kind}-{number}",
            status="active",
            clauses=tuple(clauses),
        )


def _watching(clause: Clause, at: int, kind: str) -> Clause:
    window = clause.window
    if window is not None and kind != _FIRES:
        window = None if kind == _TESTS else attrs.evolve(window, threshold=_near(clause))
    return attrs.evolve(clause, name=str(at), mitigation=None, final=False, window=window)


def _id(number: int, kind: str) -> str:
    return f"{number:08x}-0000-5000-8000-{(_TESTS, _NEAR, _FIRES).index(kind):012x}"


def _place(policy: str, clause: str) -> tuple[str, int, int]:
    kind, _, number = policy.partition("-")
    return kind, int(number), int(clause)


def _pointers(source: Definitions) -> dict[str, str]:
    """The pointer of each place of a trial's decision at which an expression is evaluated."""
    found: dict[str, str] = {}
    for at, action in enumerate(source.actions):
        found[f"actions.{action.slug}.expression"] = f"/actions/{at}/expression"
    for at, entity in enumerate(source.entities):
        found[f"entities.{entity.slug}.match_expression"] = f"/entities/{at}/match_expression"
        for number in range(len(entity.key_fields)):
            place = f"entities.{entity.slug}.key_fields[{number}]"
            found[place] = f"/entities/{at}/key_fields/{number}"
    for at, mitigation in enumerate(source.mitigations):
        for name in mitigation.block.computed_headers if mitigation.block else ():
            place = f"mitigations.{mitigation.slug}.block.computed_headers.{name}"
            found[place] = pointer_to(f"/mitigations/{at}/block/computed_headers", name)
    for at, policy in enumerate(source.policies):
        slug = f"{_FIRES}-{at}"
        found[f"policies.{slug}.expression"] = f"/policies/{at}/expression"
        for number in range(len(policy.clauses)):
            place, pointer = (
                f"policies.{slug}.clauses[{number}]",
                f"/policies/{at}/clauses/{number}",
            )
            found[f"{place}.expression"] = f"{pointer}/expression"
            found[f"{place}.window.field"] = f"{pointer}/window/field"
    return found


def _conditions(compilation: Compilation) -> Iterator[tuple[str, Any]]:
    """The conditions of actions, policies and clauses, with their pointers."""
    source = compilation.compiled.source
    numbers = {each.slug: at for at, each in enumerate(source.actions)}
    for action in compilation.compiled.actions:
        yield f"/actions/{numbers[action.slug]}/expression", action.expression
    for at, policy in enumerate(source.policies):
        made = compilation.checked[id(policy)].compiled
        if policy.enabled and policy.status != "retired":
            if made.expression is not None:
                yield f"/policies/{at}/expression", made.expression
            for number, clause in enumerate(made.clauses):
                if clause.expression is not None:
                    yield f"/policies/{at}/clauses/{number}/expression", clause.expression
