"""G9: the worst sets and events that are accepted."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

import tidegate
from benchmarks.goals.goal import Goal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RULES = 10_000
REGEXES = 1_000
LISTS = 500
LIST_ELEMENTS = 200
HEADERS = 100
EVENT_BYTES = 8_000
ROUNDS = 9
EVENTS = 40
NEVER_SEEN = 20_000
WORST_EVENT = 300
"""Microseconds; rules that only say what must not be are evaluated one by one, and have none."""


@dataclass(frozen=True)
class Hostile:
    """A set and the values that make it slow."""

    name: str
    rules: Sequence[str]
    events: Sequence[Mapping[str, Any]]


def _path(text: str) -> dict[str, Any]:
    return {"request": {"method": "GET", "path": text}}


def _headers(words: Sequence[str]) -> dict[str, Any]:
    return {"request": {"headers": {f"x-{number}": word for number, word in enumerate(words)}}}


def shapes() -> list[Hostile]:
    """One for each way to be hostile that somebody thought of."""
    return [*of_texts(), *of_ranges(), *of_negations(), *of_many_parts()]


def of_texts() -> list[Hostile]:
    """Texts against the search for parts and patterns."""
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
        Hostile(
            "every run of four bytes in the text",
            [
                f'request.path.contains("{"".join(source.choices("abcdefghi", k=8))}")'
                for _ in words
            ],
            [
                _path("/" + "".join(source.choices("abcdefghi", k=EVENT_BYTES)))
                for _ in range(EVENTS)
            ],
        ),
        Hostile(
            "words of two letters",
            [f'request.path.contains("{number:014b}")' for number in range(RULES)],
            [_path("/" + "".join(source.choices("01", k=EVENT_BYTES))) for _ in range(3)],
        ),
        Hostile(
            "either case",
            [f'request.path.lowerAscii().contains("{word}")' for word in words],
            [_path(long.upper()[: EVENT_BYTES - number]) for number in range(EVENTS)],
        ),
        Hostile(
            "regexes of one literal",
            [f'request.path.matches("admin[0-9]*{number}$")' for number in range(REGEXES)],
            [_path(f"/admin{number}admin") for number in range(EVENTS)],
        ),
    ]


def of_ranges() -> list[Hostile]:
    """Numbers and networks within each other."""
    return [
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
    ]


def of_negations() -> list[Hostile]:
    """Rules that are true of nearly every event."""
    source = random.Random(4)
    words = ["".join(source.choices("abcdef", k=6)) for _ in range(RULES)]
    paths = [_path(f"/{word}") for word in words[:EVENTS]]
    return [
        Hostile(
            "alternatives of negations",
            [f'request.path != "/{word}" || request.method != "{word}"' for word in words],
            paths,
        ),
        Hostile(
            "negated tests of two fields",
            [
                f'!(request.path.contains("{word}") || request.user_agent.endsWith("{word}"))'
                for word in words
            ],
            paths,
        ),
        Hostile(
            "negated, where something common is",
            [f'request.method == "GET" && request.path != "/{word}"' for word in words],
            paths,
        ),
        Hostile(
            f"none of {HEADERS} headers",
            [
                f'!request.headers.exists(name, request.headers[name].contains("{word}"))'
                for word in words
            ],
            [_headers(words[number : number + HEADERS]) for number in range(EVENTS)],
        ),
    ]


def of_many_parts() -> list[Hostile]:
    """Sets and events of more parts than any set should have."""
    source = random.Random(5)
    words = ["".join(source.choices("abcdef", k=6)) for _ in range(RULES)]
    return [
        Hostile(
            f"some of {HEADERS} headers",
            [
                f'request.headers.exists(name, request.headers[name].contains("{word}"))'
                for word in words
            ],
            [_headers(words[number : number + HEADERS]) for number in range(EVENTS)],
        ),
        Hostile(
            "long lists",
            [
                f"request.path in {orjson.dumps(source.choices(words, k=LIST_ELEMENTS)).decode()}"
                for _ in range(LISTS)
            ],
            [_path(word) for word in words[:EVENTS]],
        ),
        Hostile(
            "a field a rule",
            [f'fields["{word}"].contains("{word}")' for word in words],
            [
                {"fields": dict.fromkeys(words[number : number + HEADERS], words[number])}
                for number in range(EVENTS)
            ],
        ),
        Hostile(
            "all rules found by what is common",
            [
                f'request.method == "GET" && size(request.path) > {number}'
                for number in range(RULES)
            ],
            [_path("/" + "a" * number) for number in range(EVENTS)],
        ),
    ]


def measure() -> tuple[list[Goal], str]:
    """Each shape's worst event, indexed and one rule after another."""
    goals: list[Goal] = []
    negations = {shape.name for shape in of_negations()}
    lines = [
        "| set | rules | true | indexed µs | ns a true rule | linear µs | over |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for shape in shapes():
        rules = tidegate.RuleSet({str(number): text for number, text in enumerate(shape.rules)})
        contexts = [rules.prepare(orjson.dumps(event)) for event in shape.events]
        worst = max(contexts, key=lambda context: _least(rules, context, errors=False))
        indexed = _least(rules, worst, errors=False)
        held = len(rules.match(worst).matched)
        linear = max(_least(rules, context, errors=True) for context in contexts[:3])
        ratio = indexed / linear
        lines.append(
            f"| {shape.name} | {len(rules):,} | {held:,} "
            f"| {indexed:,.1f} | {indexed * 1000 / max(held, 1):,.0f} | {linear:,.1f} "
            f"| {ratio:.2f} |"
        )
        goals.append(Goal("G9", f"{shape.name}: over linear", 3, ratio, "x"))
        if shape.name not in negations:
            goals.append(Goal("G9", f"{shape.name}: matching", WORST_EVENT, indexed, " µs"))
    more = _growth() / 2**20
    goals.append(Goal("G9", f"{NEVER_SEEN:,} never-seen values: memory more", 16, more, " MiB"))
    return goals, "\n".join(lines)


def _growth() -> float:
    """Bytes that the process grows by when no value of an event was ever there before."""
    rules = tidegate.RuleSet({str(n): f'request.path.contains("word{n}")' for n in range(RULES)})
    rules.match(b"{}")
    before = _resident()
    for number in range(NEVER_SEEN):
        event = orjson.dumps(_path(f"/{number:0400}"))
        rules.match(event)
        rules.match(event)
    return _resident() - before


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _least(rules: tidegate.RuleSet, context: Any, *, errors: bool) -> float:
    """Microseconds, the least of some rounds, so that other work of the machine doesn't count."""
    times = []
    for _ in range(2 if errors else ROUNDS):
        started = time.perf_counter_ns()
        rules.match(context, errors=errors)
        times.append(time.perf_counter_ns() - started)
    return min(times) / 1000
