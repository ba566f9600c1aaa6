"""The large data sets that may lie next to the repository, and samples for where they don't."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"
SAMPLE = Path(__file__).resolve().parent / "sample"
SAMPLES_ALONE = "SAMPLES_ALONE" in os.environ
"""Whether tests read samples although the whole sets are at hand."""


def size(whole: int, sample: int) -> int:
    """The first number where the whole sets are read, else the second."""
    return whole if SHARED.exists() and not SAMPLES_ALONE else sample


def shared_path(name: str) -> Path:
    """A file or folder of the whole set, or of its sample where the set isn't read."""
    path = SHARED / name
    return path if path.exists() and not SAMPLES_ALONE else SAMPLE / name


def shared_lines(name: str, *, step: int = 1) -> list[Any]:
    """JSON lines of a file, unpacked when its name ends in ``.gz``.

    Args:
        name: path of the file in the data sets.
        step: take every ``step``-th line of a whole set; a sample is read whole.
    """
    path = shared_path(name)
    content = path.read_bytes()
    text = gzip.decompress(content) if name.endswith(".gz") else content
    lines = text.splitlines()
    assert lines, f"{path} is empty, and a test over it would claim nothing"
    return [json.loads(line) for line in (lines[::step] if path.is_relative_to(SHARED) else lines)]


def some_lines(name: str, most: int) -> list[Any]:
    """At most a number of lines, from all over a file; see :func:`shared_lines`.

    `make hostile-test` has all of them.
    """
    lines = shared_lines(name)
    return lines if "EVERY_LINE" in os.environ else lines[:: -(-len(lines) // most)]


def readers() -> set[Path]:
    """The files of tests that import this one, or a file that does."""
    texts = {path: path.read_text() for path in Path(__file__).parent.rglob("*.py")}
    found, names = {Path(__file__)}, {"shared_data"}
    while True:
        imports = re.compile(rf"^ *(?:from|import) (?:.*\W)?(?:{'|'.join(names)})\b", re.MULTILINE)
        more = {path for path, text in texts.items() if imports.search(text)} - found
        if not more:
            return found
        found |= more
        names |= {path.stem for path in more if path.name != "conftest.py"}


class DataReaders:
    """Leaves out every test whose file reads no data set.

    Where no data lie next to the repository it leaves out all: the run of every test read samples.
    """

    def pytest_ignore_collect(self) -> bool | None:
        """Look at no file where there is nothing to do."""
        return None if SHARED.exists() else True

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Keep the tests of files that read data."""
        files = readers()
        config.hook.pytest_deselected(items=[item for item in items if item.path not in files])
        items[:] = [item for item in items if item.path in files]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """End well where there was nothing to do."""
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and not SHARED.exists():
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say why nothing ran."""
        if not SHARED.exists():
            terminalreporter.line("No data lie beside the repository; `make test-all` read samples")
