"""A newcomer's paths, from a wheel of this tree in a fresh environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.newcomer import paths
from tests.newcomer.environment import build_wheels, install, new_variables, ports
from tests.newcomer.terminal import Terminal, terminal


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, process: None) -> dict[str, str]:
    """The variables of a shell that has the wheel in an environment of its own."""
    home = tmp_path_factory.mktemp("home")
    build_wheels(home / "wheels")
    variables = new_variables(home, home / "wheels", index=False)
    with terminal(home, variables) as shell:
        install(shell, index=False)
        where = shell.type('python -c "import tidegate; print(tidegate.__file__)"')
    assert str(home) in where
    return {**variables, "PATH": f"{home / '.venv' / 'bin'}{os.pathsep}{variables['PATH']}"}


@pytest.fixture
def shell(environment: dict[str, str], tmp_path: Path) -> Iterator[Terminal]:
    """A terminal in an empty directory, with ports of its own."""
    with terminal(tmp_path, {**environment, **ports()}) as opened:
        yield opened


def test_who_embeds_gets_to_a_decision(shell: Terminal) -> None:
    """The README's policy decides on an access log, in Python, and behind four workers."""
    paths.embed(shell)


def test_who_operates_gets_to_a_decision(shell: Terminal) -> None:
    """A service that was set up by the page blocks by a policy of one's own."""
    paths.operate(shell)


def test_who_measures_gets_to_a_figure(shell: Terminal) -> None:
    """Events a second of one's own policy over one's own log."""
    assert paths.measure(shell) > 0
