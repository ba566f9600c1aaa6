"""``python -m benchmarks.hostile``: the slowest things that are accepted.

Every published hostile pattern that the checker accepts runs on its attack string and
on a run of one letter, both as long as an event may hold; every expression bomb that it
accepts runs on the largest legal event. The dearest are printed with the time of their
first native evaluation. Two groups are not published: the published firewall rules of most
work on text drawn from their own letters, and families of patterns written to keep as
many states alive as they may (``tests.generators.hostile.CROWDED``) with generated ones, for
``matches`` and for ``regex.extract``.
"""

from __future__ import annotations

import gzip
import json
import random
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from tests.generators.hostile import CROWDED, SHAPES, SIZES, crowd, quoted

import tidegate
from tidegate.regex import RegexError, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SHARED = Path(__file__).parents[2] / "shared" / "data"
DATA, TRAFFIC = SHARED / "adversarial", SHARED / "traffic"
FILES = ("redos/regexlib_redos", "redos/regexlib_sample", "regex_semantics/rust_regex")
LONGEST = 16 * 1024
WORTH_A_SECOND_LOOK, LOOKS = 0.002, 7
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


def crowded(generated: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Patterns that keep as many states alive as they may, on text that does it."""
    dice = random.Random(1)
    for pattern in (*CROWDED, *(crowd(dice) for _ in range(generated))):
        for letters in ("ab", "abc ", "aab\u00e9"):
            text = "".join(
                dice.choice(letters)
                for _ in range(LONGEST // 2 if "\u00e9" in letters else LONGEST)
            )
            yield from _both(pattern, {"subject": text})


def firewall() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The published patterns of most work, on text of their own letters."""
    dice = random.Random(1)
    for pattern in heaviest(published_patterns(), 40):
        letters = [letter for letter in pattern if letter.isprintable()]
        for alphabet in (letters, [letter.lower() for letter in letters if letter.isalnum()]):
            text = "".join(dice.choice(alphabet) for _ in range(LONGEST)).encode()[:LONGEST]
            yield from _both(pattern, {"subject": text.decode(errors="ignore")})


def _both(pattern: str, context: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    yield pattern, f"subject.matches({quoted(pattern)})", context
    yield f"extract {pattern}", f"regex.extract(subject, {quoted(pattern)})", context


def published_patterns() -> Iterator[str]:
    """The patterns of the published rules, in the order of the largest set."""
    path = TRAFFIC / "rules-100k.jsonl.gz"
    if not path.exists():
        return
    with gzip.open(path, "rt") as lines:
        for line in lines:
            yield from _patterns_in(json.loads(line)["ast"])


def _patterns_in(node: Any) -> Iterator[str]:
    match node:
        case ["matches", _, str(pattern)] | ["any", _, "matches", str(pattern)]:
            yield pattern
        case list():
            for each in node:
                yield from _patterns_in(each)


def heaviest(patterns: Iterable[str], count: int) -> list[str]:
    """The ``count`` accepted patterns of the most work."""
    work: dict[str, int] = {}
    for pattern in dict.fromkeys(patterns):
        with suppress(RegexError):
            work[pattern] = parse(pattern).work
    return sorted(work, key=lambda pattern: -work[pattern])[:count]


def bombs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Expression bombs with a name and the largest event."""
    for shape, write in SHAPES.items():
        for size in SIZES:
            yield f"{shape} {size}", write(size), LARGEST_EVENT


def seconds(text: str, schema: tidegate.Schema, context: dict[str, Any]) -> float:
    """The time of the first evaluation, which also warms what the engine keeps.

    Where it is long, the least of several, each of a program compiled anew: what else the
    machine does is in all of them.
    """
    taken: list[float] = []
    while not taken or (min(taken) > WORTH_A_SECOND_LOOK and len(taken) < LOOKS):
        program = tidegate.compile(text, schema=schema)
        prepared = program.prepare(context)
        started = time.perf_counter()
        with suppress(tidegate.EvaluationError):
            program.evaluate(prepared)
        taken.append(time.perf_counter() - started)
    return min(taken)


@click.command()
@click.option("--show", default=10, show_default=True, help="How many of the slowest to print.")
@click.option("--generated", default=500, show_default=True, help="How many patterns to generate.")
def main(show: int, generated: int) -> None:
    """Time what is hostile and yet accepted."""
    found: list[tuple[float, str]] = []
    refused = 0
    for schema, cases in (
        (SUBJECT, patterns()),
        (SUBJECT, firewall()),
        (SUBJECT, crowded(generated)),
        (tidegate.Schema.default(), bombs()),
    ):
        for name, text, context in cases:
            try:
                found.append((seconds(text, schema, context), name))
            except tidegate.ExpressionError:
                refused += 1
    found.sort(reverse=True)
    click.echo(f"{len(found)} accepted and run, {refused} refused")
    for taken, name in found[:show]:
        click.echo(f"{taken * 1000:9.3f} ms  {name[:80]!r}")


if __name__ == "__main__":
    main()
