"""``tidegate lint``: definitions that are valid but don't do what they say."""

from __future__ import annotations

from typing import Any

import click

from tidegate.cli.documents import facts_of, read_bytes
from tidegate.cli.findings.examined import examine, report, warnings_as_errors_option
from tidegate.cli.findings.report import (
    Reported,
    file_name,
    format_option,
    of_document,
    refused_document,
)
from tidegate.cli.inputs.documents import STANDARD_INPUT, documents_argument
from tidegate.cli.inputs.events import Source, events_option, strictness_option
from tidegate.cli.output import errors, json_option
from tidegate.cli.run import max_refusals_option, see_all
from tidegate.engine import Engine
from tidegate.errors import DefinitionsError
from tidegate.evaluation.envelope import Strictness
from tidegate.policy.definitions.compile import Compilation
from tidegate.policy.definitions.findings import Finding
from tidegate.policy.document import parse_document
from tidegate.policy.traffic.doctor import KeyDoctor
from tidegate.policy.traffic.trial import Trial


@click.command()
@documents_argument
@events_option
@warnings_as_errors_option
@max_refusals_option
@strictness_option
@format_option
@json_option
def lint(
    files: tuple[str, ...],
    events: Source | None,
    warnings_as_errors: bool,
    max_refusals: int,
    strictness: Strictness,
    report_form: str,
    as_json: bool,
) -> None:
    """Find what definitions documents say but can't do, and, with events, what traffic shows.

    FILES are documents, folders with documents, and patterns; - is standard input.
    """
    if not files:
        raise click.UsageError("give definitions files, folders or patterns")
    if events is not None and events.is_standard_input and (len(files) > 1 or "-" in files):
        raise click.UsageError("standard input can be read once: give the events as a file")

    def read(name: str) -> tuple[dict[str, Any], list[Reported]]:
        return _examined(name, events, max_refusals, strictness)

    examined = examine(files, read, warnings_as_errors=warnings_as_errors)
    is_one = len(files) == 1 and (files[0] == STANDARD_INPUT or len(examined) == 1)
    report("json" if as_json else report_form, examined, is_one=is_one)


def _examined(
    name: str, events: Source | None, max_refusals: int, strictness: Strictness
) -> tuple[dict[str, Any], list[Reported]]:
    try:
        document = parse_document(read_bytes(name))
        compilation = document.read(lint="")
    except DefinitionsError as error:
        raise refused_document(file_name(name), error) from None
    found = list(compilation.findings)
    facts: dict[str, Any] = facts_of(compilation)
    if events is not None:
        traffic, seen, refused = _in_traffic(compilation, events, max_refusals, strictness)
        found += document.locate(traffic)
        facts |= {"events": seen, "refused": refused}
        if refused:
            errors.print(f"warning: {refused:,} events were refused", style="yellow", markup=False)
    return facts, of_document(file_name(name), found)


def _in_traffic(
    compilation: Compilation, events: Source, max_refusals: int, strictness: Strictness
) -> tuple[list[Finding], int, int]:
    trial = Trial(compilation)
    doctor = KeyDoctor(compilation.compiled)
    engine = Engine(trial.definitions, events=strictness)

    def see(event: bytes, time: int) -> None:
        trial.add(event, engine.decide(event, time))
        doctor.see(event, time)

    run, seen, refused = see_all(see, events, max_refusals)
    if run.is_interrupted or run.is_stopped:
        run.exit(1)
    return list(trial.findings(doctor.reports())), seen, refused
