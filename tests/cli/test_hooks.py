"""The hooks of pre-commit and the action of GitHub: their commands, as those programs run them."""

from __future__ import annotations

import os
import subprocess
import sys
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
    program = tmp_path / "bin" / "tidegate"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tidegate "$@"\n')
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
