"""Which tests run where: a tier follows from the fixtures that a test uses.

``make test`` runs the tests of a bare machine: those that start no program, and a smoke of the
service through real processes. ``make test-all`` runs every test.
"""

from __future__ import annotations

import enum
import os
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.tiers.programs import NEEDED

KINDS = ("process", *NEEDED)
"""Fixtures that stand for a kind of program that a test starts."""
SMOKE = "smoke"
"""The fixture of the few tests of a bare machine that start Python and Tidegate."""


class Tier(enum.Enum):
    """The command that runs a test first."""

    BARE = "make test"
    WHOLE = "make test-all"


def kinds_of(fixtures: Iterable[str]) -> set[str]:
    """The kinds of programs behind fixtures."""
    return set(fixtures) & set(KINDS)


def tier(fixtures: Sequence[str]) -> Tier:
    """The tier of a test that uses fixtures."""
    needed = kinds_of(fixtures)
    is_bare = not needed or (SMOKE in fixtures and needed == {"process"})
    return Tier.BARE if is_bare else Tier.WHOLE


def kind(program: str) -> str:
    """The fixture that a test asks for before it starts a program.

    Args:
        program: name or path.
    """
    name = Path(program).name
    if name != "envoy" and Path(program).is_relative_to(sys.prefix):
        return "process"  # Playwright brings a Node of its own
    for fixture, programs in NEEDED.items():
        if name in programs:
            return fixture
    if "postgresql" in program:
        return "postgresql"
    return "proxy" if name == "envoy" else "process"


def require(program: str, fixtures: Iterable[str]) -> None:
    """Let a test start a program whose fixture it uses.

    Raises:
        AssertionError: it doesn't use it, so its tier would say too much.
    """
    needed, asked = kind(program), kinds_of(fixtures)
    # A test that starts a browser or a proxy also starts Python.
    if needed not in asked and not (needed == "process" and asked):
        raise AssertionError(f"a test that starts {program} asks for the fixture `{needed}`")


class Watch:
    """Holds every test to the fixtures that it uses, and says at the end what didn't run.

    Attributes:
        only: the tier that runs; None for every test.
        every: all tests that were collected, with their kinds of programs.
    """

    def __init__(self, only: Tier | None) -> None:
        self.only = only
        self.every: dict[str, Sequence[str]] = {}
        self._left_out: Counter[str] = Counter()
        self._running: Sequence[str] | None = None
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._running is not None:
            if event == "subprocess.Popen":
                require(os.fsdecode(arguments[0]), self._running)
            elif event in ("os.forkpty", "os.posix_spawn", "os.system"):
                require(sys.executable, self._running)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Know which fixtures the test that runs has asked for."""
        self._running = _fixtures(item)
        try:
            return (yield)
        finally:
            self._running = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out tests of other tiers."""
        self.every = {item.nodeid: _fixtures(item) for item in items}
        if self.only is None:
            return
        others = [item for item in items if tier(_fixtures(item)) is not self.only]
        items[:] = [item for item in items if tier(_fixtures(item)) is self.only]
        config.hook.pytest_deselected(items=others)
        self._left_out.update(max(kinds_of(_fixtures(item)), key=KINDS.index) for item in others)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A worker tells the process that prints what it left out."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["left_out"] = dict(self._left_out)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Each worker leaves out the same."""
        self._left_out = Counter(getattr(node, "workeroutput", {}).get("left_out", {}))

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """The last line: which tests ran, which did not, and the command that runs them."""
        terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
        if self.only is None or terminal is None or hasattr(config, "workerinput"):
            return
        ran = sum(len(terminal.stats.get(each, ())) for each in ("passed", "failed", "error"))
        kinds = ", ".join(f"{each} {self._left_out[each]:,}" for each in KINDS)
        terminal.write_line(
            f"{ran:,} tests ran, with Python and Rust alone. {self._left_out.total():,} others "
            f"({kinds}) run by `{Tier.WHOLE.value}`."
        )


def _fixtures(item: pytest.Item) -> Sequence[str]:
    return getattr(item, "fixturenames", ())
