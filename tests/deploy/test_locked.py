"""The packages that a container installs, and their bill of materials."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.deploy.test_deploy import DEPLOY
from tools.locked import NOT_LOCKED

ROOT = Path(__file__).parents[2]
PROJECTS = [
    tomllib.loads((ROOT / path / "pyproject.toml").read_text())["project"]
    for path in (".", "server")
]
OURS = {project["name"] for project in PROJECTS}
LOCKED = (DEPLOY / "requirements.txt").read_text()
LINES = re.sub(r" \\\n\s*", " ", LOCKED).splitlines()[1:]
LINE = re.compile(r"[a-z0-9._-]+(\[[a-z0-9,_-]+\])?==[^ ;]+( ; .+?)?( --hash=sha256:[0-9a-f]{64})+")
PACKAGES = {Requirement(line.split(" --hash")[0]).name: line for line in LINES}


def version_of(name: str) -> str:
    """The locked version of a package."""
    found = re.search(r"==([^ ;]+)", PACKAGES[name])
    assert found is not None, name
    return found[1]


def test_every_package_is_locked_by_its_hashes() -> None:
    """Each line has one version and the hashes of its files."""
    for line in LINES:
        assert LINE.fullmatch(line), line


def test_all_that_an_installation_needs_is_locked() -> None:
    """A container has all that both distributions need, directly or through others."""
    waiting = [Requirement(each) for project in PROJECTS for each in project["dependencies"]]
    for project in PROJECTS:
        extras = [name for name in project["optional-dependencies"] if name not in NOT_LOCKED]
        for name in extras:
            waiting += [Requirement(each) for each in project["optional-dependencies"][name]]
    waiting = [each for each in waiting if each.name not in OURS]
    seen: set[str] = set()
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        assert name in PACKAGES, f"run `python tools/locked.py`: {name} is missing"
        assert wanted.specifier.contains(version_of(name), prereleases=True), wanted
        if str(wanted) in seen:
            continue
        seen.add(str(wanted))
        try:
            further = [Requirement(each) for each in requires(name) or ()]
        except PackageNotFoundError:
            continue
        for each in further:
            environments = [{"extra": extra} for extra in wanted.extras or {""}]
            if each.marker is None or any(each.marker.evaluate(env) for env in environments):
                waiting.append(each)


def test_the_bill_of_materials_has_what_is_locked() -> None:
    """Names and versions of the CycloneDX file are those of the requirements."""
    found = json.loads((DEPLOY / "python.cdx.json").read_text())
    assert found["bomFormat"] == "CycloneDX"
    listed = {each["name"]: each["version"] for each in found["components"]}
    assert listed == {name: version_of(name) for name in PACKAGES}


def test_the_wheel_carries_both_bills_of_materials() -> None:
    """maturin writes that of the crates, and takes that of the packages with it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["sbom"]
    assert settings == {"rust": True, "include": ["deploy/python.cdx.json"]}
