"""The examples of ``deploy/ci``: a plan as a comment, and a merge that applies it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import attrs
import pytest
from ruamel.yaml import YAML
from tests.service.service_process import Service, demonstration

CI = Path(__file__).parents[2] / "deploy" / "ci"
GITHUB = YAML(typ="safe").load((CI / "github.yml").read_text())
GITLAB = YAML(typ="safe").load((CI / "gitlab.yml").read_text())
NOTE = "/api/v4/projects/7/merge_requests/3/notes"
GH = """#!/bin/sh
[ "$*" = "pr comment 3 --edit-last --create-if-none --body-file comment.md" ] || exit 64
cp comment.md published.md
"""
"""In place of GitHub's own command, which only talks to GitHub."""


@attrs.frozen
class Checkout:
    """A clone of a repository with definitions, as a job has it."""

    directory: Path
    environment: dict[str, str]

    @property
    def definitions(self) -> Path:
        return self.directory / "definitions.yaml"

    def run(self, *lines: str, code: int = 0) -> str:
        """Run lines of a job, each of which has to succeed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def running(process: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose definitions these tests change."""
    with demonstration(tmp_path_factory.mktemp("ci") / "log") as made:
        yield made


@pytest.fixture
def checkout(running: Service, tmp_path: Path) -> Checkout:
    """The present definitions of the tenant, with what GitLab and GitHub give to jobs."""
    shutil.copy(CI / "plan.sh", tmp_path)
    (tmp_path / "gh").write_text(GH)
    (tmp_path / "gh").chmod(0o755)
    made = Checkout(
        tmp_path,
        {
            "PATH": f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "TIDEGATE_URL": running.base_url,
            "TIDEGATE_TOKEN": running.owner_token,
            "PULL_REQUEST": "3",
        },
    )
    made.run("tidegate export > definitions.yaml")
    return made


@pytest.fixture
def gitlab() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of an interface like GitLab's, and the notes that it was sent."""
    notes: list[dict[str, Any]] = []

    class Interface(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"])).decode()
            is_known = self.path == NOTE and self.headers["private-token"] == "glpat"
            notes.append({"is_known": is_known, **parse_qs(content)})
            self.send_response(201 if is_known else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Interface)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/api/v4", notes
    server.shutdown()
    server.server_close()


def step(name: str) -> str:
    """The lines of a step of GitHub's job."""
    return next(
        str(each["run"]) for each in GITHUB["jobs"]["tidegate"]["steps"] if each.get("name") == name
    )


def change(checkout: Checkout) -> None:
    """Change one definition."""
    text = checkout.definitions.read_text()
    assert "priority: " in text
    before = text.partition("priority: ")[2].split()[0]
    checkout.definitions.write_text(
        text.replace(f"priority: {before}", f"priority: {int(before) + 1}", 1)
    )


def test_a_pull_request_gets_its_plan_and_the_merge_applies_it(checkout: Checkout) -> None:
    """The comment names what changes; after the merge nothing is left to change."""
    change(checkout)
    checkout.run(step("Test"), step("Plan"), step("Comment"))
    comment = (checkout.directory / "published.md").read_text()
    assert comment.startswith("### Tidegate: Changes when merged\n\n    ")
    assert "\n    updated " in comment
    assert "\n      + priority: " in comment
    assert "1 would change" in comment
    checkout.run(step("Apply"))
    checkout.run(step("Plan"))
    comment = (checkout.directory / "comment.md").read_text()
    assert comment.startswith("### Tidegate: No changes\n\n    ")
    assert "\n    0 would change" in comment


def test_a_document_that_cannot_be_applied_fails_the_job_with_a_comment(
    checkout: Checkout,
) -> None:
    """The comment has the finding with its place, and can't be left by what a document says."""
    text = checkout.definitions.read_text()
    checkout.definitions.write_text(text + "```\n# <script>\nwrong: 1\n")
    checkout.run(step("Plan"), code=1)
    comment = (checkout.directory / "comment.md").read_text()
    assert comment.startswith("### Tidegate: Can't be applied\n\n    ")
    assert not [line for line in comment.splitlines()[2:] if line and line[:4] != "    "]
    checkout.run(step("Comment"))


def test_a_merge_request_gets_a_note_and_the_merge_applies_it(
    checkout: Checkout, gitlab: tuple[str, list[dict[str, Any]]]
) -> None:
    """The note is posted whether or not the plan fails, and a note that isn't taken fails."""
    url, notes = gitlab
    checkout.environment.update(
        {
            "CI_API_V4_URL": url,
            "CI_PROJECT_ID": "7",
            "CI_MERGE_REQUEST_IID": "3",
            "GITLAB_TOKEN": "glpat",
        }
    )
    change(checkout)
    checkout.run(*GITLAB["plan"]["script"])
    checkout.run(*GITLAB["plan"]["after_script"])
    (note,) = notes
    assert note["is_known"]
    assert note["body"][0].startswith("### Tidegate: Changes when merged")
    checkout.environment["GITLAB_TOKEN"] = "wrong"
    checkout.run(*GITLAB["plan"]["after_script"], code=22)
    checkout.run(*GITLAB["apply"]["script"])
    assert "No changes" in checkout.run("./plan.sh definitions.yaml comment.md; cat comment.md")


def test_what_a_comment_cannot_hold_is_cut(checkout: Checkout) -> None:
    """Interfaces refuse long comments; the log of the job has all of it."""
    (checkout.directory / "tidegate").write_text("#!/bin/sh\nseq 20000\nexit 2\n")
    (checkout.directory / "tidegate").chmod(0o755)
    assert checkout.run(step("Plan")).endswith("\n20000\n")
    comment = (checkout.directory / "comment.md").read_text()
    assert len(comment) < 65_536
    assert comment.endswith("(cut; see the log of the job)\n")
