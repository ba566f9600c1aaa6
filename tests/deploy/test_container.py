"""The steps of the Containerfile, run with programs that note how they are called."""

from __future__ import annotations

import os
import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

from tests.deploy.test_deploy import DEPLOY

WHEEL = "tidegate-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl"
SERVER = "tidegate_server-0.1.0-py3-none-any.whl"
"""The names that `make wheels` gives."""
CONTAINERFILE = re.sub(r"\\\n\s*", "", (DEPLOY / "Containerfile").read_text())


def steps(instruction: str) -> list[str]:
    """The text behind an instruction, each time it is there."""
    return re.findall(rf"^{instruction} (.*)$", CONTAINERFILE, re.MULTILINE)


def arguments() -> dict[str, str]:
    """The defaults of the arguments of a build."""
    return dict(argument.split("=", 1) for argument in steps("ARG"))


def test_the_wheel_that_is_built_is_taken_without_an_argument() -> None:
    """The pattern fits the wheel of this system's C library, and no other."""
    (copied,) = steps("COPY")
    assert copied == "${WHEEL} tidegate_server-*.whl requirements.txt /tmp/wheel/"
    pattern = arguments()["WHEEL"]
    assert fnmatch(WHEEL, pattern)
    assert not fnmatch(SERVER, pattern)
    assert not fnmatch(WHEEL.replace("manylinux_2_28", "musllinux_1_2"), pattern)


def test_the_server_is_installed_with_locked_packages(tmp_path: Path, process: None) -> None:
    """Packages are installed by their hashes, and the wheels without any other; what was copied is
    gone; the user is made."""
    (tmp_path / "wheel").mkdir()
    for name in (WHEEL, SERVER):
        (tmp_path / "wheel" / name).touch()
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("pip", "useradd"):
        (programs / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
        (programs / name).chmod(0o755)
    (script,) = steps("RUN")
    done = subprocess.run(
        ["sh", "-euc", script.replace("/tmp/", f"{tmp_path}/")],
        env={"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    packages, wheels, useradd = done.stdout.splitlines()
    assert packages.endswith(f" --require-hashes -r {tmp_path}/wheel/requirements.txt")
    names = " ".join(f"{tmp_path}/wheel/{name}" for name in (WHEEL, SERVER))
    assert wheels.endswith(f" --no-deps --no-index {names}")
    assert f"--uid {steps('USER')[0]} " in useradd
    assert not (tmp_path / "wheel").exists()
