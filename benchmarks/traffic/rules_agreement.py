"""``python -m benchmarks.traffic.rules_agreement``: rule sets against the published answers.

Absent keys of the five maps read as ``""``, so the rules that hold are those of plain CEL
(``true``) with ``total_also_true``, and the errors left are ``total_error``.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click
import orjson

import tidegate
from benchmarks.traffic.workload import TRAFFIC, has_traffic, iterate_rules, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.evaluation.rules import Evaluator

SETS = {"1k": 1_000, "10k": 10_000}
NAMED = 5
"""How many differing rules are printed."""


@dataclass
class Comparison:
    """Answers that differ, by rule."""

    events: int = 0
    answers: int = 0
    matches: Counter[str] = field(default_factory=Counter)
    """Rule to the events on which one side says it holds."""
    errors: Counter[str] = field(default_factory=Counter)
    """Rule to the events on which one side says it is an error."""
    example: dict[str, str] = field(default_factory=dict)
    """Rule to the first event on which it differs."""
    refused: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        return not (self.matches or self.errors or self.refused)

    def add(
        self,
        event: str,
        found: tidegate.Matches,
        indexed: tidegate.Matches,
        expected: dict[str, Any],
    ) -> None:
        """Compare one event's answers: with every rule evaluated, and as the index has them."""
        self.events += 1
        holds = {*expected["true"], *expected["total_also_true"]}
        matched = (set(found.matched) ^ holds) | (set(indexed.matched) ^ holds)
        errors = set(found.errors) ^ set(expected["total_error"])
        self.matches.update(matched)
        self.errors.update(errors)
        for rule in matched | errors:
            self.example.setdefault(rule, event)


def compare(name: str, evaluator: Evaluator, limit: int | None = None) -> Comparison:
    """Match the (first ``limit``) published events against a published set and compare."""
    rules = tidegate.RuleSet(
        {rule.rule_id: rule.expression for rule in iterate_rules(SETS[name])}, evaluator=evaluator
    )
    result = Comparison()
    for event, text, expected in itertools.islice(_expected(name), limit):
        try:
            result.add(event, rules.match(text, errors=True), rules.match(text), expected)
        except tidegate.EventError as error:
            result.refused.append(f"{event}: {error}")
    result.answers = result.events * len(rules)
    return result


def _expected(name: str) -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    lines = map(json.loads, read_lines(TRAFFIC / f"expected-{name}.jsonl.gz"))
    wanted = {line["event"]: line for line in lines}
    for text in read_lines(TRAFFIC / "events.jsonl.gz"):
        event = orjson.loads(text)["idempotency_key"]
        if event in wanted:
            yield event, text, wanted.pop(event)
    if wanted:
        raise LookupError(f"{len(wanted)} expected events are not among the events")


@click.command()
@click.option("--evaluator", type=click.Choice(["native", "reference"]), default="native")
@click.option("--set", "names", type=click.Choice(list(SETS)), multiple=True, default=list(SETS))
@click.option("--events", "limit", type=click.IntRange(1), help="Only this many events a set.")
def main(evaluator: Evaluator, names: tuple[str, ...], limit: int | None) -> None:
    """Compare every published answer; exit 1 on a difference."""
    if not has_traffic():
        raise click.ClickException(f"the shared traffic data is not at {TRAFFIC}")
    agrees = True
    for name in names:
        started = time.perf_counter()
        result = compare(name, evaluator, limit)
        agrees &= result.agrees
        _print(name, evaluator, result, time.perf_counter() - started)
    sys.exit(0 if agrees else 1)


def _print(name: str, evaluator: str, result: Comparison, seconds: float) -> None:
    click.echo(
        f"rules-{name}, {evaluator}: {result.events:,} events, {result.answers:,} answers, "
        f"{result.matches.total():,} differ in holding, {result.errors.total():,} in being an "
        f"error, {len(result.refused):,} events refused; {seconds:.1f} s"
    )
    for what, rules in (("holding", result.matches), ("error", result.errors)):
        for rule, count in rules.most_common(NAMED):
            click.echo(f"  {what}: {rule} on {count:,} events, such as {result.example[rule]}")
    for refusal in result.refused[:NAMED]:
        click.echo(f"  refused: {refusal}")


if __name__ == "__main__":
    main()
