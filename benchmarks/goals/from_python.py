"""G6: the cost for a caller in Python, compared with other engines, measured alternately."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import orjson

import tidegate
from benchmarks.goals.goal import Goal, absent
from benchmarks.peers.adapter import load_adapters
from benchmarks.peers.agreement import agree, true_answers
from benchmarks.peers.measurement import common_rules, has_plain_path
from benchmarks.peers.python_lambda import PythonLambda
from benchmarks.peers.timing import Work, interleave
from benchmarks.traffic.workload import iterate_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZE = 1_000
COMPARED = 50
"""Events on which the answers of other engines are compared."""
ROUNDS = 7
SECONDS = 0.25
AGREED_SECONDS = 5.0
"""Time for an engine to compile the rules, and to show that it answers right."""
BOUNDS = {"bytes": (4.8, 500, 80), "dict": (12, 200, 35)}
"""The bounds of each form: nanoseconds a rule, times the best packaged engine, times a Python
lambda."""


def measure(events: Sequence[bytes]) -> list[Goal]:
    """One set of 1,000 rules, trained on the events as the set in Rust."""
    rules = tidegate.RuleSet(
        {rule.rule_id: rule.expression for rule in iterate_rules(SIZE)}, sample=events
    )
    dicts = [orjson.loads(event) for event in events]
    work = {
        "bytes": Work(rules.match, events),
        "dict": Work(rules.match, dicts),
    }
    times = interleave(work, rounds=ROUNDS, seconds=SECONDS)
    goals = [
        Goal("G6", f"1k from {form}: a rule", bound, times[form] / len(rules), " ns")
        for form, (bound, _, _) in BOUNDS.items()
    ]
    return goals + _beside_others(events)


def _beside_others(events: Sequence[bytes]) -> list[Goal]:
    """The rules that all engines can express, run alternately by each, Python lambdas among
    them."""
    rules = common_rules(SIZE)
    plain = [event for event in events if has_plain_path(orjson.loads(event))]
    dicts = [orjson.loads(event) for event in plain]
    ours = tidegate.RuleSet({rule.rule_id: rule.expression for rule in rules}, sample=events)
    lambdas = PythonLambda().rule_set(rules)
    work = {
        ("ours", "bytes"): Work(ours.match, plain),
        ("ours", "dict"): Work(ours.match, dicts),
        ("lambda", "bytes"): Work(lambdas.from_bytes, plain),
        ("lambda", "dict"): Work(lambdas.from_dict, dicts),
    }
    counts = {"ours": len(rules), "lambda": len(rules)}
    truth = true_answers(rules, dicts[:COMPARED])
    for engine in (one for one in load_adapters()[0] if one.distribution not in (None, "tidegate")):
        compared = (plain[:COMPARED], dicts[:COMPARED])
        agreed = agree(engine, rules, *compared, truth, limit_seconds=AGREED_SECONDS)
        if agreed.forms is not None:
            counts[engine.label] = agreed.rules
            work[engine.label, "bytes"] = Work(agreed.forms.from_bytes, plain)
            work[engine.label, "dict"] = Work(agreed.forms.from_dict, dicts)
    times = interleave(work, rounds=ROUNDS, seconds=SECONDS)
    each = {(name, form): time / counts[name] for (name, form), time in times.items()}
    goals = []
    for form, (_, engine_bound, lambda_bound) in BOUNDS.items():
        engines = {name: ns for (name, of), ns in each.items() if of == form}
        least, lambda_ns = engines.pop("ours"), engines.pop("lambda")
        what = f"1k common rules from {form}: times less a rule than"
        if engines:
            best = min(engines, key=engines.__getitem__)
            goals.append(_fewer(f"{what} {best}", engine_bound, engines[best] / least))
        else:
            goals.append(
                absent("G6", f"{what} a packaged engine", engine_bound, "none is installed")
            )
        goals.append(_fewer(f"{what} a Python lambda", lambda_bound, lambda_ns / least))
    return goals


def _fewer(what: str, bound: float, found: float) -> Goal:
    return Goal("G6", what, bound, found, "x", is_at_least=True)


def optional(name: str) -> Any:
    """A module, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
