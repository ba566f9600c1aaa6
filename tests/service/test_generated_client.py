"""A client that a generator makes of docs/openapi.json, used against a running service."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from service_process import Service

DOCUMENT = Path(__file__).parents[2] / "docs" / "openapi.json"
CALLS = Path(__file__).with_name("generated_client_calls.py")


def run(*command: str, path: Path) -> str:
    """The output of a program of this interpreter."""
    done = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "PYTHONPATH": str(path), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_a_generated_client_calls_the_service(service: Service, tmp_path: Path) -> None:
    """The generator takes every operation, and its client decides, lists, creates and is refused.

    It knows neither NDJSON nor YAML, for which it uses JSON, nor SVG.
    """
    settings = tmp_path / "settings.yaml"
    settings.write_text("post_hooks: []\n")
    package = tmp_path / "tidegate_client"
    said = run(
        "-m", "openapi_python_client", "generate", "--meta", "none",
        "--path", str(DOCUMENT), "--output-path", str(package), "--config", str(settings),
        path=tmp_path,
    )  # fmt: skip
    assert re.findall("WARNING parsing (.*) within", said) == [
        "POST /api/v1/beacon/events",
        "GET /login/mark.svg",
        "PUT /api/v1/tenants/{tenant_id}/definitions",
        "GET /api/v1/sync/snapshot",
        "POST /api/v1/sync/events",
    ]
    assert re.findall("Unsupported content type (.*)", said) == [
        "application/x-ndjson",
        "application/yaml",
    ]
    found = run(
        str(CALLS), service.base_url, service.tenant_id, service.api_key, service.owner_token,
        path=tmp_path,
    )  # fmt: skip
    assert json.loads(found) == {
        "probes": ["allow", "allow", "block"],
        "statuses": [200, 422],
        "pointers": ["/request/path"],
        "refused": "empty-payload",
        "policies": ["known-crawlers-pass", "scanners"],
        "action": ["made_by_a_generated_client", 1, service.tenant_id],
    }
