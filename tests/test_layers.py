"""The imports that each layer may have, and what the inner layers may not touch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidegate
import tidegate_server

PACKAGE = Path(tidegate.__file__).parent
SERVER = Path(tidegate_server.__file__).parent
INNER = ("regex", "language", "functions", "evaluation", "policy")
OUTER = ("client", "edge", "cli", "engine", "definitions")
WORLD = {
    "asyncio", "http", "os", "pathlib", "random", "secrets", "select", "shutil", "socket", "ssl",
    "subprocess", "sys", "tempfile", "threading", "time", "urllib", "urllib.request",
}  # fmt: skip
WORLD_CALLS = {"open", "input", "print"}
CLOCK_CALLS = {".now", ".today", ".utcnow"}
ALL_STORES = list((SERVER / "stores").rglob("*.py"))
LIBRARY = list(PACKAGE.rglob("*.py"))
ALL = [*LIBRARY, *SERVER.rglob("*.py")]
ALL_INNER = [path for layer in INNER for path in (PACKAGE / layer).rglob("*.py")]
WITHOUT_IO = [*ALL_INNER, *(SERVER / "cluster").rglob("*.py")]


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
    """The path below the library, or from the package of the server."""
    return str(path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else SERVER.parent))


def test_the_library_never_imports_the_service() -> None:
    """The library imports nothing of the service, so it can be installed without it."""
    assert not [
        relative(path)
        for path in LIBRARY
        if "tidegate_server" in {name.split(".")[0] for name in imported(path)}
    ]


@pytest.mark.parametrize("path", ALL_INNER, ids=relative)
def test_inner_layers_import_no_outer_layer(path: Path) -> None:
    """Language, functions, evaluators and policy know no client, edge or command."""
    outer = {f"tidegate.{layer}" for layer in OUTER}
    assert not [
        name
        for name in imported(path)
        if any(name == layer or name.startswith(layer + ".") for layer in outer)
    ]


@pytest.mark.parametrize("path", WITHOUT_IO, ids=relative)
def test_inner_layers_touch_no_clock_file_socket_or_environment(path: Path) -> None:
    """Time, files, randomness and the environment are handed in, never fetched."""
    assert not WORLD & set(imported(path))
    assert not (WORLD_CALLS | CLOCK_CALLS) & set(called(path))


@pytest.mark.parametrize("path", ALL_STORES, ids=relative)
def test_stores_know_no_server_and_no_engine(path: Path) -> None:
    """A store keeps what it is given: it neither decides nor answers requests."""
    # A store does not interpret the rows of a cluster.
    known = (
        "tidegate_server.stores", "tidegate_server.cluster",
        "tidegate.errors", "tidegate.limits", "tidegate._native",
    )  # fmt: skip
    ours = {name for name in imported(path) if name.startswith("tidegate")}
    assert not [name for name in ours if not name.startswith(known)]


def test_only_the_parser_imports_the_parser_library() -> None:
    """Another parser generator would be a change to one file."""
    users = {
        relative(path) for path in ALL if "lark" in {name.split(".")[0] for name in imported(path)}
    }
    assert users == {"language/parse/parser.py"}


def test_only_one_module_imports_the_extension() -> None:
    """The extension is entered through one adapter, and one for the store."""
    users = {
        relative(path)
        for path in ALL
        if any(name.startswith("tidegate._native") for name in imported(path))
    }
    assert users == {"evaluation/native.py", "tidegate_server/stores/index/counting.py"}


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
    """The edge runs in somebody's application and in a daemon, without a server."""
    own = {
        name
        for path in (PACKAGE / "edge").rglob("*.py")
        for name in imported(path)
        if name.startswith("tidegate")
    }
    known = (
        "tidegate.edge",
        "tidegate.client",
        "tidegate.errors",
        "tidegate.decider",
        "tidegate.event_form",
    )
    assert {name for name in own if not name.startswith(known)} <= {
        "tidegate.evaluation.target",
        "tidegate.evaluation.target.protocol_name",
        "tidegate.functions.addresses",
        "tidegate.functions.addresses.parse_address",
        "tidegate.functions.addresses.sent_address",
        "tidegate.policy.document.forms",
        "tidegate.policy.document.forms.header_problem",
        "tidegate.policy.document.forms.origin_problem",
        "tidegate.policy.document.forms.url_problem",
    }


def test_one_module_for_each_purpose_imports_the_http_library() -> None:
    """Another HTTP library would be a change to client, fetching, login and webhook alone."""
    users = {
        relative(path)
        for path in ALL
        if "httpx2" in {name.split(".")[0] for name in imported(path)}
    }
    assert users == {
        "client/transport.py",
        "fetching/exchange.py",
        "fetching/fetcher.py",
        "tidegate_server/login/outbound.py",
        "tidegate_server/publishing/webhook.py",
    }
