"""``python -m benchmarks.hostile``: the slowest things that are accepted.

Every published hostile pattern that the checker accepts runs on its attack string and
on a run of one letter, both as long as an event may hold; every expression bomb that it
accepts runs on the largest legal event. The dearest are printed with the time of their
first native evaluation. The last group is not published: patterns written to have
hundreds of states alive at once.
"""

from __future__ import annotations

import json
import random
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import tidegate
from tidegate.testing.hostile import SHAPES, SIZES, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).parents[2] / "shared" / "data" / "adversarial"
FILES = ("redos/regexlib_redos", "redos/regexlib_sample", "regex_semantics/rust_regex")
LONGEST = 16 * 1024
SUBJECT = tidegate.Schema.empty().with_variables({"subject": "string"})
LARGEST_EVENT = {
    "request": {
        "method": "GET",
        "path": "/" + "a" * (LONGEST - 1),
        "user_agent": "a" * LONGEST,
        "headers": {f"h{number}": "a" * 100 for number in range(256)},
    }
}


def patterns() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Expressions over ``subject`` with a name and a context."""
    for name in FILES:
        path = DATA / f"{name}.jsonl"
        for line in path.read_text().splitlines() if path.exists() else ():
            case = json.loads(line)
            if isinstance(case["regex"], str):
                for subject in _subjects(case):
                    yield case["regex"], f"subject.matches({quoted(case['regex'])})", subject


def _subjects(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"subject": "a" * LONGEST}
    if "pump" in case:
        room = LONGEST - len(case["prefix"]) - len(case["suffix"])
        text = case["prefix"] + (case["pump"] * room)[: max(room, 0)] + case["suffix"]
        yield {"subject": text.encode(errors="ignore")[:LONGEST].decode(errors="ignore")}


def crowded() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Patterns that keep as many states alive as their counts allow, on text that does it."""
    dice = random.Random(1)
    subject = {"subject": "".join(dice.choice("ab") for _ in range(LONGEST))}
    for pattern in ("a[ab]{30}c", "a[ab]{100}c", "a[ab]{300}c", "[ab]*a[ab]{900}c"):
        yield pattern, f"subject.matches({quoted(pattern)})", subject


def bombs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Expression bombs with a name and the largest event."""
    for shape, write in SHAPES.items():
        for size in SIZES:
            yield f"{shape} {size}", write(size), LARGEST_EVENT


def seconds(program: tidegate.Program, context: dict[str, Any]) -> float:
    """The time of the first evaluation, which also warms what the engine keeps."""
    prepared = program.prepare(context)
    started = time.perf_counter()
    with suppress(tidegate.EvaluationError):
        program.evaluate(prepared)
    return time.perf_counter() - started


@click.command()
@click.option("--show", default=10, show_default=True, help="How many of the slowest to print.")
def main(show: int) -> None:
    """Time what is hostile and yet accepted."""
    found: list[tuple[float, str]] = []
    refused = 0
    for schema, cases in (
        (SUBJECT, patterns()),
        (SUBJECT, crowded()),
        (tidegate.Schema.default(), bombs()),
    ):
        for name, text, context in cases:
            try:
                program = tidegate.compile(text, schema=schema)
            except tidegate.ExpressionError:
                refused += 1
                continue
            found.append((seconds(program, context), name))
    found.sort(reverse=True)
    click.echo(f"{len(found)} accepted and run, {refused} refused")
    for taken, name in found[:show]:
        click.echo(f"{taken * 1000:9.3f} ms  {name[:80]!r}")


if __name__ == "__main__":
    main()
