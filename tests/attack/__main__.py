"""``python -m tests.attack``: every attack on a server of its own, and whether others notice.

Quiet and attacked spans alternate on one server; the quiet figures of an attack are of the spans
before and after it.  Exits with 1 where a line does not hold.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

import attrs
import click
from tests.attack import report
from tests.attack.attack import FULL, SHORT, Attack
from tests.attack.budgets import Budget, Hog
from tests.attack.control import Checks, Explanations, Lists, Logins, Puts, Replays, Simulations
from tests.attack.expectations import QUIET_SECONDS, SETTLE_SECONDS
from tests.attack.runs import Measured, Pace, Probe, Run, attackers, set_up
from tests.attack.served import World, serving

KINDS: tuple[type[Attack], ...] = (
    Budget,
    Hog,
    Checks,
    Logins,
    Explanations,
    Simulations,
    Replays,
    Puts,
    Lists,
)
TOGETHER = "together"
NAMES = (*(kind.name for kind in KINDS), TOGETHER)


@click.command()
@click.option("--only", "chosen", multiple=True, type=click.Choice(NAMES), help="Of these alone.")
@click.option("--seconds", default=12.0, show_default=True, help="Length of each attack.")
@click.option("--short", is_flag=True, help="Small attacks, as the tests have them.")
@click.option("--policies", type=int, help="Policies of the budget attack; 200 when left out.")
@click.option("--python", default=sys.executable, help="Interpreter whose Tidegate is attacked.")
@click.option("--out", type=click.Path(path_type=Path), help="File for all figures, as JSON.")
def main(
    chosen: tuple[str, ...],
    seconds: float,
    short: bool,
    policies: int | None,
    python: str,
    out: Path | None,
) -> None:
    """Attack a server that is started for it, and say whether others notice."""
    scale = SHORT if short else FULL
    if policies:
        scale = attrs.evolve(scale, policies=policies)
    names = chosen or NAMES
    pace = Pace(seconds, QUIET_SECONDS, SETTLE_SECONDS)
    with tempfile.TemporaryDirectory(prefix="tidegate-attack-") as directory:
        with serving(Path(directory), python) as world:
            kinds = [kind for kind in KINDS if kind.name in names or TOGETHER in names]
            made = set_up(world, kinds, scale)
            runs = attack(world, made, names, pace)
    lines = [line for each in runs for line in report.judge(each)]
    report.show(runs, lines, world.said)
    if out:
        report.write(out, runs, lines, world.said)
    sys.exit(any(line.verdict != report.HOLDS for line in lines))


def attack(
    world: World, made: Sequence[Attack], names: Collection[str], pace: Pace
) -> list[Measured]:
    """Every attack by itself, and those that isolation is about at once."""
    probe = Probe(world)
    runs = []
    try:
        with attackers() as pool:
            run = Run.begin(world, probe, pool, pace)
            for each in made:
                if each.name in names:
                    click.echo(f"{each.name}: {each.what}", err=True)
                    runs.append(run.measure(each.name, each.what, [each]))
            if TOGETHER in names:
                together = [each for each in made if each.isolates]
                runs.append(run.measure(TOGETHER, "all of these at once", together))
    finally:
        probe.close()
    return runs


if __name__ == "__main__":
    main()
