"""``tidegate serve``, as a process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tools import plain_http

from tidegate_server.cli.service.serve import invitation
from tidegate_server.demo import Demo


@pytest.mark.parametrize("workers", [1, 2])
def test_the_demonstration_decides(workers: int, process: None) -> None:
    """The call that it prints is answered, whether one process serves or several do."""
    serve = [sys.executable, "-m", "tidegate", "serve", "--demo", "--json", "--server-port", "0"]
    command = [*serve, "--server-workers", str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            printed = json.loads(process.stdout.readline())
            answer = plain_http.post(
                f"{printed['base_url']}/api/v1/runtime/mitigation",
                json={"request": {"path": "/", "client_ip": "192.0.2.7"}},
                headers={"x-service-api-key": printed["api_key"]},
                timeout=30,
            )
        finally:
            process.terminate()
    assert answer.status_code == 200, answer.text
    assert answer.json()["action"]["type"] == "allow"
    assert process.returncode == 0


def test_the_demonstration_leads_to_a_console_only_where_one_is_built() -> None:
    """Without a console the printed lines say how to build one, and have no link to nothing."""
    demo = Demo(
        base_url="http://127.0.0.1:8080",
        tenant_id="t",
        api_key="k",
        sync_api_key="s",
        owner_token="o",
    )
    assert "/console/#access_token=o" in invitation(demo, has_console=True)
    said = invitation(demo, has_console=False)
    assert "/console/" not in said
    assert "make console" in said
