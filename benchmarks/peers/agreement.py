"""Answers before times: an engine is timed only on rules it answers as the tree says.

The truth is the rule's tree run as plain Python (:mod:`benchmarks.peers.python_lambda`),
which is itself checked: Tidegate's answers are compared with it here, and with the
published expectations by :mod:`benchmarks.traffic.rules_agreement`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.peers.adapter import Adapter, Forms, RefusedError
from benchmarks.peers.python_lambda import PythonLambda

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.traffic.workload import Event, Rule

PROBE = 50
"""Rules compiled before it is decided whether an engine survives the whole set."""


@dataclass
class Agreed:
    """The rules an engine may be timed on, and what was left out on the way."""

    forms: Forms[list[str]] | None = None
    rules: int = 0
    refused: list[str] = field(default_factory=list)
    disagreed: list[str] = field(default_factory=list)
    events: int = 0
    """Events on which answers were compared."""
    reason: str = ""
    """Why there is nothing to time, when there is not."""


def true_answers(rules: Sequence[Rule], events: Sequence[Event]) -> list[frozenset[str]]:
    """The ids of the rules that hold for each event, by the trees."""
    match = PythonLambda().rule_set(rules).from_dict
    return [frozenset(match(event)) for event in events]


def agree(
    adapter: Adapter,
    rules: Sequence[Rule],
    texts: Sequence[bytes],
    events: Sequence[Event],
    truth: Sequence[frozenset[str]],
    *,
    limit_seconds: float,
) -> Agreed:
    """Compile, compare, and leave out what the engine refuses or answers otherwise.

    Every event is compared as a dict, the first in all forms.

    Compiling and comparing each stop at ``limit_seconds``; fewer events are compared then,
    at least one, and an engine that would compile for longer is not timed.
    """
    result = Agreed()
    taken = _compile(adapter, rules, result, limit_seconds)
    if not taken:
        result.reason = result.reason or "takes none of the rules"
        return result
    forms = adapter.rule_set(taken)
    known = {rule.rule_id for rule in taken}
    different: set[str] = set()
    deadline = time.perf_counter() + limit_seconds
    for event, answer in zip(events, truth, strict=True):
        different |= (answer & known) ^ frozenset(forms.from_dict(event))
        result.events += 1
        if time.perf_counter() > deadline:
            break
    if different:
        result.disagreed = sorted(different)
        taken = [rule for rule in taken if rule.rule_id not in different]
        forms = adapter.rule_set(taken)
    if len(_forms_of_answer(forms, texts[0], events[0])) > 1:
        result.reason = "answers otherwise from another form of an event"
        return result
    result.forms, result.rules = forms, len(taken)
    return result


def _forms_of_answer(forms: Forms[list[str]], text: bytes, event: Event) -> set[frozenset[str]]:
    answers = {frozenset(forms.from_dict(event)), frozenset(forms.from_bytes(text))}
    if forms.prepare is not None and forms.from_prepared is not None:
        answers.add(frozenset(forms.from_prepared(forms.prepare(event))))
    return answers


def _compile(
    adapter: Adapter, rules: Sequence[Rule], result: Agreed, limit_seconds: float
) -> list[Rule]:
    taken: list[Rule] = []
    started = time.perf_counter()
    for number, rule in enumerate(rules, 1):
        try:
            adapter.check(rule)
        except RefusedError:
            result.refused.append(rule.rule_id)
        else:
            taken.append(rule)
        if number == PROBE:
            forecast = (time.perf_counter() - started) / number * len(rules)
            if forecast > limit_seconds:
                result.reason = f"compiling would take {forecast:.0f} s"
                return []
    return taken
