"""The hooks of pre-commit and the action of GitHub: their commands, as those programs run them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
GOOD = """apiVersion: tidegate/v1
policies:
  - name: Admin
    expression: request.path.startsWith("/admin/")
    clauses:
      - {name: all, expression: request.method == "GET"}
"""
LATER_NEVER = GOOD.replace('request.method == "GET"', 'request.path == "/login"')
UNTIDY = GOOD.replace(' == "GET"', '=="GET"')
BROKEN = GOOD.replace("request.method", "request.methd")


@pytest.fixture
def site(tmp_path: Path, process: None) -> Path:
    """A repository with definitions and another YAML file, and `tidegate` on the path."""
    (tmp_path / "bin").mkdir()
    for name, options in (("tidegate", "-m tidegate"), ("python3", "")):
        program = tmp_path / "bin" / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {options} "$@"\n')
        program.chmod(0o755)
    folder = tmp_path / "site"
    (folder / "policies").mkdir(parents=True)
    (folder / "other.yaml").write_text("a: 1\n")
    return folder


def shell(site: Path, script: str, **environment: str) -> CompletedProcess[str]:
    """A script run in the repository."""
    path = f"{site.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=site,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def written(site: Path, text: str) -> Path:
    path = site / "policies" / "shop.yaml"
    path.write_text(text)
    return path


def hooks() -> dict[str, dict[str, Any]]:
    return {
        each["id"]: each for each in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    }


@pytest.mark.parametrize(
    ("hook", "passes", "fails"),
    [
        ("tidegate-check", GOOD, BROKEN),
        ("tidegate-check", LATER_NEVER, BROKEN),
        ("tidegate-lint", GOOD, LATER_NEVER),
    ],
)
def test_a_hook_refuses_what_it_is_for(site: Path, hook: str, passes: str, fails: str) -> None:
    """A commit goes through with good definitions, and not with others."""
    entry = hooks()[hook]["entry"]
    assert not hooks()[hook]["pass_filenames"]
    written(site, passes)
    assert shell(site, entry).returncode == 0
    written(site, fails)
    failed = shell(site, entry)
    assert failed.returncode == 1
    assert "policies/shop.yaml:" in failed.stderr


def test_the_format_hook_changes_files(site: Path) -> None:
    """pre-commit refuses a commit when a hook has changed a file."""
    path = written(site, UNTIDY)
    assert shell(site, hooks()["tidegate-fmt"]["entry"]).returncode == 0
    assert path.read_text() == GOOD


def test_the_action_annotates_and_fails(site: Path) -> None:
    """Each step does its part, with the inputs that the action declares."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    defaults = {name: str(each["default"]) for name, each in action["inputs"].items()}
    steps = {each["name"]: each for each in action["runs"]["steps"]}

    def step(name: str, **inputs: str) -> CompletedProcess[str]:
        given = defaults | {key.replace("_", "-"): value for key, value in inputs.items()}
        environment = {
            key: given[value.removeprefix("${{ inputs.").removesuffix(" }}")]
            for key, value in steps[name]["env"].items()
        }
        return shell(site, steps[name]["run"], **environment)

    written(site, LATER_NEVER)
    lint = step("Lint")
    assert lint.returncode == 0
    assert "::warning file=policies/shop.yaml" in lint.stdout
    strict = step("Lint", warnings_as_errors="true", files="policies other.y*ml policies/shop.yaml")
    assert strict.returncode == 1
    assert "::error file=policies/shop.yaml" in strict.stdout
    assert step("Check the format").returncode == 0
    written(site, UNTIDY)
    assert step("Check the format").returncode == 1
    assert set(steps) == {"Install Tidegate", "Lint", "Check the format"}
    assert "pip install" in steps["Install Tidegate"]["run"]


@pytest.fixture
def repository(site: Path) -> Path:
    """The site as a repository of git whose commits run the hooks of a clone of ours."""
    ours = site.parent / "tidegate"
    ours.mkdir()
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", ours)
    git = "git init --quiet && git add --all && git commit --quiet --message first"
    assert done(ours, git).returncode == 0
    hooked = [{"id": name} for name in hooks()]
    source = {"repo": str(ours), "rev": done(ours, "git rev-parse HEAD").stdout.strip()}
    config = {"repos": [source | {"hooks": hooked}]}
    (site / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    written(site, GOOD)
    install = f'{git} && "{sys.executable}" -m pre_commit install'
    assert done(site, install).returncode == 0
    return site


def done(folder: Path, script: str) -> CompletedProcess[str]:
    """A script run with settings of git and caches of its own."""
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    (home / ".gitconfig").write_text("[user]\nname = A\nemail = a@example.test\n")
    return shell(folder, script, HOME=str(home), PRE_COMMIT_HOME=str(home), GIT_CONFIG_NOSYSTEM="1")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (BROKEN, "unknown field `request.methd`"),
        (LATER_NEVER, "policies/shop.yaml:"),
        (UNTIDY, "files were modified by this hook"),
    ],
)
def test_pre_commit_stops_a_commit_of_a_broken_policy(
    repository: Path, text: str, shown: str
) -> None:
    """The commit isn't made, and the output says where the fault is; mended, it is made."""
    before = done(repository, "git rev-parse HEAD").stdout
    written(repository, text)
    stopped = done(repository, "git commit --quiet --all --message second")
    assert stopped.returncode == 1
    assert shown in stopped.stdout + stopped.stderr
    assert done(repository, "git rev-parse HEAD").stdout == before
    written(repository, GOOD.replace("Admin", "Administration"))
    assert done(repository, "git commit --quiet --all --message second").returncode == 0
    assert done(repository, "git rev-parse HEAD").stdout != before


@pytest.mark.parametrize(("version", "installed"), [("", "1.3.0"), ("1.2.3", "1.2.3")])
def test_the_action_installs_the_version_that_is_asked_for(
    site: Path, version: str, installed: str
) -> None:
    """The newest version is installed, or the one that the input names."""
    for each in ("1.2.3", "1.3.0"):
        wheel(site, each)
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    result = shell(
        site,
        action["runs"]["steps"][0]["run"],
        VERSION=version,
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(site),
        PIP_TARGET=str(site / "target"),
    )
    assert result.returncode == 0, result.stderr
    assert [each.name for each in (site / "target").glob("*.dist-info")] == [
        f"tidegate-{installed}.dist-info"
    ]


def wheel(folder: Path, version: str) -> None:
    """A wheel with a name and a version, and nothing else."""
    inside = f"tidegate-{version}.dist-info"
    with zipfile.ZipFile(folder / f"tidegate-{version}-py3-none-any.whl", "w") as packed:
        packed.writestr(
            f"{inside}/METADATA", f"Metadata-Version: 2.1\nName: tidegate\nVersion: {version}\n"
        )
        packed.writestr(f"{inside}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        packed.writestr(f"{inside}/RECORD", "")
