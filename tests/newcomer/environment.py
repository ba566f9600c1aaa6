"""A fresh environment, made as the README says, from the wheels of this tree alone."""

from __future__ import annotations

import os
import site
import socket
import subprocess
import sys
from pathlib import Path

from tests.newcomer.pages import ROOT, lines
from tests.newcomer.terminal import Terminal

OURS = ("tidegate", "pip", "__pycache__")
"""How entries begin that a fresh environment has of its own."""
PROGRAMS = ("gunicorn",)
"""Programs that a site has already."""


WHEELS = (
    ("maturin", "build", "--release", "--locked", "--out"),
    ("pip", "wheel", "./server", "--no-deps", "--no-build-isolation", "--wheel-dir"),
)
"""The commands that build the library and the service, each with the option for a directory."""


def build_wheels(directory: Path) -> None:
    """Build both wheels; what was compiled for the present environment is used again."""
    for command in WHEELS:
        whole = [sys.executable, "-m", *command, str(directory)]
        subprocess.run(whole, cwd=ROOT, check=True, capture_output=True)


def new_variables(home: Path, wheels: Path, *, index: bool) -> dict[str, str]:
    """The environment of a newcomer's shell.

    Args:
        home: the newcomer's home, with nothing in it.
        wheels: where the wheels are.
        index: whether what it needs comes from the package index, or is there already.
    """
    programs = home / "bin"
    programs.mkdir()
    python = programs / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys._base_executable}" "$@"\n')
    python.chmod(0o755)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {
        **kept,
        "PATH": f"{programs}{os.pathsep}{kept['PATH']}",
        "HOME": str(home),
        "NO_COLOR": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_FIND_LINKS": str(wheels),
        **({} if index else {"PIP_NO_INDEX": "1"}),
    }


def ports() -> dict[str, str]:
    """Settings of ports that are free."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return {
        "GUNICORN_CMD_ARGS": "--bind 127.0.0.1:0",
        "TIDEGATE_SERVER_PORT": str(port),
        "TIDEGATE_URL": f"http://127.0.0.1:{port}",
    }


def install(shell: Terminal, *, index: bool) -> None:
    """Type what the README says is to be typed first.

    Args:
        shell: in an empty directory.
        index: as for ``new_variables``.
    """
    make, pip, *_ = lines("README.md", "First steps")
    shell.type(make)
    if not index:
        _lend(shell.directory)
    shell.type(pip)


def _lend(directory: Path) -> None:
    """Let the new environment import the packages of the present one, but not this repository."""
    (packages,) = (directory / ".venv" / "lib").glob("python*/site-packages")
    lent = directory / "lent"
    lent.mkdir()
    for each in Path(site.getsitepackages()[0]).iterdir():
        if not each.name.startswith(OURS) and each.suffix != ".pth":
            (lent / each.name).symlink_to(each)
    (packages / "lent.pth").write_text(f"{lent}\n")
    for name in PROGRAMS:
        program = directory / ".venv" / "bin" / name
        program.write_text(f'#!/bin/sh\nexec "{directory}/.venv/bin/python" -m {name} "$@"\n')
        program.chmod(0o755)
