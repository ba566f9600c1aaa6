"""``tidegate coverage``: what events exercise of definitions."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.decide import need_one_input
from tidegate.cli.documents import read_definitions
from tidegate.cli.inputs.events import Source, events_argument, strictness_option
from tidegate.cli.output import console, errors, json_option, print_json, write_file
from tidegate.cli.policies.covered import (
    Covered,
    coverage_json,
    percent_of,
    print_coverage,
    to_cobertura,
)
from tidegate.cli.run import Run, max_refusals_option
from tidegate.policy.document import compile_definitions
from tidegate.policy.explain.coverage import Coverage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    from tidegate.evaluation.envelope import Strictness

    F = TypeVar("F", bound=Callable[..., Any])


def coverage_options(command: F) -> F:
    """Give a command the options ``--fail-under`` and ``--cobertura``."""
    command = click.option(
        "--fail-under",
        type=click.FloatRange(0, 100),
        metavar="PERCENT",
        help="Exit with 1 if a smaller share of the clauses is covered.",
    )(command)
    return click.option(
        "--cobertura",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write the coverage as Cobertura XML too.",
    )(command)


def report_coverage(
    covered: Sequence[Covered], fail_under: float | None, cobertura: Path | None
) -> bool:
    """Write the XML, and say if too little is covered; return whether enough is.

    Args:
        covered: the files of definitions.
        fail_under: the smallest share of covered clauses, in percent.
        cobertura: the file to write.
    """
    if cobertura is not None:
        write_file(cobertura, to_cobertura(covered))
    share = percent_of(covered)
    if fail_under is None or share >= fail_under:
        return True
    message = f"error: {share:.1f} % of the clauses are covered, less than {fail_under:g} %"
    errors.print(message, style="red", markup=False)
    return False


@click.command()
@click.argument("definitions", type=click.Path(exists=True, dir_okay=False))
@events_argument
@coverage_options
@max_refusals_option
@strictness_option
@json_option
def coverage(
    definitions: str,
    events: Source,
    fail_under: float | None,
    cobertura: Path | None,
    max_refusals: int,
    strictness: Strictness,
    as_json: bool,
) -> None:
    """Report what EVENTS exercise of DEFINITIONS: clauses, and the parts of each expression."""
    need_one_input(definitions, events)
    source = read_definitions(definitions)
    counted = Coverage(compile_definitions(source), strictness)
    refused = 0

    def count_refused(*_: object) -> None:
        nonlocal refused
        refused += 1

    run = Run(lambda line: counted.decide(line.text, time.time_ns()), max_refusals, count_refused)
    for _ in run.over(events, progress=True):
        pass
    covered = Covered(Path(definitions), source, counted)
    if as_json:
        print_json({**coverage_json(covered), "refused": refused})
    else:
        print_coverage(covered)
        if refused:
            console.print(f"  {refused:,} events refused", markup=False)
    is_enough = report_coverage([covered], fail_under, cobertura)
    run.exit(1 if refused or not is_enough else 0)
