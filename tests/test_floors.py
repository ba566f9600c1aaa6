"""Folders import from floors below theirs, in Rust as in Python, and functions stay short."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest
from benchmarks import rust_source, sizes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

Module: TypeAlias = tuple[str, ...]
"""Folders and file below a root, as in ``("index", "search", "text")``."""

ROOT = Path(__file__).parents[1]
RUST = "rust/core/src"
LIBRARY = "python/tidegate"
SERVER = "server/tidegate_server"
NAMES = {RUST: "rust", LIBRARY: "library", SERVER: "server"}
"""The name of each root's floors in ARCHITECTURE.md."""
BLOCK = re.compile(r"^```(?P<root>\w+)-floors\n(?P<lines>.*?)^```$", re.MULTILINE | re.DOTALL)

EXCEPTIONS = frozenset(
    {
        "function server/tidegate_server/stores/migrations/versions/0001_first_tables.py upgrade",
    }
)
"""Known exceptions, as ``python -m tests.test_floors`` prints them."""


@cache
def floors(root: str) -> list[Module]:
    """The rooms of a root that ARCHITECTURE.md lists, the lowest first."""
    blocks = BLOCK.finditer((ROOT / "ARCHITECTURE.md").read_text())
    lines = {block["root"]: block["lines"].splitlines() for block in blocks}
    return [tuple(line.split(" / ")) for line in lines[NAMES[root]]]


@cache
def imports(root: str) -> frozenset[tuple[Module, Module]]:
    """(the importer, the imported) for the modules of a root, tests left out.

    Imports for types alone and those in functions count too.
    """
    read = _rust_imports if root == RUST else partial(_python_imports, package=Path(root).name)
    return frozenset(
        (module, target)
        for path in (*sizes.sources(), *(ROOT / root).rglob("*.pyi"))
        if path.is_relative_to(ROOT / root) and not sizes.is_test(path)
        for module in [_module(path, root)]
        for target in read(path, module)
        if target
    )


def _module(path: Path, root: str) -> Module:
    parts = path.relative_to(ROOT / root).with_suffix("").parts
    return (
        parts[:-1]
        if parts[-1] in {"mod", "lib"} or (parts[1:] and parts[-1] == "__init__")
        else parts
    )


def _rust_imports(path: Path, module: Module) -> Iterator[Module]:
    for first, *rest in rust_source.paths(
        rust_source.without_tests(rust_source.code_of(path.read_text()))
    ):
        if first == "crate":
            yield tuple(rest)
        elif first == "super":
            above = [name for name in rest if name == "super"]
            yield module[: len(module) - len(above) - 1] + tuple(rest[len(above) :])


def _python_imports(path: Path, module: Module, package: str) -> Iterator[Module]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            around = [package, *module[: None if path.stem == "__init__" else -1]]
            above = around[: len(around) + 1 - node.level] if node.level else []
            whole = ".".join([*above, *([node.module] if node.module else [])])
            names = [f"{whole}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            first, *rest = name.split(".")
            if first == package and rest:
                yield tuple(rest)


def arrows(folder: str) -> set[tuple[str, str]]:
    """The imports between folders or files right below a folder."""
    root = next(each for each in NAMES if Path(folder).is_relative_to(each))
    above = Path(folder).relative_to(root).parts
    size = len(above)
    found = {
        (module[size], target[size])
        for module, target in imports(root)
        if module[:size] == above == target[:size] and len(module) > size < len(target)
    }
    units = _units(folder)
    return {(one, other) for one, other in found if one != other and {one, other} <= units}


@cache
def _units(folder: str) -> set[str]:
    """The names right below a folder: its folders and its files."""
    paths = [
        path.relative_to(ROOT / folder)
        for path in sizes.sources()
        if path.is_relative_to(ROOT / folder)
    ]
    return {path.parts[0].removesuffix(path.suffix) for path in paths}


@cache
def _rooms(folder: str) -> set[str]:
    return {name for name in _units(folder) if (ROOT / folder / name).is_dir()}


def rising() -> set[str]:
    """Imports of a higher floor, rooms without a floor, and floors without a room."""
    found = set()
    for root in NAMES:
        height = {room: number for number, room in enumerate(floors(root))}
        for module, target in imports(root):
            one, other = _room_of(module, height), _room_of(target, height)
            if one and other and height[one] < height[other]:
                found.add(f"{root}: {'/'.join(one)} imports {'/'.join(other)}")
        listed = {room[0] for room in height}
        found |= {f"{root}: {room} has no floor" for room in _rooms(root) - listed}
        there = {room for room in height if _is_there((ROOT / root).joinpath(*room))}
        found |= {f"{root}: {'/'.join(room)} is not there" for room in set(height) - there}
    return found


def _is_there(room: Path) -> bool:
    """A floor is a folder, or a file that stands on a floor of its own."""
    return room.is_dir() or room.with_suffix(".py").is_file()


def _room_of(module: Module, rooms: Collection[Module]) -> Module | None:
    found = (module[:size] for size in range(len(module), 0, -1))
    return next((room for room in found if room in rooms), None)


def circles() -> set[str]:
    """Folders next to each other that import each other, directly or through others."""
    found = set()
    folders = {
        sizes.relative(parent)
        for path in sizes.sources()
        for parent in path.parents
        if parent != ROOT and parent.is_relative_to(ROOT)
    }
    for folder in folders:
        if folder.startswith(tuple(NAMES)):
            rooms = _rooms(folder)
            inside = (arrow for arrow in arrows(folder) if rooms.issuperset(arrow))
            found |= {f"{folder}: circle of {', '.join(ring)}" for ring in rings(inside)}
    return found


def circles_of_files() -> set[str]:
    """Python files that import each other, directly or through others, be it for types alone."""
    found = set()
    for root in (LIBRARY, SERVER):
        paths = [path for end in ("py", "pyi") for path in (ROOT / root).rglob(f"*.{end}")]
        files = {_module(path, root) for path in paths}
        arrows = ((one, _room_of(target, files) or ("__init__",)) for one, target in imports(root))
        inside = (("/".join(one), "/".join(other)) for one, other in arrows if one != other)
        found |= {f"{root}: circle of the files {', '.join(ring)}" for ring in rings(inside)}
    return found


def rings(arrows: Iterable[tuple[str, str]]) -> set[tuple[str, ...]]:
    """The names that are reached from themselves, each together with those of its circle."""
    targets = defaultdict(set)
    for one, other in arrows:
        targets[one].add(other)
    reached = {name: _reached(name, targets) for name in set(targets)}
    return {
        tuple(sorted(other for other in reached[name] if name in reached.get(other, ())))
        for name in reached
        if name in reached[name]
    }


def _reached(start: str, targets: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    ahead = [start]
    while ahead:
        new = targets.get(ahead.pop(), set()) - found
        found |= new
        ahead += new
    return found


def crowded_top() -> set[str]:
    """Files of the core that stand in no room."""
    return {f"{RUST}: files beside lib.rs"} if _units(RUST) - _rooms(RUST) - {"lib"} else set()


CHECKS = {
    "imports": rising,
    "circles": circles,
    "circles of files": circles_of_files,
    "functions": sizes.long_functions,
    "top of the core": crowded_top,
}


@cache
def found(name: str) -> frozenset[str]:
    """The findings of a check, which reads every file."""
    return frozenset(CHECKS[name]())


@pytest.mark.parametrize("name", CHECKS)
def test_the_house_holds_but_for_the_exceptions(name: str) -> None:
    """Imports go down, neither folders nor files make a circle, and functions are short."""
    new = found(name) - EXCEPTIONS
    assert not new, "\n".join(sorted(new))


def test_no_exception_is_stale() -> None:
    """The list of exceptions names only faults that are still there."""
    mended = EXCEPTIONS.difference(*map(found, CHECKS))
    assert not mended, "\n".join(sorted(mended))


@pytest.mark.parametrize(("root", "least"), [(RUST, 400), (LIBRARY, 400), (SERVER, 1_000)])
def test_imports_are_found(root: str, least: int) -> None:
    """The lists above hold only if imports are read at all."""
    assert len(imports(root)) >= least


def test_imports_for_types_and_those_in_functions_count(tmp_path: Path) -> None:
    """An import counts wherever it is, and whether or not it runs."""
    path = tmp_path / "one.py"
    path.write_text("""
import os
from typing import TYPE_CHECKING

from tidegate.limits import Limits
if TYPE_CHECKING:
    from tidegate.values import Map
def two() -> None:
    import tidegate.types
    from . import three
    from ..four import five
""")
    found = set(_python_imports(path, ("room", "one"), "tidegate"))
    assert found == {
        ("limits", "Limits"),
        ("values", "Map"),
        ("types",),
        ("room", "three"),
        ("four", "five"),
    }


def test_a_circle_is_found_with_all_that_are_in_it() -> None:
    """A name that leads into a circle, or that a circle leads to, isn't in it."""
    arrows = [("in", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "out"), ("d", "e"), ("e", "d")]
    assert rings(arrows) == {("a", "b", "c"), ("d", "e")}


def test_rust_paths_are_read_from_code_alone() -> None:
    """Groups count name by name; comments, texts and tests do not count."""
    text = """
    use crate::index::{search::Searches, Index as Other};
    // use crate::comment::Nothing;
    const TEXT: &str = "crate::text::Nothing";
    fn one() -> super::limits::Limits { crate::value::Value::Null }
    #[cfg(test)]
    #[allow(clippy::panic)]
    mod tests { use crate::tests::Nothing; fn two() { '{'; } }
    fn three() { self::four::five() }
    """
    found = set(rust_source.paths(rust_source.without_tests(rust_source.code_of(text))))
    assert found == {
        ("crate", "index", "search", "Searches"),
        ("crate", "index", "Index"),
        ("super", "limits", "Limits"),
        ("crate", "value", "Value", "Null"),
        ("self", "four", "five"),
    }


def test_rust_functions_are_measured_to_their_closing_brace() -> None:
    """A brace in a text or comment closes nothing, and a signature alone isn't a function."""
    text = 'trait A { fn none(&self, of: [u8; 2]); }\nfn one(a: [u8; 2]) {\n  "}"; // }\n}\n'
    assert list(rust_source.functions(text)) == [rust_source.Function("one", 2, 3)]


if __name__ == "__main__":
    print(*(f'"{each}",' for each in sorted(set().union(*map(found, CHECKS)))), sep="\n")
