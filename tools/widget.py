"""The widget of ALTCHA that the package carries: says its version, or takes another one.

``python tools/widget.py`` compares the files with ``origin.json`` next to them, and exits with 1
if one isn't as it was published.  ``--take TARBALL`` takes the files of a version from its npm
package (``npm pack altcha@VERSION``); a person has to look at the licences next to them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

WIDGET = Path(__file__).parents[1] / "server" / "tidegate_server" / "pages" / "widget"
ORIGIN = WIDGET / "origin.json"


def origin() -> dict[str, Any]:
    """The origin of the files, and their hashes."""
    found: dict[str, Any] = json.loads(ORIGIN.read_text())
    return found


def wrong() -> list[str]:
    """The files that aren't as they were published."""
    return [
        name
        for name, file in origin()["files"].items()
        if hashlib.sha256((WIDGET / name).read_bytes()).hexdigest() != file["sha256"]
    ]


def notices() -> dict[str, str]:
    """The texts of the licences of what the files hold, by names and versions."""
    return {
        f"{each['name']} {each['version']}  ({each['licence']})": (
            (WIDGET / "licences" / f"{each['name']}.txt").read_text().strip()
        )
        for each in origin()["holds"]
    }


def take(tarball: Path) -> None:
    """Take the files from a package, and write down its version."""
    known = origin()
    digest = hashlib.sha512(tarball.read_bytes()).digest()
    with tarfile.open(tarball) as opened:
        for name, file in known["files"].items():
            member = opened.extractfile(f"package/{file['from']}")
            assert member is not None
            content = member.read()
            (WIDGET / name).write_bytes(content)
            file["sha256"] = hashlib.sha256(content).hexdigest()
        member = opened.extractfile("package/package.json")
        assert member is not None
        known["version"] = json.loads(member.read())["version"]
    known["integrity"] = f"sha512-{base64.b64encode(digest).decode()}"
    known["holds"][0]["version"] = known["version"]
    ORIGIN.write_text(json.dumps(known, indent=2) + "\n")


def main() -> int:
    """Say which files these are, or take others."""
    if "--take" in sys.argv[1:]:
        take(Path(sys.argv[-1]))
    known = origin()
    print(f"{known['package']} {known['version']}, {known['integrity']}")
    for name, file in known["files"].items():
        print(f"  {name}  sha256 {file['sha256']}")
    found = wrong()
    for name in found:
        print(f"{name} isn't as it was published", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
