"""``python -m tests.newcomer``: the three paths with nothing lent, from a clone and from a wheel.

The wheel's dependencies come from the package index.  The clone is of what is committed; it builds
everything, as ``make run`` does for a newcomer, and measures Tidegate and other engines.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

import click
from tests.newcomer import paths
from tests.newcomer.environment import build_wheels, install, new_variables, ports
from tests.newcomer.pages import ROOT, lines
from tests.newcomer.terminal import Terminal, terminal

LONG = 3600.0
"""Seconds that building everything may take."""


def walk(environment: dict[str, str], home: Path) -> None:
    """The three paths, each in a directory of its own."""
    for path in (paths.embed, paths.operate, paths.measure):
        directory = home / path.__name__
        directory.mkdir()
        started = time.monotonic()
        with terminal(directory, {**environment, **ports()}) as shell:
            found = path(shell)
        figure = f", {found:,} events/s" if found else ""
        click.echo(f"  {path.__name__}: {time.monotonic() - started:.0f} s{figure}")


def from_a_wheel(home: Path) -> None:
    """In an environment that the README's first lines make."""
    build_wheels(home / "wheels")
    environment = new_variables(home, home / "wheels", index=True)
    with terminal(home, environment) as shell:
        install(shell, index=True)
    programs = f"{home / '.venv' / 'bin'}{os.pathsep}{environment['PATH']}"
    walk({**environment, "PATH": programs}, home)


def from_a_clone(home: Path) -> None:
    """After ``make run`` in a clone, in the environment that it makes."""
    environment = {**new_variables(home, home, index=True), **ports()}
    rust = {name: os.environ[name] for name in ("CARGO_HOME", "RUSTUP_HOME") if name in os.environ}
    rust = rust or {
        "CARGO_HOME": str(Path.home() / ".cargo"),
        "RUSTUP_HOME": str(Path.home() / ".rustup"),
    }
    subprocess.run(["git", "clone", "--quiet", ROOT, home / "tidegate"], check=True)
    with terminal(home / "tidegate", {**environment, **rust}) as shell:
        printed = begin_to_run(shell)
        with terminal(home, environment) as other:
            assert paths.action(other.type(paths.call_of(printed))) == "allow"
        shell.interrupt()
        for line in lines("benchmarks/README.md", "The commands"):
            printed = shell.type(line, throttle=LONG)
        click.echo(printed)
    programs = f"{home / 'tidegate' / '.venv' / 'bin'}{os.pathsep}{environment['PATH']}"
    walk({**environment, "PATH": programs}, home)


def begin_to_run(shell: Terminal) -> str:
    """Type the first line of *Run it*, and give what it printed up to a call to try."""
    run, *_ = lines("README.md", "Run it")
    return shell.begin(run, until=paths.CALL, throttle=LONG)


@click.command()
@click.argument("ways", nargs=-1, type=click.Choice(["wheel", "clone"]))
def main(ways: tuple[str, ...]) -> None:
    """Walk the paths from a wheel, from a clone, or both."""
    known = {"wheel": from_a_wheel, "clone": from_a_clone}
    for way in ways or tuple(known):
        click.echo(f"from a {way}:")
        with tempfile.TemporaryDirectory(prefix="tg-") as home:
            known[way](Path(home))


if __name__ == "__main__":
    main()
