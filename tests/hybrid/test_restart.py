"""A daemon that goes on where it was when its service was ended and started again."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from tests.hybrid.running import Service, service, wait_for

KEPT = ("items", "sequence", "hash", "previous_hash")


def changes(origin: Service, after: int, least: int = 0) -> dict[str, Any]:
    """Changes after a number, once there are enough."""

    def found() -> Any:
        answer = origin.sync("GET", f"/changes?after={after}&wait=0")
        if answer.status_code == 503:
            # After a start, until the tenant is loaded.
            assert answer.json()["code"] == "not-ready", answer.text
            return False
        assert answer.status_code == 200, answer.text
        read = answer.json()
        return len(read["items"]) >= least and {name: read[name] for name in KEPT}

    made: dict[str, Any] = wait_for(found)
    return made


def test_changes_have_the_same_numbers_and_hashes_after_a_restart(
    tmp_path: Path, process: None
) -> None:
    """After a kill or a stop the changes are the same: definitions, blocks and a lift."""
    with service(tmp_path) as own:
        start = own.sync("GET", "/snapshot").json()["sequence"]
        for turn, number in enumerate((signal.SIGKILL, signal.SIGTERM)):
            before = changes(own, start)
            own.make_policy(f"Turn {turn}", f"/turn-{turn}", 1)
            for last in range(3):
                address = f"198.51.100.{10 * turn + last}"
                own.decide({"request": {"path": f"/turn-{turn}", "client_ip": address}})
            lifted = own.call("GET", "/active-mitigations?limit=500")[0]
            own.call("DELETE", f"/active-mitigations/{lifted['entity_id']}")
            made = changes(own, start, len(before["items"]) + 5)
            own.restart(number)
            assert changes(own, start) == made
