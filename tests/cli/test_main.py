"""The command group: what is found, and what is said when it is not."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT_SERVER = """
import sys
for name in ("typed_settings", "sqlalchemy", "starlette", "structlog", "uvicorn"):
    sys.modules[name] = None
from tidegate.cli.main import main
main()
"""
"""The command line where the libraries of the server are not installed."""


def run_without_server(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_SERVER, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ("serve",),
        ("serve", "--demo"),
        ("serve", "--help"),
        ("operator", "create", "me@example.test"),
        ("apply", "shop.yaml", "--dry-run"),
        ("config", "show", "--json"),
    ],
    ids=" ".join,
)
def test_a_missing_extra_is_named_whatever_the_arguments(
    arguments: tuple[str, ...], process: None
) -> None:
    """A command without its libraries says what to install, and exits with 2."""
    done = run_without_server(*arguments)
    assert done.returncode == 2
    assert f"`tidegate {arguments[0]}` needs" in done.stderr
    extra = "client" if arguments[0] == "apply" else "server"
    assert f"pip install 'tidegate[{extra}]'" in done.stderr


def test_commands_of_the_engine_need_no_extra(process: None) -> None:
    """An expression is checked without the libraries of the server."""
    done = run_without_server("check", "-e", "1 == 1")
    assert done.returncode == 0, done.stderr


def test_the_list_of_commands_cuts_no_sentence(process: None) -> None:
    """Each line of the general help is whole, also of commands whose libraries are missing."""
    for run in (run_without_server, run_with_server):
        done = run("--help")
        assert done.returncode == 0
        assert "..." not in done.stdout.partition("Commands:")[2]


def run_with_server(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tidegate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)
