"""The front page of the package, as a list."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tidegate
from tidegate import _public

NAMES = [name for name in tidegate.__all__ if name not in ("testing", "__version__")]
LATE = {"__version__", *_public._LATE}
"""Imported when they are named, with what they stand on."""
TYPES = [
    name
    for name in NAMES
    if inspect.isclass(getattr(tidegate, name)) or inspect.isfunction(getattr(tidegate, name))
]


def test_every_public_name_is_listed() -> None:
    """Nothing is exported by accident and nothing is missing."""
    found = {
        name
        for name, value in vars(_public).items()
        if not name.startswith("_")
        and name != "annotations"
        and (name == "testing" or not inspect.ismodule(value))
    }
    assert found | LATE == set(tidegate.__all__)


HEAVY = ("attrs", "lark", "orjson", "rich", "yaml", "tidegate._native", "tidegate.engine")
"""Modules that a program loads when it uses something."""


HELP = (
    "from click.testing import CliRunner; from tidegate.cli.main import tidegate;"
    "assert CliRunner().invoke(tidegate, ['--help']).exit_code == 0"
)


@pytest.mark.parametrize("program", ["import tidegate", HELP], ids=["import", "help"])
def test_nothing_heavy_is_imported_before_it_is_used(program: str, process: None) -> None:
    """An import of the package, and the help of the command, load neither engine nor tables."""
    program += f"; import sys; early = set({HEAVY}) & set(sys.modules); assert not early, early"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_name_is_kept_once_it_is_imported() -> None:
    """The package finds a name on first use alone, lists all of them, and refuses others."""
    assert tidegate.Engine is vars(tidegate)["Engine"]
    assert set(dir(tidegate)) >= set(tidegate.__all__)
    with pytest.raises(AttributeError, match="Engin"):
        tidegate.Engin  # noqa: B018


def test_the_client_is_imported_when_it_is_named(process: None) -> None:
    """Importing the package does not import the client's HTTP library."""
    program = (
        "import sys, tidegate; assert 'httpx2' not in sys.modules, 'early';"
        "tidegate.Client; assert 'tidegate.client' in sys.modules, 'never'"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_version_is_that_of_the_distribution() -> None:
    """Every package states the version of the distribution."""
    assert tidegate.__version__ == metadata.version("tidegate")


@pytest.mark.parametrize("name", TYPES)
def test_public_names_have_a_docstring(name: str) -> None:
    """Every public name has a docstring."""
    assert inspect.getdoc(getattr(tidegate, name))


@pytest.mark.parametrize("name", ["Program", "RuleSet", "Engine", "Client", "AsyncClient"])
def test_public_methods_have_a_docstring(name: str) -> None:
    """Public methods of the main classes have a docstring."""
    members = inspect.getmembers(getattr(tidegate, name), inspect.isfunction)
    assert not [
        member for member, value in members if not member.startswith("_") and not value.__doc__
    ]


# --- every type in a signature ---------------------------------------------------------------


@cache
def names_of(module: ModuleType) -> dict[str, Any]:
    """The meaning of the names in a module, also of names that only a type checker imports."""
    known = dict(vars(module))
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tidegate"):
            source = importlib.import_module(str(node.module))
            for each in node.names:
                known.setdefault(each.asname or each.name, getattr(source, each.name, None))
    return known


def annotations_of(value: Any) -> Iterator[tuple[str, str]]:
    """The annotations of a function, or of the public members of a class, with their module."""
    if inspect.isfunction(value):
        yield from ((value.__module__, str(text)) for text in value.__annotations__.values())
        return
    yield from (
        (value.__module__, str(text))
        for member, text in vars(value).get("__annotations__", {}).items()
        if not member.startswith("_")
    )
    for name, member in vars(value).items():
        if name.startswith("_") and name != "__init__":
            continue
        member = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if inspect.isfunction(member):
            yield from annotations_of(member)


def types_of(name: str) -> Iterator[tuple[str, Any]]:
    """The types of this package that a public name has in its signatures."""
    value = getattr(tidegate, name)
    parts = [value] if inspect.isfunction(value) else inspect.getmro(value)
    ours = [each for each in parts if each.__module__.startswith("tidegate")]
    for module, annotation in (found for each in ours for found in annotations_of(each)):
        if not module.startswith("tidegate."):
            continue
        known = names_of(sys.modules[module])
        for word in re.findall(r"(?<![.'\"])\b[A-Za-z]\w*", annotation):
            found = known.get(word)
            if inspect.isclass(found) and found.__module__.startswith("tidegate"):
                yield word, found
            elif word in ALIASES:
                yield word, getattr(tidegate, word)


ALIASES = {"Action", "ActionType", "Strictness", "Clock", "Evaluator", "FailMode", "Mode", "Part",
           "Reason", "Source", "Type"}  # fmt: skip
"""Names for several types; each has to be there."""
WITHOUT_PAGE = {
    "Backend",
    "Calls",
    "Later",
    "ProofKeys",
    "Redactor",
    "ReferenceRedactor",
    "ShownProof",
}
"""Classes of the service's own way through the engine."""


@pytest.mark.parametrize("name", TYPES)
def test_every_type_in_a_signature_is_exported(name: str) -> None:
    """Every type that the interface takes or returns can be imported from ``tidegate`` itself."""
    exported = [getattr(tidegate, each) for each in NAMES]
    missing = {
        word for word, found in types_of(name) if not any(found is each for each in exported)
    }
    assert not missing - WITHOUT_PAGE


# --- what a type checker sees ----------------------------------------------------------------

GOOD = """
from collections.abc import Awaitable
from typing import assert_never
import tidegate

def status(decider: tidegate.Decider[tidegate.Decision]) -> int:
    match decider.decide({"request": {"path": "/"}}).action:
        case tidegate.Allow():
            return 200
        case tidegate.Challenge(redirect_url=url):
            return 302 if url else 401
        case tidegate.Block() as block:
            return block.status_code
        case other:
            assert_never(other)

def type_of(decision: tidegate.Decision) -> str:
    if decision.action.type == "block":
        return decision.action.body
    return decision.action.type

def all_three(
    engine: tidegate.Engine, client: tidegate.Client, calls: tidegate.AsyncClient
) -> tidegate.Decider[Awaitable[tidegate.Decision]]:
    print(tidegate.__version__, status(engine), status(client), type_of(engine.decide(b"{}")))
    return calls

def events(engine: tidegate.Engine, client: tidegate.Client, rules: tidegate.RuleSet) -> None:
    event: tidegate.Event = {
        "request": {"path": "/", "client_ip": None, "headers": {"host": "a"}},
        "fields": {"status": 200},
        "geo": {"asn": 64500},
        "agent": {"claims": "a"},
        "observed_at": "2026-03-02T10:00:00Z",
    }
    print(engine.decide(event), engine.explain(event), client.decide(event), client.send(event))
    print(rules.match(event), rules.match({"plan.level": 3}), rules.match_batch([event, b"{}"]))
    print(tidegate.compile("1").evaluate(event))

def frames(engine: tidegate.Engine, rules: tidegate.RuleSet, frame: tidegate.Frame) -> None:
    print(rules.match_batch(frame).column_names, engine.decide_batch(frame)["action"])
    found: list[bytes | tidegate.EventError] = engine.decide_batch([b"{}"])
    print(found)
"""
BAD = (
    "import tidegate; tidegate.Engin",
    "import tidegate; tidegate.AsyncCleint",
    "import tidegate; tidegate.Decision.from_record",
    "import tidegate\ndef f(d: tidegate.EngineDecision) -> object: return d.polcy",
    "import tidegate\ndef f(d: tidegate.Decision) -> int: return d.action.status_code",
    "import tidegate\ndef f(e: tidegate.Engine) -> object: return e.decide({'reqest': {}})",
    "import tidegate\ndef f(e: tidegate.Engine) -> object: return e.explain({'geo': {'asm': 1}})",
    "import tidegate\n"
    "def f(c: tidegate.Client) -> object: return c.decide({'request': {'pth': ''}})",
    "import tidegate\ndef f(c: tidegate.Client) -> object: return c.send({'field': {}})",
    "import tidegate\n"
    "def f(d: tidegate.Decider[tidegate.Decision]) -> object: return d.decide({'requst': {}})",
)


CONSOLE_TOOLS = Path(__file__).parents[1] / "console" / "node_modules" / ".bin"
"""Pyright is a program for node, so it is installed with the tools of the console."""


def checked(program: str, command: list[str], where: Path) -> subprocess.CompletedProcess[str]:
    path = where / "program.py"
    path.write_text(program)
    return subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_type_checker_narrows_the_action_and_sees_a_misspelt_name(
    checker: str, tmp_path: Path, process: None
) -> None:
    """A forgotten action, or a misspelt name, is reported before the program runs."""
    if checker == "pyright":
        places = (Path(sys.executable).parent, Path("/usr/bin"), CONSOLE_TOOLS)
        found = shutil.which("pyright", path=os.pathsep.join(map(str, places)))
        if found is None:
            pytest.skip("pyright is not installed: `make console` brings it")
        command = [found, "--pythonpath", sys.executable]
    else:
        cache_dir = f"--cache-dir={tmp_path / 'cache'}"
        command = [sys.executable, "-m", "mypy", "--strict", cache_dir, "--config-file="]
    good = checked(GOOD, command, tmp_path)
    assert good.returncode == 0, good.stdout + good.stderr
    for program in BAD:
        assert checked(program, command, tmp_path).returncode == 1, program
