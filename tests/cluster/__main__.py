"""``python -m tests.cluster --faults 30``: nodes that are killed and stalled under load."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import click
from tests.cluster.faults import run


@click.command()
@click.option("--faults", default=30, show_default=True)
@click.option("--seed", type=int, help="Draws of the run; by default of the clock.")
def main(faults: int, seed: int | None) -> None:
    """Do random faults to three nodes under load, and compare what they acknowledged."""
    drawn = time.time_ns() % 1_000_000 if seed is None else seed
    click.echo(f"seed {drawn}: {faults} faults")
    with tempfile.TemporaryDirectory(prefix="tidegate-faults-") as directory:
        click.echo(str(run(Path(directory), faults, drawn)))


if __name__ == "__main__":
    main()
