"""What is published: dependencies, notices, and what the archives hold."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tarfile
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NEEDS_CARGO = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
BROKEN_BY_THE_NEXT = {"uvicorn"}
"""Packages of which a later version is known to break the server."""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(find_spec("deptry") is None, reason="deptry is not installed")
def test_what_is_imported_is_declared() -> None:
    """No import stands on what another package happens to bring."""
    done = run("-m", "deptry", "--no-ansi", "python")
    assert done.returncode == 0, done.stderr


def test_nothing_private_of_another_package_is_imported() -> None:
    """What has no promise may be gone in the next version."""
    private = []
    for path in (ROOT / "python").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or node.module == "__future__":
                continue
            module = node.module or ""
            if module.startswith("tidegate") or node.level:
                continue
            parts = [*module.split("."), *(each.name for each in node.names)]
            private += [f"{path.name}: {module}" for part in parts if part.startswith("_")]
    assert not private


def test_extras_have_an_upper_bound_only_where_a_break_is_known() -> None:
    """Any other bound keeps a user's environment from being solved."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    bounded = {each.partition(">")[0] for extra in extras for each in extra if "<" in each}
    assert bounded == BROKEN_BY_THE_NEXT


@NEEDS_CARGO
def test_the_notices_name_every_crate_that_is_linked() -> None:
    """The wheel carries them, as their licences ask."""
    done = run("tools/notices.py", "--check")
    assert done.returncode == 0, done.stderr
    assert "THIRD_PARTY_NOTICES.txt" in PROJECT["project"]["license-files"]


@NEEDS_CARGO
@pytest.mark.skipif(find_spec("maturin") is None, reason="maturin is not installed")
def test_the_source_archive_holds_docs_and_tests(tmp_path: Path) -> None:
    """Who builds from it can read and test what was built."""
    done = run("-m", "maturin", "sdist", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert names >= {
        "LICENSE",
        "THIRD_PARTY_NOTICES.txt",
        "README.md",
        "docs/embedding.md",
        "tests/test_docs.py",
        "tests/corpus/text.toml",
        "tools/notices.py",
        "python/tidegate/py.typed",
        "rust/core/src/engine/mod.rs",
    }
    assert not [name for name in names if "__pycache__" in name or name.endswith(".so")]
