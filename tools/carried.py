"""The files of other packages that the service carries: says which, or takes another version.

These are the widget of ALTCHA and Swagger UI. ``python tools/carried.py`` compares the files with
``origin.json`` next to them, and exits with 1 if one isn't as it was published. ``--take TARBALL``
takes the files of a version from its npm package (``npm pack altcha@VERSION``); a person has to
look at the licences next to them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

SERVER = Path(__file__).parents[1] / "server" / "tidegate_server"
WIDGET = SERVER / "pages" / "widget"
SWAGGER_UI = SERVER / "routing" / "swagger_ui"
FOLDERS = (WIDGET, SWAGGER_UI)
ORIGIN = "origin.json"


def origin(folder: Path) -> dict[str, Any]:
    """The origin of a folder's files, and their hashes."""
    found: dict[str, Any] = json.loads((folder / ORIGIN).read_text())
    return found


def wrong(folder: Path) -> list[str]:
    """The files of a folder that aren't as they were published."""
    return [
        name
        for name, file in origin(folder)["files"].items()
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != file["sha256"]
    ]


def notices(folder: Path) -> dict[str, str]:
    """The texts of the licences of what the files hold, by names and versions."""
    return {
        f"{each['name']} {each['version']}  ({each['licence']})": (
            (folder / "licences" / f"{each['name']}.txt").read_text().strip()
        )
        for each in origin(folder)["holds"]
    }


def take(tarball: Path) -> None:
    """Take the files from a package, and write down its version."""
    digest = hashlib.sha512(tarball.read_bytes()).digest()
    with tarfile.open(tarball) as opened:
        package = json.loads(_content(opened, "package.json"))
        (folder,) = (each for each in FOLDERS if origin(each)["package"] == package["name"])
        known = origin(folder)
        for name, file in known["files"].items():
            content = _content(opened, file["from"])
            (folder / name).write_bytes(content)
            file["sha256"] = hashlib.sha256(content).hexdigest()
    known["version"] = known["holds"][0]["version"] = package["version"]
    known["integrity"] = f"sha512-{base64.b64encode(digest).decode()}"
    (folder / ORIGIN).write_text(json.dumps(known, indent=2) + "\n")


def _content(opened: tarfile.TarFile, name: str) -> bytes:
    member = opened.extractfile(f"package/{name}")
    assert member is not None
    return member.read()


def main() -> int:
    """Say which files these are, or take others."""
    if "--take" in sys.argv[1:]:
        take(Path(sys.argv[-1]))
    failed = False
    for folder in FOLDERS:
        known = origin(folder)
        print(f"{known['package']} {known['version']}, {known['integrity']}")
        for name, file in known["files"].items():
            print(f"  {name}  sha256 {file['sha256']}")
        for name in wrong(folder):
            failed = True
            print(f"{name} isn't as it was published", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
