"""``tidegate demo``: the bundled traffic, decided and explained."""

from __future__ import annotations

from importlib import resources

import click

from tidegate.cli.decide import decide_all
from tidegate.cli.inputs.events import Source, read_events
from tidegate.cli.output import console, evaluator_option, json_option, print_json
from tidegate.cli.subjects import Subjects
from tidegate.definitions import load_definitions
from tidegate.engine import Engine
from tidegate.evaluation.rules import Evaluator
from tidegate.policy.explain.explain import Explanation


@click.command()
@evaluator_option
@json_option
def demo(evaluator: Evaluator, as_json: bool) -> None:
    """Decide the bundled sample traffic and explain one block."""
    samples = resources.files("tidegate.samples")
    with (
        resources.as_file(samples / "definitions.yaml") as definitions,
        resources.as_file(samples / "traffic.jsonl.gz") as traffic,
    ):
        read = load_definitions(definitions)
        engine = Engine(read, evaluator=evaluator)
        subjects = Subjects(read.settings.trusted_proxies)
        _, summary = decide_all(engine, Source(str(traffic)), subjects)
        number, explanation = _first_block(Engine(read, evaluator=evaluator), str(traffic))
    if as_json:
        print_json(
            {"summary": summary.to_dict(), "line": number, "explanation": explanation.to_dict()}
        )
        return
    summary.print(console)
    console.print(f"\nwhy event {number} was blocked:\n", style="bold")
    console.print(str(explanation), markup=False)


def _first_block(engine: Engine, traffic: str) -> tuple[int, Explanation]:
    """The first event that a windowed clause blocks by itself, explained at that moment."""
    for line in read_events(Source(traffic)):
        before = engine.explain(line.text)
        decision = engine.decide(line.text)
        if decision.action.type == "block" and any(clause.window for clause in decision.fired):
            return line.number, before
    raise LookupError("the sample traffic has no block to explain")
