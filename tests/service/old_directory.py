"""Makes a data directory and what its server answered, to be carried over by later versions.

Run in the checkout of the version that is to write it: ``python old_directory.py PLACE``.
"""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, ".")

from tests.faults.load import Call, send
from tests.faults.target import Target
from tests.faults.traffic import Traffic

DECISIONS = 320
SETTLE_SECONDS = 2.5
"""Until everything is indexed."""


def answers(target: Target) -> dict[str, Any]:
    """The answers of a server about its decisions."""

    def get(path: str) -> Any:
        return target.control("GET", f"{target.tenant}/{path}").json()

    found = [each["decision_id"] for each in get("decisions?limit=60")]
    now = datetime.now(UTC)
    wanted = {
        "since": f"{now - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}",
        "until": f"{now:%Y-%m-%dT%H:%M:%SZ}",
        "definitions": get("definitions"),
    }
    job = target.control("POST", f"{target.tenant}/replay-jobs", wanted).json()
    while job["status"] in ("queued", "running"):
        time.sleep(0.2)
        job = get(f"replay-jobs/{job['replay_job_id']}")
    return {
        "tenant_id": target.tenant_id,
        "owner_id": json.loads(base64.urlsafe_b64decode(target.token.split(".")[1] + "=="))["sub"],
        "wanted": wanted,
        "search": found,
        "explanations": {each: get(f"decisions/{each}/explain") for each in found[::6]},
        "decisions": {each: get(f"decisions/{each}") for each in found[::6]},
        "replay": job,
        "policies": get("policies"),
        "audit": len(get("audit?limit=200")),
    }


def main(place: Path) -> None:
    """Make ``data`` and ``expected.json`` in a new directory."""
    place.mkdir()
    target = Target.make(place / "data", place / "log")
    try:
        target.control("PATCH", target.tenant, {"settings": {"retention_days": 3_650}})
        traffic = Traffic(11)
        calls = [Call(*traffic.next()) for _ in range(DECISIONS)]
        asyncio.run(send(target.base_url, target.api_key, calls))
        time.sleep(SETTLE_SECONDS)
        (place / "expected.json").write_text(json.dumps(answers(target)))
    finally:
        target.end(signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
