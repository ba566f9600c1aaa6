"""Writes the packages that a container installs: exact versions with hashes, and their SBOM.

``python tools/locked.py`` writes ``deploy/requirements.txt`` and ``deploy/python.cdx.json``; with
``--upgrade`` it takes the newest versions that both distributions allow. It needs ``uv``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
REQUIREMENTS = ROOT / "deploy" / "requirements.txt"
SBOM = ROOT / "deploy" / "python.cdx.json"
DISTRIBUTIONS = ("pyproject.toml", "server/pyproject.toml")
NOT_LOCKED = {"frames", "lsp", "repl", "testing"}
"""Extras that no container needs."""
SBOM_TOOL = "cyclonedx-bom==7.5.0"
_HEAD = "# Written by tools/locked.py; install with `pip install --require-hashes -r`.\n"


def wanted() -> list[str]:
    """The requirements of both distributions with their extras, except for each other."""
    found: list[str] = []
    for path in DISTRIBUTIONS:
        project = tomllib.loads((ROOT / path).read_text())["project"]
        found += project["dependencies"]
        for extra, names in project["optional-dependencies"].items():
            found += names if extra not in NOT_LOCKED else []
    return sorted({each for each in found if not each.startswith("tidegate")})


def lock(*, upgrade: bool) -> None:
    """Write the versions and the hashes of their files, for every platform."""
    command = ["uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
    command += ["--generate-hashes", "--no-annotate", "--no-header", "-"]
    command += ["--output-file", str(REQUIREMENTS), *(["--upgrade"] if upgrade else [])]
    subprocess.run(command, cwd=ROOT, check=True, text=True, input="\n".join(wanted()))
    REQUIREMENTS.write_text(_HEAD + REQUIREMENTS.read_text().removeprefix(_HEAD))


def describe() -> None:
    """Write the SBOM of these packages (CycloneDX), which the wheel carries with that of the
    crates."""
    command = ["uv", "tool", "run", "--from", SBOM_TOOL, "cyclonedx-py", "requirements"]
    command += [str(REQUIREMENTS), "--pyproject", "pyproject.toml", "--mc-type", "application"]
    command += ["--output-reproducible", "--of", "JSON", "--output-file", str(SBOM)]
    subprocess.run(command, cwd=ROOT, check=True)
    described = json.loads(SBOM.read_text())
    for component in (*described["components"], *described["metadata"]["tools"]["components"]):
        # Where this machine took them from is not part of what they are.
        component.pop("externalReferences", None)
    SBOM.write_text(json.dumps(described, indent=2, ensure_ascii=False) + "\n")


def main() -> int:
    """Write both."""
    lock(upgrade="--upgrade" in sys.argv[1:])
    describe()
    return 0


if __name__ == "__main__":
    sys.exit(main())
