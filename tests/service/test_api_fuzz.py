"""Schemathesis over every operation of the interface; ``make fuzz-api`` is the long run.

Here it sends what it derives from the document, some 70 cases of an operation, the same in each
run.  The long run also sends what it makes up.
"""

from __future__ import annotations

from pathlib import Path

from api_fuzzing import run

from tidegate_server.routing.routes import ROUTES

EXAMPLES = 5
"""Scenarios of calls after each other."""
PHASES = "examples,coverage,stateful"


def test_no_request_is_answered_in_a_way_that_is_not_documented(
    tmp_path: Path, process: None
) -> None:
    """Every answer to generated good and bad requests is a documented one."""
    done = run(tmp_path, EXAMPLES, "--seed", "1", "--workers", "2", "--phases", PHASES)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    count = sum(len(route.paths) for route in ROUTES)
    # All but the document's own operation, where the run begins.
    assert f"Tested: {count - 1}" in done.stdout
