"""G9: the worst sets and events that are accepted."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

import tidegate
from benchmarks.goals.goal import Goal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RULES = 10_000
REGEXES = 1_000
EVENT_BYTES = 8_000
ROUNDS = 9
EVENTS = 40


@dataclass(frozen=True)
class Hostile:
    """A set and the values that make it slow."""

    name: str
    rules: Sequence[str]
    events: Sequence[Mapping[str, Any]]


def _path(text: str) -> dict[str, Any]:
    return {"request": {"method": "GET", "path": text}}


def shapes() -> list[Hostile]:
    """One for each way to be hostile that somebody thought of."""
    source = random.Random(3)
    words = ["".join(source.choices("abcdef", k=6)) for _ in range(RULES)]
    prefix = "/a/very/long/prefix/that/all/rules/share/"
    long = "/" + "".join(word[:4] for word in words)[:EVENT_BYTES]
    grams = [f"{word[:4]}{number:05}" for number, word in enumerate(words)]
    a = "a" * 64
    return [
        Hostile(
            "the same prefix",
            [f'request.path.startsWith("{prefix}{word}")' for word in words],
            [_path(f"{prefix}{word}") for word in words[:EVENTS]],
        ),
        Hostile(
            "overlapping contains",
            [f'request.path.contains("{a[: 4 + number % 60]}{number}")' for number in range(RULES)],
            [_path("/" + "a" * (EVENT_BYTES - number)) for number in range(EVENTS)],
        ),
        Hostile(
            "nested ranges",
            [f'double(fields["score"]) > {number}.0' for number in range(RULES)],
            [{"fields": {"score": str(RULES // 2 + number)}} for number in range(EVENTS)],
        ),
        Hostile(
            "nested networks",
            [
                f'cidr("10.0.0.0/{8 + number % 17}").containsIP(request.client_ip)'
                f' && request.path == "/{number}"'
                for number in range(RULES)
            ],
            [{"request": {"client_ip": f"10.0.0.{number}"}} for number in range(EVENTS)],
        ),
        Hostile(
            "all negated",
            [f'request.path != "/{word}"' for word in words],
            [_path(f"/{word}") for word in words[:EVENTS]],
        ),
        Hostile(
            "heavy regexes",
            [
                f'request.path.matches("[a-f]{{1,20}}[0-9]{number}[x-z]+")'
                for number in range(REGEXES)
            ],
            [_path(f"/{word}123xyz{number}") for number, word in enumerate(words[:EVENTS])],
        ),
        Hostile(
            "never-seen values",
            [f'request.path.contains("{word}")' for word in words],
            [
                _path(f"/{number:x}{word}/{word[::-1]}")
                for number, word in enumerate(words[:EVENTS])
            ],
        ),
        Hostile(
            "8 KB built against the filter",
            [f'request.path.contains("{gram}")' for gram in grams],
            [_path(f"{long}{number}") for number in range(EVENTS)],
        ),
    ]


def measure() -> tuple[list[Goal], str]:
    """Each shape's worst event, indexed and one rule after another."""
    goals: list[Goal] = []
    lines = ["| set | rules | indexed µs | linear µs | times linear |", "|---|--:|--:|--:|--:|"]
    for shape in shapes():
        rules = tidegate.RuleSet({str(number): text for number, text in enumerate(shape.rules)})
        contexts = [rules.prepare(orjson.dumps(event)) for event in shape.events]
        indexed = max(_least(rules, context, errors=False) for context in contexts)
        linear = max(_least(rules, context, errors=True) for context in contexts[:3])
        ratio = indexed / linear
        lines.append(
            f"| {shape.name} | {len(rules):,} | {indexed:,.1f} | {linear:,.1f} | {ratio:.2f} |"
        )
        goals.append(Goal("G9", f"{shape.name}: over linear", 3, ratio, "x"))
        if shape.name.startswith("8 KB"):
            goals.append(Goal("G9", f"{shape.name}: matching", 100, indexed, " µs"))
    return goals, "\n".join(lines)


def _least(rules: tidegate.RuleSet, context: Any, *, errors: bool) -> float:
    """Microseconds, the least of some rounds: what the machine does beside is no fault of it."""
    times = []
    for _ in range(2 if errors else ROUNDS):
        started = time.perf_counter_ns()
        rules.match(context, errors=errors)
        times.append(time.perf_counter_ns() - started)
    return min(times) / 1000
