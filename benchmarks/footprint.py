"""How much an installation takes, and how long it starts: ``python -m benchmarks.footprint``.

Sizes are those of the files of a distribution and of all that it asks for, in this environment.
Bytecode is apart: pip writes it while it installs, other installers leave it to the first import.
Times are medians of whole processes, started in turns, next to the processes of the bound.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Sequence
from importlib.metadata import Distribution, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
OURS = {"tidegate": ROOT / "pyproject.toml", "tidegate-server": ROOT / "server/pyproject.toml"}
MEGABYTES = {"tidegate": 25, "tidegate[server]": 120}
"""The bounds of the sizes, in 10⁶ bytes, without bytecode."""
STRIPPED = 6_724_000
"""Bytes of the extension in a wheel; one that is built for development has symbols, too."""
ROUNDS = 21
HELP = "import sys; sys.argv[1:] = ['--help']; from tidegate.cli.main import main; main()"
LIBRARIES = "import attrs, orjson, lark"
TIMES = (
    ("import tidegate", "import tidegate", LIBRARIES, 1.5),
    ("tidegate --help", HELP, "import click", 2.0),
    ("tidegate.Engine, first use", "import tidegate; tidegate.Engine", LIBRARIES, None),
)
"""A name, its program, the program that it is compared with, and the most times as long."""


class Size(NamedTuple):
    """The bytes of one distribution: its files, and their bytecode."""

    name: str
    files: int
    bytecode: int


def requirements(name: str, extras: Iterable[str]) -> list[Requirement]:
    """The requirements of a distribution on this platform; for ours, those of the repository."""
    if name in OURS:
        project = tomllib.loads(OURS[name].read_text())["project"]
        optional = project["optional-dependencies"]
        texts = [*project["dependencies"], *(each for extra in extras for each in optional[extra])]
    else:
        texts = distribution(name).requires or []
    parsed = [Requirement(text) for text in texts]
    environments = [{"extra": extra} for extra in ("", *extras)]
    return [
        each
        for each in parsed
        if each.marker is None or any(each.marker.evaluate(one) for one in environments)
    ]


def installed(requirement: str) -> list[Size]:
    """The sizes of a distribution and of all that it asks for, the largest first.

    Raises:
        PackageNotFoundError: one of them isn't installed.
    """
    waiting, seen = [Requirement(requirement)], set[tuple[str, str]]()
    sizes: dict[str, Size] = {}
    while waiting:
        wanted = waiting.pop()
        name = wanted.name.lower().replace("_", "-")
        for extra in ("", *wanted.extras):
            if (name, extra) not in seen:
                seen.add((name, extra))
                waiting += requirements(name, [extra] if extra else [])
        if name not in sizes:
            sizes[name] = _size(name)
    return sorted(sizes.values(), key=lambda each: each.files, reverse=True)


def _size(name: str) -> Size:
    files = _own_files(name) if name in OURS else _files(distribution(name))
    found = {path: path.stat().st_size for path in files if path.is_file()}
    found |= {path: STRIPPED for path in found if path.name == "_native.abi3.so"}
    bytecode = sum(size for path, size in found.items() if path.suffix == ".pyc")
    return Size(name, sum(found.values()) - bytecode, bytecode)


def _own_files(name: str) -> Iterable[Path]:
    # Ours are installed as links to the sources.
    spec = find_spec(name.replace("-", "_"))
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent.rglob("*")


def _files(found: Distribution) -> Iterable[Path]:
    sources = [Path(str(found.locate_file(each))) for each in found.files or ()]
    folders = {path.parent for path in sources if path.suffix == ".py"}
    cached = (one for folder in folders for one in (folder / "__pycache__").glob("*.pyc"))
    return {*sources, *cached}


def seconds(programs: Sequence[str], rounds: int = ROUNDS) -> list[float]:
    """The median time of a process for each program, started in turns."""
    taken: list[list[float]] = [[] for _ in programs]
    for _ in range(rounds):
        for times, program in zip(taken, programs, strict=True):
            start = time.perf_counter()
            command = [sys.executable, "-c", program]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in taken]


def main() -> None:
    """Print sizes and times, with their bounds."""
    for requirement, most in MEGABYTES.items():
        sizes = installed(requirement)
        files, bytecode = (sum(each[part] for each in sizes) / 1e6 for part in (1, 2))
        print(f"{requirement}: {files:.1f} MB of at most {most}, and {bytecode:.1f} of bytecode")
        for each in sizes[:8]:
            print(f"    {each.files / 1e6:5.1f}  {each.name}")
    for name, program, other, most_times in TIMES:
        ours, theirs = seconds((program, other))
        bound = f" of at most {most_times}" if most_times else ""
        print(f"{name}: {ours * 1e3:.0f} ms, {ours / theirs:.2f}{bound} times `{other}`")


if __name__ == "__main__":
    main()
