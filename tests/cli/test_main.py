"""The command group: what is found, and what is said when it is not."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib.metadata import entry_points

import click
import pytest
from click.testing import CliRunner

from tidegate.cli.commands import EXAMPLE_OF, GROUPS, PLACES, SENTENCES, SERVICE
from tidegate.cli.main import PLUGINS, tidegate

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
        assert "..." not in done.stdout.partition("Examples:")[2]
        assert ("pip install" in done.stdout) == (run is run_without_server)


def run_with_server(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tidegate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_commands_of_the_service_are_those_that_it_adds() -> None:
    """The help without the service offers the same commands that the service adds."""
    assert entry_points(group=PLUGINS).names == {
        name for group in SERVICE.values() for name in group
    }


def test_every_command_is_in_one_group_of_the_help() -> None:
    """None is listed twice, and each of this distribution has a place and can be imported."""
    listed = [name for group in GROUPS.values() for name in group]
    assert len(listed) == len(set(listed))
    own = [name for title, group in GROUPS.items() if title not in SERVICE for name in group]
    assert own == list(PLACES)
    for name in own:
        command = tidegate.get_command(click.Context(tidegate), name)
        assert command is not None
        assert command.name == name


def test_the_help_imports_no_command(process: None) -> None:
    """It costs as little as the version."""
    program = (
        "import sys\nfrom tidegate.cli.main import tidegate\n"
        "tidegate.main(['--help'], standalone_mode=False)\n"
        "print([name for name in sys.modules if name.startswith('tidegate_server')])\n"
        "print('tidegate.cli.decide' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-2:] == ["[]", "False"]


def test_a_mistyped_command_names_the_one_that_was_meant(process: None) -> None:
    """A name that is like no command gets no guess."""
    done = run_with_server("deside", "shop.yaml")
    assert done.returncode == 2
    assert "Did you mean `decide`?" in done.stderr
    assert "Did you mean" not in run_with_server("xyzzy").stderr


@pytest.mark.parametrize("arguments", [("decide", "--sumary"), ("packs", "lst")])
def test_a_mistyped_option_names_the_one_that_was_meant(
    arguments: tuple[str, ...], process: None
) -> None:
    """Options, and commands below a command, get a guess too."""
    done = run_with_server(*arguments)
    assert done.returncode == 2
    assert re.search(r"Did you mean '(--summary|list)'\?", done.stderr)


@pytest.mark.parametrize("name", SENTENCES)
def test_the_help_of_a_command_has_an_example_that_is_accepted(name: str) -> None:
    """The last line of each help is a call with commands and options that are there."""
    done = CliRunner().invoke(tidegate, [name, "--help"])
    assert done.exit_code == 0
    example = done.output.rstrip().splitlines()[-1].strip()
    assert example == EXAMPLE_OF[name]
    words = shlex.split(example.partition(" > ")[0])[1:]
    command: click.Command = tidegate
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words.pop(0))
        assert found is not None, example
        command = found
    command.make_parser(click.Context(command)).parse_args(words)
