"""The console and the interface: types are current, and every route has a page or a reason."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from tests.console.node import node_of, npm_run
from tools.console import ROOT, SOURCES

DOCUMENT = json.loads((ROOT / "docs/openapi.json").read_text())
CALL = re.compile(r"api\s*\.(GET|POST|PUT|PATCH|DELETE)\(\s*\"([^\"]+)\"")
OBJECTS = re.compile(r"objectCalls\(\s*\"([^\"]+)\",\s*\"([^\"]+)\"")
ALL = re.compile(r"allObjects\(\s*\"([^\"]+)\"")
PREFIX = "/api/v1"
TENANT = f"{PREFIX}/tenants/{{tenant_id}}"

NOT_SHOWN = {
    f"GET {PREFIX}/tenants": "`/me` names the operator's tenants, with the role in each",
    f"POST {PREFIX}/tenants": "a tenant is made when a service is set up, by a call",
    f"DELETE {TENANT}": "a tenant is deleted by a call that somebody writes, not by a click",
    f"GET {TENANT}/api-keys/{{api_key_id}}": "the list has every member",
    f"PATCH {TENANT}/api-keys/{{api_key_id}}": "a key is replaced, not changed",
    f"GET {TENANT}/decisions": "a search has the same answer, and says nothing in its address",
    f"GET {TENANT}/definitions": "whole documents are for files under version control",
    f"PUT {TENANT}/definitions": "whole documents are for files under version control",
    f"POST {TENANT}/entity-definitions/health": "the keys of a saved definition are judged",
    f"POST {TENANT}/policies/{{policy_id}}/simulate": "an explanation shows a real event",
    f"DELETE {TENANT}/active-mitigations/{{entity_id}}": "the lift of many takes one, too",
    f"GET {TENANT}/alerts/{{alert_id}}": "the list has every member",
    f"GET {TENANT}/overrides/{{override_id}}": "the list has every member",
    f"PATCH {TENANT}/overrides/{{override_id}}": "one is ended and another made",
    f"GET {TENANT}/passes": "a pass is found by the decision that it followed",
    f"DELETE {TENANT}/passes/{{pass_id}}": "a pass is found by the decision that it followed",
}
"""Routes for operators that no page uses, each with the reason."""


def used() -> set[str]:
    """The calls in the sources."""
    found: set[str] = set()
    for path in (SOURCES / "src").rglob("*.ts*"):
        source = path.read_text()
        found.update(" ".join(call) for call in CALL.findall(source))
        found.update(f"GET {every}" for every in ALL.findall(source))
        for every, one in OBJECTS.findall(source):
            found.add(f"POST {every}")
            found.update(f"{method} {one}" for method in ("GET", "PATCH", "DELETE"))
    return found


def for_operators() -> set[str]:
    """The routes that an operator may call, without the older paths."""
    return {
        f"{method.upper()} {path}"
        for path, methods in DOCUMENT["paths"].items()
        if path.startswith(PREFIX)
        for method, route in methods.items()
        if {"operator": []} in route.get("security", ())
    }


def test_every_route_for_operators_has_a_page_or_a_reason() -> None:
    """A new route is shown somewhere, or somebody says why it is not."""
    assert for_operators() - used() == set(NOT_SHOWN)


def test_every_call_is_in_the_document() -> None:
    """The console calls nothing that the interface does not have."""
    assert used() - for_operators() == set()


def test_a_route_that_is_gone_breaks_the_build(tmp_path: Path, node: None) -> None:
    """Types of a document without a route refuse the sources that call it."""
    document = json.loads(json.dumps(DOCUMENT))
    gone = ("/traffic/match", "/actions/{action_id}", "/lists")
    for each in gone:
        del document["paths"][TENANT + each]
    changed = tmp_path / "openapi.json"
    changed.write_text(json.dumps(document))
    copy = tmp_path / "console"
    ignored = shutil.ignore_patterns("node_modules", "schema.d.ts")
    shutil.copytree(SOURCES, copy, ignore=ignored)
    (copy / "node_modules").symlink_to(SOURCES / "node_modules")
    made = copy / "src/api/schema.d.ts"
    generator = "node_modules/openapi-typescript/bin/cli.js"
    options = ["--default-non-nullable=false", "-o", str(made)]
    node_of([generator, str(changed), *options]).check_returncode()
    compiler = "node_modules/typescript/bin/tsc"
    done = node_of([compiler, "--noEmit", "--project", str(copy / "tsconfig.json")])
    assert done.returncode != 0
    assert all(f'{TENANT}{each}"' in done.stdout for each in gone), done.stdout


def test_the_types_are_those_of_the_document(tmp_path: Path, node: None) -> None:
    """The committed types are what the generator makes of the committed document."""
    made = tmp_path / "schema.d.ts"
    npm_run("types", TO=str(made))
    assert made.read_text() == (SOURCES / "src/api/schema.d.ts").read_text(), "npm run types"
