"""A data directory that an earlier version left, killed, and ``tidegate migrate`` carried over."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from click.testing import CliRunner
from tests.service import service_process
from tools import plain_http

from tidegate.cli.main import tidegate
from tidegate_server.directory.verification import Verification
from tidegate_server.operators.keys import load_keys
from tidegate_server.operators.tokens import Tokens

PACKED = Path(__file__).parents[1] / "data" / "directory-0003.tar.gz"
DEADLINE_SECONDS = 60.0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory as it was left, next to what its server answered."""
    place = tmp_path_factory.mktemp("carried")
    with tarfile.open(PACKED) as packed:
        packed.extractall(place, filter="data")
    for path in (place / "data", place / "data" / "keys"):
        path.chmod(0o700)
    return place


@pytest.fixture(scope="module")
def expected(place: Path) -> Any:
    """The answers of the earlier version."""
    return json.loads((place / "expected.json").read_text())


@pytest.fixture(scope="module")
def ask(place: Path, expected: Any, process: None) -> Iterator[Callable[..., Any]]:
    """Asks a server on the directory, once it is migrated."""
    directory = str(place / "data")
    serve = [sys.executable, "-m", "tidegate", "serve", "--store-directory", directory]
    refused = subprocess.run(serve, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "tidegate migrate" in refused.stderr
    done = CliRunner().invoke(tidegate, ["migrate", "--store-directory", directory])
    assert done.exit_code == 0, done.output
    keys = load_keys(place / "data" / "keys")
    token = Tokens(keys.signing, "tidegate").issue(UUID(expected["owner_id"]), int(time.time()))
    process, said = service_process.start("--store-directory", directory, log=place / "log")

    def ask(method: str, path: str, body: Any = None) -> Any:
        answer = plain_http.request(
            method,
            f"{said['base_url']}/api/v1/tenants/{expected['tenant_id']}/{path}",
            json=body,
            headers={"authorization": f"Bearer {token}"},
            timeout=60,
        )
        return answer.raise_for_status().json()

    yield ask
    service_process.stop(process)


def test_decisions_are_found_and_explained_as_before(
    ask: Callable[..., Any], expected: Any
) -> None:
    """The same search finds the same decisions, and each is reproduced."""
    assert [each["decision_id"] for each in ask("GET", "decisions?limit=60")] == expected["search"]
    for decision_id, before in expected["explanations"].items():
        now = ask("GET", f"decisions/{decision_id}/explain")
        assert now["reproduced"] is True
        assert now["recorded"] == before["recorded"]
        for member in ("action", "reason", "policy", "clause", "fired"):
            assert now["decision"][member] == before["decision"][member]
    for decision_id, before in expected["decisions"].items():
        now = ask("GET", f"decisions/{decision_id}")
        assert (now["answer"], now["event"]) == (before["answer"], before["event"])


NEW: dict[str, Any] = {"labels": {}}
"""Members of a policy that the earlier version didn't have, with their defaults."""


def test_definitions_and_audit_are_those_of_before(ask: Callable[..., Any], expected: Any) -> None:
    """Nothing is added but members of this version, and nothing is missing."""
    assert ask("GET", "policies") == [{**each, **NEW} for each in expected["policies"]]
    assert len(ask("GET", "audit?limit=200")) >= expected["audit"]


def test_audit_and_versions_are_in_the_present_form(ask: Callable[..., Any], expected: Any) -> None:
    """Objects that an earlier version kept are answered with ids, defaults and their tenant."""
    owned = {"tenant_id": expected["tenant_id"]}
    for entry in ask("GET", "audit?limit=200"):
        assert entry["actor_name"] is not None
        for kept in (entry["before"], entry["after"]):
            assert kept is None or kept | owned == kept, entry
            assert not [name for name in kept or () if name.endswith("_ns")]
    for policy in expected["policies"]:
        newest = ask("GET", f"policies/{policy['policy_id']}/versions")[0]
        assert newest["policy"] == {name: {**policy, **NEW}[name] for name in newest["policy"]}


def test_events_are_replayed_as_before(ask: Callable[..., Any], expected: Any) -> None:
    """The same definitions over the same events decide the same."""
    job = ask("POST", "replay-jobs", expected["wanted"])
    deadline = time.monotonic() + DEADLINE_SECONDS
    while job["status"] in ("queued", "running"):
        assert time.monotonic() < deadline, job
        time.sleep(0.05)
        job = ask("GET", f"replay-jobs/{job['replay_job_id']}")
    assert job["status"] == "done", job
    before = expected["replay"]["result"]
    assert {name: job["result"][name] for name in before} == before


def test_rows_without_checksums_are_verified_too(ask: Callable[..., Any], place: Path) -> None:
    """Rows of earlier versions are verified by their content."""
    del ask
    made = Verification(place / "data")
    assert list(made.findings()) == []
    assert made.decisions >= 320
