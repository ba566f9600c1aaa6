"""Decide events by definitions with the library's engine, and explain one of them.

It runs in a process of its own, so that a slow expression can be ended.
"""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from tidegate.cli.inputs.events import time_of
from tidegate.engine import Engine
from tidegate.errors import DefinitionsError, EventError
from tidegate.policy.decide import LATEST
from tidegate.policy.definitions.findings import Finding
from tidegate.policy.document import read_document
from tidegate.values import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tidegate.policy.definitions.model import Definitions
    from tidegate.policy.explain.explain import Explanation

MAX_EVENTS = 2_000
MAX_EXPLAINED = 300
"""The last events up to the chosen one, whose windows are observed. Observing is slow."""
MEMORY_BYTES = 2 * 1024**3
"""Most address space of the process."""
_START_NS = 1_767_225_600_000_000_000
"""The time of events without one: the start of 2026, and a second more for each line."""


@attrs.frozen
class Question:
    """The texts of the page.

    Attributes:
        definitions: a document, YAML or JSON.
        events: one event, an array of events, or one event per line.
        chosen: the place of the event to explain, from 0; None for the last one that is stopped,
            or the last one of all.
    """

    definitions: str
    events: str
    chosen: int | None = None


@attrs.define
class _Outcome:
    events: list[dict[str, Any]] = attrs.field(factory=list)
    trace: dict[str, Any] | None = None
    windows: list[dict[str, Any]] = attrs.field(factory=list)


def evaluate(question: Question) -> bytes:
    """Return the findings, the decisions, the explanation and the windows, as JSON.

    A document or an event that is refused gives findings or an error in its place.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY or soft > MEMORY_BYTES:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, hard))
    try:
        compilation = read_document(question.definitions)
    except DefinitionsError as error:
        found = [each for each in error.diagnostics if isinstance(each, Finding)]
        return orjson.dumps({"findings": _findings(found), **attrs.asdict(_Outcome())})
    outcome, chosen = _decided(compilation.compiled.source, question)
    body = {"findings": _findings(compilation.findings), **attrs.asdict(outcome), "chosen": chosen}
    return orjson.dumps(body)


def _findings(found: Iterable[Finding]) -> list[dict[str, Any]]:
    names = ("code", "message", "severity", "hint", "line", "column", "offset")
    return [{name: getattr(each, name) for name in names} for each in found]


def _decided(definitions: Definitions, question: Question) -> tuple[_Outcome, int]:
    given = list(_events(question.events))
    chosen = question.chosen
    if chosen is None:
        chosen = _last_stopped(Engine(definitions), given)
    chosen = max(0, min(chosen, len(given) - 1))
    engine, outcome = Engine(definitions), _Outcome()
    observed: list[Explanation] = []
    for place, event in enumerate(given):
        at = _time(place, event)
        try:
            if chosen - MAX_EXPLAINED < place <= chosen:
                explanation = engine.explain(event, at)
                observed.append(explanation)
                if place == chosen:
                    outcome.trace = explanation.to_dict()
            decision = engine.decide(event, at)
        except EventError as error:
            outcome.events.append({"error": f"{error.code}: {error}"})
            continue
        outcome.events.append(
            {
                **_shown(event),
                "action": decision.action.type,
                "reason": decision.reason,
                "policy": decision.policy,
                "clause": decision.clause,
            }
        )
    if outcome.trace is not None:
        outcome.windows = _windows(definitions, observed)
    return outcome, chosen


def _time(place: int, event: bytes) -> int:
    """Return when an event came: when it was observed, so that its windows count at that time."""
    observed = time_of(event)
    if observed is None:
        return _START_NS + place * NANOSECONDS
    return min(max(int(observed * NANOSECONDS), 0), LATEST)


def _last_stopped(engine: Engine, given: list[bytes]) -> int:
    """Return the place of the last event that isn't allowed, or of the last one."""
    found = len(given) - 1
    for place, event in enumerate(given):
        try:
            decision = engine.decide(event, _time(place, event))
        except EventError:
            continue
        if decision.action.type != "allow":
            found = place
    return found


def _events(text: str) -> Iterator[bytes]:
    """Yield the events of a text."""
    stripped = text.strip()
    try:
        whole = orjson.loads(stripped) if stripped else []
    except orjson.JSONDecodeError:
        lines = [line for line in stripped.splitlines() if line.strip()]
        _bound(len(lines))
        for line in lines:
            yield line.encode()
        return
    every = whole if isinstance(whole, list) else [whole]
    _bound(len(every))
    yield from (orjson.dumps(each) for each in every)


def _bound(count: int) -> None:
    if count > MAX_EVENTS:
        raise ValueError(f"there are {count:,} events; the page takes at most {MAX_EVENTS:,}")


def _shown(event: bytes) -> dict[str, Any]:
    """Return the parts of an event that its row shows."""
    read = orjson.loads(event)
    request = read.get("request") or {}
    names = ("method", "path", "client_ip")
    parts = {name: str(request.get(name, ""))[:200] for name in names}
    return {"time": str(read.get("observed_at") or ""), **parts}


def _windows(definitions: Definitions, observed: list[Explanation]) -> list[dict[str, Any]]:
    """Return the counts over time of the windows that the last explanation has."""
    entity_of = {
        (policy.slug, clause.name): clause.entity
        for policy in definitions.policies
        for clause in policy.clauses
    }

    def entity(explanation: Explanation, slug: str | None) -> str | None:
        return next((e.entity_id for e in explanation.entities if e.slug == slug), None)

    found = []
    last = observed[-1]
    for policy in last.policies:
        for clause in policy.clauses:
            slug = entity_of.get((policy.slug, clause.name))
            wanted = entity(last, slug)
            if clause.window is None or wanted is None:
                continue
            points = [
                {"time": each.time, "value": window.value}
                for each in observed
                if entity(each, slug) == wanted
                for window in [_window(each, policy.slug, clause.name)]
                if window is not None and window.value is not None
            ]
            if points:
                label = {"policy": policy.slug, "clause": clause.name}
                bounds = {"threshold": clause.window.threshold}
                seconds = {"duration_seconds": clause.window.duration_seconds}
                found.append({**label, **bounds, **seconds, "points": points})
    return found


def _window(explanation: Explanation, policy: str, clause: str) -> Any:
    return next(
        (
            each.window
            for of in explanation.policies
            if of.slug == policy
            for each in of.clauses
            if each.name == clause
        ),
        None,
    )
