"""``python -m tests.attack``: every attack on a server of its own, and whether others notice.

Quiet and attacked spans alternate on one server; the quiet figures of an attack are of the spans
before and after it.  Exits with 1 where a line does not hold.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import attrs
import click
from tests.attack import report
from tests.attack.attack import FULL, SHORT
from tests.attack.expectations import IDLE_SECONDS, QUIET_SECONDS, REST_SECONDS, SETTLE_SECONDS
from tests.attack.kinds import NAMES, attack
from tests.attack.runs import Pace


@click.command()
@click.option("--only", multiple=True, type=click.Choice(NAMES), help="Of these alone.")
@click.option("--seconds", default=12.0, show_default=True, help="Length of each attack.")
@click.option("--short", is_flag=True, help="Small attacks, as the tests have them.")
@click.option("--policies", type=int, help="Policies of the budget attack; 200 when left out.")
@click.option("--python", default=sys.executable, help="Interpreter whose Tidegate is attacked.")
@click.option("--out", type=click.Path(path_type=Path), help="File for all figures, as JSON.")
def main(
    only: tuple[str, ...],
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
    pace = Pace(seconds, QUIET_SECONDS, SETTLE_SECONDS, REST_SECONDS, IDLE_SECONDS)

    def begun(name: str) -> None:
        click.echo(f"{time.strftime('%X')} {name}", err=True)

    made = attack(only or NAMES, scale, pace, python, begun)
    report.show(made.runs, made.lines, made.said)
    if out:
        report.write(out, made.runs, made.lines, made.said)
    sys.exit(any(line.verdict != report.HOLDS for line in made.lines))


if __name__ == "__main__":
    main()
