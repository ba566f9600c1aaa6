"""Writes THIRD_PARTY_NOTICES.txt: the licences of what the wheel links and carries.

``python tools/notices.py`` writes the file; with ``--check`` it says, by its exit code, whether the
file names the crates that the lock file links now, and what widget and console are made of.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import widget

ROOT = Path(__file__).parents[1]
NOTICES = ROOT / "THIRD_PARTY_NOTICES.txt"
CONSOLE = ROOT / "console"
EXTENSION = "tidegate-python"
TARGET = "x86_64-unknown-linux-gnu"
_TEXTS = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)", re.IGNORECASE)
_RULE = "=" * 80
_CRATES = "Crates that are linked into the extension of Tidegate:"
_PACKAGES = "Packages that the console is made of:"
_FILES = "What the widget on the pages of challenges is made of:"


def linked_crates() -> list[dict[str, Any]]:
    """The packages that the extension is linked from, as ``cargo metadata`` has them."""
    command = ["cargo", "metadata", "--locked", "--format-version=1", "--filter-platform", TARGET]
    found = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    packages = {each["id"]: each for each in found["packages"]}
    nodes = {each["id"]: each for each in found["resolve"]["nodes"]}
    waiting = [each["id"] for each in packages.values() if each["name"] == EXTENSION]
    linked: set[str] = set()
    while waiting:
        node = nodes[waiting.pop()]
        if node["id"] in linked:
            continue
        linked.add(node["id"])
        waiting += [
            each["pkg"]
            for each in node["deps"]
            if any(kind["kind"] is None for kind in each["dep_kinds"])
            and not _is_macro(packages[each["pkg"]])
        ]
    crates = [packages[each] for each in linked if packages[each]["source"] is not None]
    return sorted(crates, key=lambda each: (each["name"], each["version"]))


def _is_macro(package: dict[str, Any]) -> bool:
    """Macros run in the compiler: nothing of them is linked."""
    return any("proc-macro" in target["kind"] for target in package["targets"])


def titles(crates: list[dict[str, Any]]) -> list[str]:
    """A line for each crate."""
    return [f"{each['name']} {each['version']}  ({each['license']})" for each in crates]


def console_packages() -> dict[str, Path]:
    """Where each package that reaches the browser is installed, by a line for it."""
    locked = json.loads((CONSOLE / "package-lock.json").read_text())["packages"]
    return {
        f"{path.removeprefix('node_modules/')} {each['version']}  ({each['license']})": CONSOLE
        / path
        for path, each in sorted(locked.items())
        if path and not each.get("dev")
    }


def texts_of(folder: Path) -> list[str]:
    """The texts of licences and notices that a crate or package brings."""
    files = sorted(each for each in folder.iterdir() if each.is_file() and _TEXTS.match(each.name))
    return [each.read_text(errors="replace").strip() for each in files]


def notices(crates: list[dict[str, Any]]) -> str:
    """The whole file; a text that several crates bring stands there once."""
    bringers: dict[str, list[str]] = defaultdict(list)
    for crate in crates:
        for text in texts_of(Path(crate["manifest_path"]).parent):
            bringers[text].append(f"{crate['name']} {crate['version']}")
    carried = widget.notices()
    for title, text in carried.items():
        bringers[text].append(title.partition("  ")[0])
    packages = console_packages()
    for title, folder in packages.items():
        for text in texts_of(folder):
            bringers[text].append(title.partition("  ")[0])
    lists = {_CRATES: titles(crates), _FILES: carried, _PACKAGES: packages}
    parts = [line for heading, names in lists.items() for line in (heading, "", *names, "")][:-1]
    for text, names in bringers.items():
        parts += ["", _RULE, ", ".join(names), _RULE, "", text]
    return "\n".join(parts) + "\n"


def missing(text: str, crates: list[dict[str, Any]]) -> list[str]:
    """Linked or carried packages that the file lacks, and packages that only the file has."""
    listed = set(text.split("\n\n" + _RULE)[0].splitlines()) - {_CRATES, _FILES, _PACKAGES, ""}
    carried = [*widget.notices(), *console_packages()]
    return sorted(listed.symmetric_difference([*titles(crates), *carried]))


def main() -> int:
    """Write the file, or check it."""
    crates = linked_crates()
    if "--check" not in sys.argv[1:]:
        NOTICES.write_text(notices(crates))
        return 0
    wrong = missing(NOTICES.read_text(), crates)
    for each in wrong:
        print(f"THIRD_PARTY_NOTICES.txt is not current: {each}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
