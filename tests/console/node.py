"""Node and npm in the folder of the console's sources, as its build finds them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tools.console import SOURCES, npm_command


def _environment(npm: list[str], given: dict[str, str]) -> dict[str, str]:
    path = os.pathsep.join([str(Path(npm[0]).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, **given}


def npm_run(script: str, **environment: str) -> None:
    """Run a script of ``package.json``.

    Raises:
        CalledProcessError: it ended with another status than 0.
    """
    npm = npm_command()
    command = [*npm, "run", "--silent", script]
    subprocess.run(command, cwd=SOURCES, check=True, env=_environment(npm, environment))


def run_node(script: str, given: str) -> str:
    """Run a file of the sources, and give what it writes.

    Args:
        script: path below ``console/``.
        given: its standard input.

    Raises:
        CalledProcessError: it ended with another status than 0.
    """
    done = node_of([script], given)
    done.check_returncode()
    return done.stdout


def node_of(arguments: list[str], given: str = "") -> subprocess.CompletedProcess[str]:
    """Run node in the folder of the sources.

    Args:
        arguments: a file, and what it is given.
        given: its standard input.
    """
    environment = _environment(npm_command(), {})
    program = shutil.which("node", path=environment["PATH"])
    assert program is not None
    return subprocess.run(
        [program, *arguments],
        cwd=SOURCES,
        check=False,
        env=environment,
        input=given,
        capture_output=True,
        text=True,
    )
