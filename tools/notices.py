"""Writes THIRD_PARTY_NOTICES.txt of both distributions: the licences of what they carry.

``python tools/notices.py`` writes the files; with ``--check`` it says, by its exit code, whether
the one at the top names the crates that the lock file links now, and the one of the server what
widget and console are made of.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, TypeAlias

import widget

ROOT = Path(__file__).parents[1]
NOTICES = "THIRD_PARTY_NOTICES.txt"
CONSOLE = ROOT / "console"
LUCIDE = CONSOLE / "licences" / "lucide-1.62.0.txt"
SWAGGER_UI = CONSOLE / "licences" / "swagger-ui-dist-5.35.0.txt"
EXTENSION = "tidegate-python"
TARGET = "x86_64-unknown-linux-gnu"
_TEXTS = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)", re.IGNORECASE)
_RULE = "=" * 80
_CRATES = "Crates that are linked into the extension of Tidegate:"
_PACKAGES = "Packages that the console is made of:"
_ICONS = "Icons of the console:"
_FILES = "What the widget on the pages of challenges is made of:"
_SWAGGER_UI = "What the page of the interface is made of:"
_SWAGGER_UI_TITLE = (
    "swagger-ui-dist 5.35.0  (Apache-2.0, and MIT and BSD-3-Clause for what it bundles)"
)


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


Parts: TypeAlias = dict[str, dict[str, list[str]]]
"""By heading, a line for each thing that is carried, with the texts of its licences."""


def of_library() -> Parts:
    """The parts that the wheel of the library carries."""
    crates = linked_crates()
    folders = (Path(each["manifest_path"]).parent for each in crates)
    return {_CRATES: dict(zip(titles(crates), map(texts_of, folders), strict=True))}


def of_server() -> Parts:
    """The parts that the wheel of the server carries."""
    packages = {title: texts_of(folder) for title, folder in console_packages().items()}
    return {
        _FILES: {title: [text] for title, text in widget.notices().items()},
        _SWAGGER_UI: {_SWAGGER_UI_TITLE: [SWAGGER_UI.read_text().strip()]},
        _PACKAGES: packages,
        _ICONS: {"lucide 1.62.0  (ISC)": [LUCIDE.read_text().strip()]},
    }


def notices(parts: Parts) -> str:
    """The whole file; a text that several things bring is in it once."""
    lines = [line for heading, each in parts.items() for line in (heading, "", *each, "")][:-1]
    bringers: dict[str, list[str]] = defaultdict(list)
    for titled in parts.values():
        for title, texts in titled.items():
            for text in texts:
                bringers[text].append(title.partition("  ")[0])
    for text, names in bringers.items():
        lines += ["", _RULE, ", ".join(names), _RULE, "", text]
    return "\n".join(lines) + "\n"


def differences(text: str, parts: Parts) -> list[str]:
    """Things that are carried and not in the file, or only in the file."""
    listed = set(text.split("\n\n" + _RULE)[0].splitlines()) - {*parts, ""}
    return sorted(listed.symmetric_difference(title for each in parts.values() for title in each))


def main() -> int:
    """Write the files, or check them."""
    wrong = []
    for folder, parts in ((ROOT, of_library()), (ROOT / "server", of_server())):
        file = folder / NOTICES
        if "--check" in sys.argv[1:]:
            wrong += [
                f"{file.relative_to(ROOT)} is not current: {each}"
                for each in differences(file.read_text(), parts)
            ]
        else:
            file.write_text(notices(parts))
    for each in wrong:
        print(each, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
