"""G6, G7, G12 and G15: what a caller in Python pays, beside what others do there."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import orjson

import tidegate
from benchmarks.goals.goal import Goal, absent
from benchmarks.peers.timing import Work, interleave
from benchmarks.workload import iterate_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.goals.native import Figures

ENGINE_NS = 2400
"""A rule of the fastest packaged engine (``python -m benchmarks.peers``)."""
LAMBDA_NS = 450
ROUNDS = 7
SECONDS = 0.25


def measure(events: Sequence[bytes], figures: Figures) -> list[Goal]:
    """One set of 1,000 rules, trained on the events as the set in Rust, and readers of JSON."""
    rules = tidegate.RuleSet(
        {rule.rule_id: rule.expression for rule in iterate_rules(1000)}, sample=events
    )
    dicts = [orjson.loads(event) for event in events]
    work = {
        "bytes": Work(rules.match, events),
        "dict": Work(rules.match, dicts),
        "orjson": Work(orjson.loads, events),
    }
    if simdjson := optional("simdjson"):
        work["simdjson"] = Work(simdjson.Parser().parse, events)
    times = interleave(work, rounds=ROUNDS, seconds=SECONDS)
    read = figures["1k"]["means"]["read"] + figures["1k"]["means"]["fields"]
    goals = [
        _fewer("bytes", "the best packaged engine", ENGINE_NS, 500, times["bytes"] / len(rules)),
        _fewer("bytes", "a Python lambda", LAMBDA_NS, 80, times["bytes"] / len(rules)),
        _fewer("dict", "the best packaged engine", ENGINE_NS, 200, times["dict"] / len(rules)),
        _fewer("dict", "a Python lambda", LAMBDA_NS, 35, times["dict"] / len(rules)),
        Goal("G7", "reading over orjson", 0.35, read / times["orjson"], "x"),
        Goal(
            "G15",
            "1k: a match from Python over that in Rust",
            0.5,
            (times["bytes"] - figures["1k"]["means"]["all"]) / 1000,
            " µs",
        ),
    ]
    if "simdjson" in times:
        goals.append(Goal("G7", "reading over simdjson", 1.3, read / times["simdjson"], "x"))
    else:
        goals.append(absent("G7", "reading over simdjson", 1.3, "pysimdjson is not installed"))
    return goals


def _fewer(form: str, other: str, its: float, bound: float, ours: float) -> Goal:
    what = f"1k from {form}: times less a rule than {other}"
    return Goal("G6", what, bound, its / ours, "x", is_at_least=True)


def optional(name: str) -> Any:
    """A module, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
