"""The command group: what is found, and what is said when it is not."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from tidegate.cli.main import PLUGINS, SERVICE

WITHOUT_SERVER = """
import sys
from importlib import metadata
sys.modules["tidegate_server"] = None
metadata.entry_points = lambda **of: metadata.EntryPoints()
from tidegate.cli.main import main
main()
"""
"""The command line where the service isn't installed."""


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
def test_a_missing_service_is_named_whatever_the_arguments(
    arguments: tuple[str, ...], process: None
) -> None:
    """A command of the service says what to install, and exits with 2."""
    done = run_without_server(*arguments)
    assert done.returncode == 2
    assert f"`tidegate {arguments[0]}` needs" in done.stderr
    assert "pip install 'tidegate[server]'" in done.stderr


def test_commands_of_the_engine_need_no_extra(process: None) -> None:
    """An expression is checked without the service."""
    done = run_without_server("check", "-e", "1 == 1")
    assert done.returncode == 0, done.stderr


def test_the_list_of_commands_cuts_no_sentence(process: None) -> None:
    """Each line of the general help is whole, also with the service missing."""
    for run in (run_without_server, run_with_server):
        done = run("--help")
        assert done.returncode == 0
        assert "..." not in done.stdout.partition("Commands:")[2]


def run_with_server(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tidegate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_commands_of_the_service_are_those_that_it_adds() -> None:
    """What the help offers without the service is what the service brings."""
    assert entry_points(group=PLUGINS).names == set(SERVICE)
