"""Finds the files of policy tests."""

from __future__ import annotations

import os
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tidegate.testing.policies.running import TestsError

if TYPE_CHECKING:
    from collections.abc import Iterable

AnyPath: TypeAlias = "str | os.PathLike[str]"
ENDINGS = (".tidegate-test.yaml", ".tidegate-test.yml")
"""Names of test files in folders end so."""


def find_files(paths: Iterable[AnyPath]) -> list[Path]:
    """The test files that are named, lie in a folder, or match a pattern; each once.

    Below a folder, hidden folders and virtual environments aren't searched.

    Args:
        paths: files of any name, folders, and patterns as a shell has them (``**`` matches folders
            of any depth).

    Raises:
        TestsError: no files match one of them.
    """
    found: dict[Path, None] = {}
    for each in paths:
        given = str(os.fspath(each))
        path = Path(given)
        if path.is_dir():
            files = _below(path)
        elif path.exists() or not has_magic(given):
            files = [path]
        else:
            matches = map(Path, sorted(glob(given, recursive=True)))
            files = [
                file for match in matches for file in (_below(match) if match.is_dir() else [match])
            ]
        if not files:
            raise TestsError(f"there are no tests in `{given}`: their names end in `{ENDINGS[0]}`")
        found |= dict.fromkeys(files)
    return list(found)


def _below(folder: Path) -> list[Path]:
    found = []
    for path, folders, files in os.walk(folder):
        folders[:] = searched(path, folders)
        found += [Path(path, each) for each in files if each.endswith(ENDINGS)]
    return sorted(found)


def searched(path: AnyPath, folders: Iterable[str]) -> list[str]:
    """The folders that a search of files goes into, in order.

    Hidden folders and virtual environments are left out: an installed Tidegate has documents and
    tests of its own.

    Args:
        path: where the folders are.
        folders: their names.
    """
    return sorted(
        each
        for each in folders
        if not each.startswith(".") and not Path(path, each, "pyvenv.cfg").exists()
    )
