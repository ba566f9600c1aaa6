"""Who may import whom, and what the inner layers may not touch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidegate

PACKAGE = Path(tidegate.__file__).parent
INNER = ("regex", "language", "functions", "evaluation", "policy", "cluster")
OUTER = ("client", "edge", "stores", "server", "console", "daemon", "cli")
WORLD = {
    "asyncio", "http", "os", "pathlib", "random", "secrets", "select", "shutil", "socket", "ssl",
    "subprocess", "sys", "tempfile", "threading", "time", "urllib", "urllib.request",
}  # fmt: skip
WORLD_CALLS = {"open", "input", "print"}
CLOCK_CALLS = {".now", ".today", ".utcnow"}
ALL_STORES = list((PACKAGE / "stores").rglob("*.py"))
ALL_INNER = [path for layer in INNER for path in (PACKAGE / layer).rglob("*.py")]


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def called(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.func.id
            elif isinstance(node.func, ast.Attribute):
                yield f".{node.func.attr}"


def relative(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", ALL_INNER, ids=relative)
def test_inner_layers_import_no_outer_layer(path: Path) -> None:
    """Language, functions, evaluators, policy and cluster know no store, server or command."""
    outer = {f"tidegate.{layer}" for layer in OUTER} | {"tidegate.engine", "tidegate.definitions"}
    assert not [
        name
        for name in imported(path)
        if any(name == layer or name.startswith(layer + ".") for layer in outer)
    ]


@pytest.mark.parametrize("path", ALL_INNER, ids=relative)
def test_inner_layers_touch_no_clock_file_socket_or_environment(path: Path) -> None:
    """Time, files, randomness and the environment are handed in, never fetched."""
    assert not WORLD & set(imported(path))
    assert not (WORLD_CALLS | CLOCK_CALLS) & set(called(path))


@pytest.mark.parametrize("path", ALL_STORES, ids=relative)
def test_stores_know_no_server_and_no_engine(path: Path) -> None:
    """A store keeps what it is given: it neither decides nor answers requests."""
    others = {f"tidegate.{layer}" for layer in (*OUTER, *INNER, "engine", "definitions")}
    # What the rows of a cluster mean is not the store's to say.
    others -= {"tidegate_server.stores", "tidegate_server.cluster"}
    assert not [
        name
        for name in imported(path)
        if any(name == other or name.startswith(other + ".") for other in others)
    ]


def test_only_the_parser_imports_the_parser_library() -> None:
    """Another parser generator would be a change to one file."""
    users = {
        relative(path)
        for path in PACKAGE.rglob("*.py")
        if "lark" in {name.split(".")[0] for name in imported(path)}
    }
    assert users == {"language/parse/parser.py"}


def test_only_one_module_imports_the_extension() -> None:
    """The extension is entered through one adapter, and one for the store."""
    users = {
        relative(path)
        for path in PACKAGE.rglob("*.py")
        if any(name.startswith("tidegate._native") for name in imported(path))
    }
    assert users == {"evaluation/native.py", "stores/index/counting.py"}


def test_the_client_imports_only_itself_the_exceptions_and_the_shape_of_a_decision() -> None:
    """The client imports only itself, the exceptions, and the shapes of events and decisions."""
    own = {
        name
        for path in (PACKAGE / "client").rglob("*.py")
        for name in imported(path)
        if name.startswith("tidegate")
    }
    known = ("tidegate.client", "tidegate.errors", "tidegate.decider", "tidegate.event_form")
    assert not [name for name in own if not name.startswith(known)]


def test_the_edge_stands_on_the_client_and_the_shape_of_a_decision() -> None:
    """The edge runs in somebody's application and in a daemon, where there is no server."""
    own = {
        name
        for path in (PACKAGE / "edge").rglob("*.py")
        for name in imported(path)
        if name.startswith("tidegate")
    }
    known = ("tidegate.edge", "tidegate.client", "tidegate.errors", "tidegate.decider")
    assert {name for name in own if not name.startswith(known)} <= {
        "tidegate.functions.addresses",
        "tidegate.functions.addresses.parse_address",
        "tidegate.functions.addresses.sent_address",
        "tidegate.policy.document.forms",
        "tidegate.policy.document.forms.header_problem",
        "tidegate.policy.document.forms.origin_problem",
        "tidegate.policy.document.forms.url_problem",
    }


def test_one_module_for_each_purpose_imports_the_http_library() -> None:
    """Another HTTP library would be a change to three files: client, login and webhook."""
    users = {
        relative(path)
        for path in PACKAGE.rglob("*.py")
        if "httpx2" in {name.split(".")[0] for name in imported(path)}
    }
    assert users == {
        "client/transport.py",
        "server/login/outbound.py",
        "server/publishing/webhook.py",
    }
