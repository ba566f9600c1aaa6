"""Compares both evaluators on the same programs: value, error, place and cost must agree.

    python -m tidegate.testing.agreement --programs 200000 --seed 1

The reference evaluator defines the language, and the native one runs in production, so any
difference is a bug in one of them (docs/canonical-tree.md says in which). Every difference found so
far is in ``tests/corpus/regressions.toml``.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs
import click

from tidegate.errors import EventError, ExpressionError
from tidegate.evaluation.rules import Evaluator, Rules, bundle, read_rules
from tidegate.language.check.checker import CheckedExpression, check
from tidegate.limits import DEFAULT, Limits
from tidegate.testing import events
from tidegate.testing.choices import RandomChoices, happens
from tidegate.testing.programs import GeneratedProgram, generate_program
from tidegate.wire_values import to_wire

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tidegate.language.tree.schema import Schema

EVALUATORS: tuple[Evaluator, Evaluator] = ("reference", "native")
UNPRICED = attrs.evolve(DEFAULT, cost=10**15)
"""Limits for the check: expressions that may cost too much are compared too, up to the point where
they stop."""
BATCH = 32
"""Programs that share a schema and a compiled set, which halves the time per program."""


@attrs.frozen
class Observed:
    """The result of a program from one evaluator, in a comparable form.

    ``value`` is a VALUE of docs/canonical-tree.md; for a rejected event, ``code`` is
    ``invalid-event``.
    """

    value: Any = None
    code: str | None = None
    span: tuple[int, int] | None = None
    cost: int | None = None


@attrs.frozen
class Comparison:
    """One program on one event, through both evaluators."""

    text: str
    context: Mapping[str, Any] | bytes
    reference: Observed
    native: Observed

    @property
    def agrees(self) -> bool:
        return self.reference == self.native

    def __str__(self) -> str:
        return (
            f"text:      {self.text}\ncontext:   {self.context!r}\n"
            f"reference: {self.reference}\nnative:    {self.native}"
        )


def compare(
    text: str, schema: Schema, context: Mapping[str, Any] | bytes, limits: Limits = DEFAULT
) -> Comparison:
    """Run one expression on one event through both evaluators.

    Raises:
        ExpressionError: the expression does not check.
    """
    checked = {"": check(text, schema, limits=UNPRICED)}
    return _compare(text, context, _compiled(checked, schema, limits), 0)


def _compiled(
    checked: Mapping[str, CheckedExpression], schema: Schema, limits: Limits
) -> list[Rules]:
    data = bundle(checked, schema, limits)
    return [read_rules(data, evaluator) for evaluator in EVALUATORS]


def _compare(
    text: str, context: Mapping[str, Any] | bytes, rules: Sequence[Rules], index: int
) -> Comparison:
    reference, native = (observe(each, index, context) for each in rules)
    return Comparison(text, context, reference, native)


def observe(rules: Rules, index: int, context: Mapping[str, Any] | bytes) -> Observed:
    """The result of one rule on one event, from one evaluator."""
    try:
        outcome = rules.outcome(index, context)
    except EventError:
        return Observed(code=EventError.code)
    if outcome.failure is None:
        return Observed(value=to_wire(outcome.value), cost=outcome.cost)
    span = outcome.failure.span
    place = None if span is None else (span.start, span.end)
    return Observed(code=outcome.failure.code, span=place, cost=outcome.cost)


class Run:
    """A run over generated programs, with its counts so far."""

    def __init__(self, seed: int) -> None:
        self._choices = RandomChoices(random.Random(seed))  # noqa: S311 - to be repeatable
        self.programs = 0
        self.refused = 0
        self.outcomes: Counter[str] = Counter()

    def batch(self) -> Iterator[Comparison]:
        """Generate and compare one batch of programs over one schema."""
        schema = events.schema(self._choices)
        accepted: dict[str, CheckedExpression] = {}
        programs: list[GeneratedProgram] = []
        for _ in range(BATCH):
            program = generate_program(self._choices, declared=schema)
            try:
                checked = check(program.text, schema, limits=UNPRICED)
            except ExpressionError:
                self.refused += 1
                continue
            accepted[str(len(programs))] = checked
            programs.append(program)
        rules = _compiled(accepted, schema, self._limits())
        for index, program in enumerate(programs):
            comparison = _compare(program.text, self._context(program.event), rules, index)
            self.outcomes[comparison.reference.code or "value"] += 1
            yield comparison
        self.programs += BATCH

    def _limits(self) -> Limits:
        """The usual limits or, occasionally, a cost or length so small that programs reach it."""
        match self._choices.below(4):
            case 3:
                return attrs.evolve(DEFAULT, cost=1 + self._choices.below(40))
            case 2:
                return attrs.evolve(DEFAULT, string_bytes=self._choices.below(100))
            case _:
                return DEFAULT

    def _context(self, event: dict[str, Any]) -> Mapping[str, Any] | bytes:
        """The event as a dict or, occasionally, as JSON."""
        data = events.to_json(event) if happens(self._choices, 25) else None
        return event if data is None else data


@click.command()
@click.option("--programs", default=200_000, show_default=True, help="How many to generate.")
@click.option("--seed", default=0, show_default=True, help="The same seed makes the same run.")
@click.option("--seconds", type=float, help="Stop after so long, whatever --programs says.")
@click.option("--show", default=20, show_default=True, help="How many differences to print.")
def main(programs: int, seed: int, seconds: float | None, show: int) -> None:
    """Compare the evaluators on generated programs; exit 1 when they differ."""
    run, differing, started = Run(seed), 0, time.monotonic()
    while run.programs < programs and (seconds is None or time.monotonic() - started < seconds):
        for comparison in run.batch():
            if not comparison.agrees:
                differing += 1
                if differing <= show:
                    click.echo(f"--- difference {differing}\n{comparison}")
    elapsed = time.monotonic() - started
    seen = ", ".join(f"{name} {count}" for name, count in run.outcomes.most_common())
    click.echo(
        f"{run.programs} programs in {elapsed:.0f} s ({run.programs / elapsed:.0f}/s), "
        f"seed {seed}: {differing} differ, {run.refused} did not check"
    )
    click.echo(f"outcomes: {seen}")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
