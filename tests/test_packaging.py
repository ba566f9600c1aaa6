"""The published packages: dependencies, notices, and the contents of the archives."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT, SERVER = (
    tomllib.loads((ROOT / path / "pyproject.toml").read_text())["project"]
    for path in (".", "server")
)
NEEDS_CARGO = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
BROKEN_BY_THE_NEXT = {"uvicorn"}
"""Packages of which a later version is known to break the server."""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(find_spec("deptry") is None, reason="deptry is not installed")
@pytest.mark.parametrize("folder", ["python", "server"])
def test_what_is_imported_is_declared(folder: str, process: None) -> None:
    """No import stands on what another package happens to bring."""
    settings = [] if folder == "python" else ["--config", f"{folder}/pyproject.toml"]
    done = run("-m", "deptry", "--no-ansi", folder, *settings)
    assert done.returncode == 0, done.stderr


DOCUMENTED = {
    "os._exit",
    "opentelemetry._logs.LogRecord",
    "opentelemetry._logs.SeverityNumber",
    "opentelemetry.exporter.otlp.proto.http._log_exporter.OTLPLogExporter",
    "opentelemetry.sdk._logs.LoggerProvider",
    "opentelemetry.sdk._logs.ReadWriteLogRecord",
    "opentelemetry.sdk._logs.ReadableLogRecord",
    "opentelemetry.sdk._logs.export.BatchLogRecordProcessor",
    "opentelemetry.sdk._logs.export.LogRecordExportResult",
}
"""Names with an underscore that the reference of Python promises, or that of OpenTelemetry has.

Logs in OpenTelemetry have no other names. If they change, the extra `otlp` can't be used, and the
start says so.
"""


def private_names(tree: ast.Module) -> list[str]:
    """Names with an underscore that a module takes of other packages: imports, members."""
    taken: list[list[str]] = []
    known: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            taken += [each.name.split(".") for each in node.names]
            known |= {(each.asname or each.name).partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module not in {None, "__future__"}:
            if node.level or str(node.module).startswith("tidegate"):
                continue
            taken += [[*str(node.module).split("."), each.name] for each in node.names]
            known |= {each.asname or each.name for each in node.names}
    dotted = (ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    members = [text.split(".") for text in dotted if re.fullmatch(r"[\w.]+", text)]
    taken += [names for names in members if names[0] in known]
    return [
        ".".join(names)
        for names in taken
        if names[0] not in {"tidegate", "tidegate_server"}
        and any(part.startswith("_") and not part.startswith("__") for part in names)
    ]


@pytest.mark.parametrize(
    "text",
    ["import a._b", "from a._b import c", "from a import _b", "import a\na.b._c()"],
)
def test_each_way_to_something_private_is_found(text: str) -> None:
    """An import of it, and a member of a module that is imported."""
    assert private_names(ast.parse(text))


def test_nothing_private_of_another_package_is_imported() -> None:
    """Private names, which the next version may not have, are not imported from other packages."""
    found = {
        f"{path.name}: {name}"
        for folder in ("python", "server")
        for path in (ROOT / folder).rglob("*.py")
        for name in private_names(ast.parse(path.read_text()))
        if name not in DOCUMENTED
    }
    assert not found


def test_the_service_has_an_upper_bound_only_where_a_break_is_known() -> None:
    """Any other bound keeps a user's environment from being solved."""
    extras = [*PROJECT["optional-dependencies"].values(), SERVER["dependencies"]]
    asked = [each.partition(";")[0] for extra in extras for each in extra]
    bounded = {each.partition(">")[0] for each in asked if "<" in each}
    assert bounded == BROKEN_BY_THE_NEXT


def test_both_distributions_have_one_version() -> None:
    """Each asks for the other at the version of Cargo.toml."""
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert SERVER["version"] == version
    assert f"tidegate=={version}" in SERVER["dependencies"]
    extras = PROJECT["optional-dependencies"]
    assert extras["server"] == [f"tidegate-server=={version}"]
    for name in SERVER["optional-dependencies"]:
        assert extras[name] == [f"tidegate-server[{name}]=={version}"]


@NEEDS_CARGO
def test_the_notices_name_every_crate_that_is_linked(process: None) -> None:
    """The wheels carry them, as their licences ask."""
    done = run("tools/notices.py", "--check")
    assert done.returncode == 0, done.stderr
    assert "THIRD_PARTY_NOTICES.txt" in PROJECT["license-files"]


@NEEDS_CARGO
@pytest.mark.skipif(find_spec("maturin") is None, reason="maturin is not installed")
def test_the_source_archive_builds_with_its_lock_and_holds_docs_and_tests(
    tmp_path: Path, process: None
) -> None:
    """A packager builds exactly what we built, and can read and test it."""
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
        "tests/docs/test_docs.py",
        "tests/corpus/text.toml",
        "tools/notices.py",
        "server/pyproject.toml",
        "server/tidegate_server/service.py",
        "python/tidegate/py.typed",
        "python/tidegate/packs/baseline/definitions.yaml",
        "python/tidegate/packs/baseline/tests/baseline.tidegate-test.yaml",
        "rust/core/src/engine/mod.rs",
    }
    assert not [name for name in names if "__pycache__" in name or name.endswith(".so")]
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path / "unpacked", filter="data")
    (manifest,) = (tmp_path / "unpacked").glob("*/Cargo.toml")
    locked = ["cargo", "metadata", "--locked", "--offline", "--format-version=1"]
    done = subprocess.run(
        [*locked, "--manifest-path", str(manifest)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@NEEDS_CARGO
def test_the_lock_of_the_native_benchmarks_fits(process: None) -> None:
    """They build with what the core needs now."""
    manifest = ROOT / "benchmarks" / "native" / "Cargo.toml"
    locked = ["cargo", "metadata", "--locked", "--format-version=1"]
    done = subprocess.run(
        [*locked, "--manifest-path", str(manifest)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
