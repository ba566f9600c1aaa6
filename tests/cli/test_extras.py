"""Commands work with the extra of their kind, without the libraries of the server."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
SCRIPT = """
import sys
blocked = set({blocked})

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
from tidegate.cli.main import main
sys.argv = ["tidegate", *{arguments}]
main()
"""


def names(extra: str) -> set[str]:
    """The distributions of an extra, in lower case."""
    given = PROJECT["optional-dependencies"][extra]
    return {each.partition(">")[0].partition("[")[0].lower().replace("_", "-") for each in given}


def without(extra: str | None) -> list[str]:
    """The modules of the server's libraries that an extra does not bring."""
    missing = names("server") - (names(extra) if extra else set())
    return sorted(
        module
        for module, found in packages_distributions().items()
        if any(each.lower().replace("_", "-") in missing for each in found)
    )


def run(extra: str | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as if only an extra were installed."""
    script = SCRIPT.format(blocked=json.dumps(without(extra)), arguments=json.dumps(arguments))
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("extra", "command"),
    [
        *(("client", name) for name in ("apply", "export", "tenant", "api-key")),
        *(("daemon", name) for name in ("init", "sync", "run", "status", "capture")),
    ],
)
def test_a_command_works_with_the_extra_of_its_kind(
    extra: str, command: str, process: None
) -> None:
    """With it the command is there; without any the message names it."""
    done = run(extra, command, "--help")
    assert (done.returncode, "needs" in done.stderr) == (0, False), done.stderr[-1000:]
    bare = run(None, command)
    assert bare.returncode == 2
    assert f"pip install 'tidegate[{extra}]'" in bare.stderr


def test_the_daemon_imports_nothing_but_its_extra(process: None) -> None:
    """Every module of it, not only what the help of a command imports."""
    script = SCRIPT.format(blocked=json.dumps(without("daemon")), arguments="[]").partition(
        "from tidegate.cli"
    )[0] + (
        "import pkgutil, importlib\n"
        "for name in ('daemon', 'capture', 'enforcement'):\n"
        "    package = importlib.import_module(f'tidegate.{name}')\n"
        "    for each in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        importlib.import_module(each.name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr[-1000:]
