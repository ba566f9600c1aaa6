"""Sizes of the product, room by room: ``python -m benchmarks.sizes``.

Prints the rooms, the largest files and the longest functions. ``tests/sizes.toml`` has the size
that each room may have; ``--write`` brings it up to date, and wants a reason where one has grown.
"""

from __future__ import annotations

import argparse
import ast
import json
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import rust_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tests" / "sizes.toml"
PARTS = {
    "python/tidegate": 2,
    "server/tidegate_server": 2,
    "rust/core/src": 1,
    "rust/service/src": 0,
    "rust/proof/src": 0,
    "rust/regex/src": 0,
    "rust/python/src": 1,
    "console/src": 1,
}
"""The parts of the product, and how many folders below each name a room."""
PRODUCT = {".py", ".pyi", ".rs", ".ts", ".tsx", ".css"}
GENERATED = (
    "console/src/api/schema.d.ts",
    "server/tidegate_server/console/assets/",
    "server/tidegate_server/routing/swagger_ui/",
)
LISTED = ("rust", "python", "server", "benchmarks", "tests")
LARGEST = 10

STEP = 100
"""Rows are rounded up to it, so that a few lines more need no change of the table."""
MUCH = 2
"""A row is lowered when it has as many steps, or files, more than the room."""
MOST_LINES_OF_FUNCTION = 80


class Long(NamedTuple):
    """A function, and how many lines it has."""

    lines: int
    name: str


class Room(NamedTuple):
    """The size of a room, or the size that it may have and the reason why it last grew."""

    lines: int
    files: int
    why: str = ""


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
    return path.stem == "tests" or path.stem.endswith(("_tests", ".test"))


def functions(path: Path) -> Iterator[Long]:
    """Each function of a file, from its first line to its last, docstring and body alike."""
    if path.suffix == ".rs":
        for found in rust_source.functions(path.read_text()):
            yield Long(found.lines, f"{relative(path)}:{found.line} {found.name}")
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            yield Long(node.end_lineno - node.lineno + 1, f"{relative(path)} {node.name}")


def long_functions() -> set[str]:
    """Each function that is longer than it may be."""
    return {
        f"function {relative(path)} {function.name.rsplit(' ', 1)[1]}"
        for path in sources()
        for function in functions(path)
        if function.lines > MOST_LINES_OF_FUNCTION
    }


def product() -> Iterator[tuple[str, Path]]:
    """Each source file of the product, after the name of its room; no tests, nothing generated."""
    for part, depth in PARTS.items():
        for path in sorted((ROOT / part).rglob("*")):
            if (
                path.suffix in PRODUCT
                and not is_test(path)
                and not relative(path).startswith(GENERATED)
            ):
                folders = path.relative_to(ROOT / part).parts[:-1][:depth]
                yield "/".join((part, *folders)), path


def rooms() -> dict[str, Room]:
    """The rooms of the product as they are."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for room, path in product():
        lines[room] += lines_of(path)
        files[room] += 1
    return {room: Room(lines[room], files[room]) for room in files}


def table() -> dict[str, Room]:
    """The rows of the table by room."""
    return {room: Room(**row) for room, row in tomllib.loads(TABLE.read_text()).items()}


def needed(room: Room, row: Room | None, why: str = "") -> Room:
    """The row of a room: its own while it fits, else one as small as the room.

    Args:
        room: as it is.
        row: in the table, if there is one.
        why: the reason, for a room that has grown.
    """
    fitting = Room(-(-room.lines // STEP) * STEP, room.files)
    if row is None or room.lines > row.lines or room.files > row.files:
        return fitting._replace(why=why)
    is_large = row.lines - room.lines >= MUCH * STEP or row.files - room.files >= MUCH
    return fitting._replace(why=row.why) if is_large else row


def differences(found: Mapping[str, Room], rows: Mapping[str, Room]) -> list[str]:
    """Rows that have to change, each with the reason why and how.

    Args:
        found: the rooms as they are.
        rows: of the table.
    """
    said = [f"{room}: the room is gone; delete its row" for room in rows.keys() - found.keys()]
    for name, room in found.items():
        row, size = rows.get(name), f"{room.lines} lines in {room.files} files"
        if row is None:
            said.append(f"{name}: a new room of {size}; give it a row, with the reason")
            continue
        allowed = f"its row allows {row.lines} in {row.files}"
        if room.lines > row.lines or room.files > row.files:
            said.append(f"{name}: {size}, {allowed}; make it smaller, or raise the row and say why")
        elif needed(room, row) != row:
            said.append(f"{name}: {size}, {allowed}; lower the row")
    return sorted(said)


def write(why: str) -> None:
    """Bring the table up to date.

    Args:
        why: the reason, kept in the rows of rooms that have grown or are new.

    Raises:
        SystemExit: a room is new or has grown, and no reason was given.
    """
    rows, found = table(), rooms()
    grown = [
        name
        for name, room in found.items()
        if name not in rows or room.lines > rows[name].lines or room.files > rows[name].files
    ]
    if grown and not why:
        raise SystemExit(f"give the reason why these have grown: {', '.join(grown)}")
    head = "".join(line for line in TABLE.open() if line.startswith("#"))
    lines = (
        f"{json.dumps(name)} = {{ lines = {row.lines}, files = {row.files}"
        + (f", why = {json.dumps(row.why, ensure_ascii=False)}" if row.why else "")
        + " }\n"
        for name, room in sorted(found.items())
        for row in [needed(room, rows.get(name), why)]
    )
    TABLE.write_text(head + "".join(lines))


def main() -> None:
    """Print the sizes, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--write", metavar="REASON", nargs="?", const="", help="bring tests/sizes.toml up to date"
    )
    reason = parser.parse_args().write
    if reason is not None:
        write(reason)
        return
    found = rooms()
    print(f"{'room':<40}{'lines':>9}{'files':>7}")
    for name, room in sorted(found.items()):
        print(f"{name:<40}{room.lines:>9,}{room.files:>7}")
    total = sum(room.lines for room in found.values())
    print(f"{'together':<40}{total:>9,}{sum(room.files for room in found.values()):>7}")
    print("\nlargest files")
    for path in sorted((path for _, path in product()), key=lines_of, reverse=True)[:LARGEST]:
        print(f"{lines_of(path):>6}  {relative(path)}")
    print("\nlongest functions")
    every = (function for path in sources() for function in functions(path))
    for function in sorted(every, reverse=True)[:LARGEST]:
        print(f"{function.lines:>6}  {function.name}")
    print("\nrows to change", *(differences(found, table()) or ["none"]), sep="\n        ")


if __name__ == "__main__":
    main()
