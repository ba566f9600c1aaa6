"""The cost of a frame over the same events as JSON, and of a decision over its JSON, in turn.

``python -m benchmarks.goals.frames`` measures these goals alone.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa

import tidegate
from benchmarks.bench_decide import definitions
from benchmarks.goals.goal import Goal
from benchmarks.traffic.workload import iterate_rules, load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tidegate.frames.frame import Frame

ROWS = 100_000
ROUNDS = 7
SIZE = 1_000
RECEIVED_AT = 1_772_000_000 * 10**9
BOUND = 1.3
"""Times the price of the events as JSON."""
DECIDE_BOUND = 1.5
"""Times the price of ``decide_json``."""


def measure(events: Sequence[bytes]) -> list[Goal]:
    """The goals of frames and of decisions as objects."""
    rules = tidegate.RuleSet({rule.rule_id: rule.expression for rule in iterate_rules(SIZE)})
    repeated = (list(events) * (ROWS // len(events) + 1))[:ROWS]
    frame = pa.Table.from_pylist([_row(orjson.loads(event)) for event in repeated])
    bodies = _bodies(frame)

    def decide(batch: list[bytes] | Frame) -> object:
        return tidegate.Engine(definitions()).decide_batch(batch, RECEIVED_AT)  # type: ignore[arg-type]

    def one_by_one(method: str) -> object:
        call: Any = getattr(tidegate.Engine(definitions()), method)
        if method == "decide":
            return [call(body, RECEIVED_AT).action for body in bodies[:20_000]]
        return [call(body, RECEIVED_AT) for body in bodies[:20_000]]

    what = f"{ROWS:,} rows, over the same as JSON:"
    return [
        _ratio(
            f"{what} {SIZE:,} rules",
            BOUND,
            lambda: rules.match_batch(bodies),
            lambda: rules.match_batch(frame),
        ),
        _ratio(f"{what} decisions", BOUND, lambda: decide(bodies), lambda: decide(frame)),
        _ratio(
            "`decide(bytes).action` over `decide_json`",
            DECIDE_BOUND,
            lambda: one_by_one("decide_json"),
            lambda: one_by_one("decide"),
        ),
    ]


def _row(event: dict[str, Any]) -> dict[str, Any]:
    """An event as the row of a frame: a column for each text, maps as JSON."""
    row: dict[str, Any] = {}
    for name, value in event.items():
        for inner, part in value.items() if isinstance(value, dict) else [("", value)]:
            text = orjson.dumps(part).decode() if isinstance(part, dict) else part
            row[f"{name}.{inner}" if inner else name] = text
    return row


def _bodies(frame: Any) -> list[bytes]:
    """The events that a frame stands for."""
    from tidegate.evaluation.native import write_rows
    from tidegate.frames.reading import read_frame

    parts = read_frame(frame, (), write_rows)
    return [each for part in parts for each in part if isinstance(each, bytes)]


def _ratio(
    what: str, bound: float, base: Callable[[], object], compared: Callable[[], object]
) -> Goal:
    ratios = []
    for _ in range(ROUNDS):
        before = _seconds(base)
        ratios.append(_seconds(compared) / before)
    return Goal("frames", what, bound, statistics.median(ratios), "x", best=min(ratios))


def _seconds(call: Callable[[], object]) -> float:
    """The processor's time for a call."""
    start = time.process_time()
    call()
    return time.process_time() - start


if __name__ == "__main__":
    for goal in measure(load().sequence):
        print(goal.row())
