"""Real processes of the smoke: one demonstration, and one command at a time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.service.service_process import Service, demonstration

Command: TypeAlias = Callable[..., str]
"""Runs ``tidegate`` with arguments, expects an exit code, and gives its standard output."""


@pytest.fixture(scope="session")
def service(smoke: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The demonstration, shared by all tests that only add to it."""
    with demonstration(tmp_path_factory.mktemp("smoke") / "log") as made:
        yield made


@pytest.fixture
def command(smoke: None, tmp_path: Path) -> Command:
    """The command line in an empty folder."""

    def run(*arguments: str, stdin: str = "", code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "tidegate", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            timeout=120,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run
