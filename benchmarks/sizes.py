"""Sizes of the sources, and what is above the bounds: ``python -m benchmarks.sizes``.

Prints the lines of each part (tests counted apart), the folders by their number of files, the
largest files and the longest functions.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import rust_source

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
CORE = "rust/core/src"
PARTS = (CORE, "rust/regex/src", "rust/python/src", "benchmarks/native/src", "python/tidegate")
LISTED = ("rust", "python", "benchmarks", "tests")
LARGEST = 10

MOST_FILES_OF_CORE = 15
MOST_FILES = 20
MOST_LINES = 600
MOST_LINES_OF_FUNCTION = 80


class Long(NamedTuple):
    """A function, and how many lines it has."""

    lines: int
    name: str


@cache
def sources() -> tuple[Path, ...]:
    """Every Rust and Python file of the repository, looked for once."""
    found = (path for part in LISTED for path in (ROOT / part).rglob("*") if path.is_file())
    return tuple(sorted(path for path in found if path.suffix in {".rs", ".py"}))


def relative(path: Path) -> str:
    """The path from the top of the repository."""
    return path.relative_to(ROOT).as_posix()


def lines_of(path: Path) -> int:
    """All lines, with comments and empty ones."""
    return path.read_text().count("\n")


def is_test(path: Path) -> bool:
    """Whether a file has tests and nothing else."""
    return path.stem == "tests" or path.stem.endswith("_tests")


def functions(path: Path) -> Iterator[Long]:
    """Each function of a file, from its first line to its last, docstring and body alike."""
    if path.suffix == ".rs":
        for found in rust_source.functions(path.read_text()):
            yield Long(found.lines, f"{relative(path)}:{found.line} {found.name}")
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            yield Long(node.end_lineno - node.lineno + 1, f"{relative(path)} {node.name}")


def files_of_folders() -> Counter[str]:
    """How many Rust or Python files lie in each folder itself."""
    return Counter(relative(path.parent) for path in sources())


def above_bounds() -> set[str]:
    """Each folder, file or function that is larger than it may be."""
    found = {
        f"folder {folder}"
        for folder, count in files_of_folders().items()
        if count > (MOST_FILES_OF_CORE if f"{folder}/".startswith(f"{CORE}/") else MOST_FILES)
    }
    for path in sources():
        if lines_of(path) > MOST_LINES:
            found.add(f"file {relative(path)}")
        for function in functions(path):
            if function.lines > MOST_LINES_OF_FUNCTION:
                found.add(f"function {relative(path)} {function.name.rsplit(' ', 1)[1]}")
    return found


def main() -> None:
    """Print the sizes."""
    print(f"{'part':<24}{'lines':>9}{'of tests.rs':>13}")
    for part in PARTS:
        paths = [path for path in sources() if relative(path).startswith(f"{part}/")]
        tests = sum(lines_of(path) for path in paths if is_test(path))
        print(f"{part:<24}{sum(map(lines_of, paths)) - tests:>9,}{tests:>13,}")
    print("\nfolders with the most files")
    for folder, count in files_of_folders().most_common(LARGEST):
        print(f"{count:>6}  {folder}")
    print("\nlargest files")
    for path in sorted(sources(), key=lines_of, reverse=True)[:LARGEST]:
        print(f"{lines_of(path):>6}  {relative(path)}")
    print("\nlongest functions")
    every = (function for path in sources() for function in functions(path))
    for function in sorted(every, reverse=True)[:LARGEST]:
        print(f"{function.lines:>6}  {function.name}")
    print("\nabove the bounds")
    for finding in sorted(above_bounds()):
        print(f"        {finding}")


if __name__ == "__main__":
    main()
