"""A site behind nginx, which asks the daemon next to it; the service is on another machine.

``python -m tests.hybrid.site`` prints what was seen; exit code 1 when something does not hold.
Needs root, for namespaces.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.hybrid.enforcement import PYTHON, SERVICE, call, end, serve, wait_for
from tools.network import Machine, join, machines

NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    server {{
        listen 127.0.0.1:80;
        location / {{ auth_request /decide; error_page 401 500 = @refused; root {folder}/www; }}
        location @refused {{ return 403 "refused"; }}
        location = /decide {{
            internal;
            proxy_pass http://127.0.0.1:9411/authz;
            proxy_pass_request_body off;
            proxy_set_header content-length "";
            proxy_set_header x-original-method $request_method;
            proxy_set_header x-original-url http://shop.example.test$request_uri;
            proxy_set_header x-forwarded-for $http_x_visitor;
        }}
    }}
}}
"""


def main() -> int:
    """Run all, and print the figures."""
    with TemporaryDirectory() as name, machines("site", "service") as made:
        folder = Path(name)
        folder.chmod(0o755)
        site, service = made["site"], made["service"]
        join(site, service, "10.77.0", ("eth0", "eth0"))
        running = serve(service, folder)
        started: list[subprocess.Popen[bytes]] = []
        try:
            figures = watch(site, service, folder, running["said"], started)
        finally:
            for process in (*started, running["process"]):
                end(process)
    print(json.dumps(figures, indent=1))
    return 0 if figures["holds"] else 1


def watch(
    site: Machine,
    service: Machine,
    folder: Path,
    said: dict[str, str],
    started: list[subprocess.Popen[bytes]],
) -> dict[str, Any]:
    """The answers of the site while the service changes, and after the link is cut."""
    base = f"http://{SERVICE}:8080"
    environment = {
        **os.environ,
        "TIDEGATE_HOME": str(folder / "home"),
        "TIDEGATE_DAEMON_ALLOW_HTTP": "true",
    }
    tidegate = (PYTHON, "-m", "tidegate")
    site.run(
        *tidegate, "init", "--api-base", base, "--api-key", said["sync_api_key"],
        "--tenant-id", said["tenant_id"], env=environment, check=True,
    )  # fmt: skip
    (folder / "www").mkdir()
    for page in ("index.html", "window", "closed"):
        (folder / "www" / page).write_text("ok")
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder))
    log = (folder / "daemon.log").open("wb")
    started.append(site.start(*tidegate, "run", "--json", env=environment, stderr=log,
                              stdout=subprocess.DEVNULL))  # fmt: skip
    started.append(site.start("nginx", "-c", str(folder / "nginx.conf")))
    wait_for(lambda: get(site, "/", "192.0.2.1") == 200, 60)
    api = f"{base}/api/v1/tenants/{said['tenant_id']}"
    owner = {"authorization": f"Bearer {said['owner_token']}"}
    begun = policy(service, api, owner, "Closed", "/closed", None)
    wait_for(lambda: get(site, "/closed", "192.0.2.2") == 403, 20)
    figures: dict[str, Any] = {"policy_takes_effect_after": round(time.monotonic() - begun, 2)}
    policy(service, api, owner, "Window", "/window", 3)
    time.sleep(2)
    answers = [get(site, "/window", "192.0.2.3") for _ in range(5)]
    figures["window_of_three"] = answers
    site.link("eth0", "down")
    figures["without_the_service"] = [
        get(site, "/window", "192.0.2.3"),
        get(site, "/", "192.0.2.4"),
    ]
    site.link("eth0", "up")
    asked = 5
    wait_for(lambda: decided(site) and not decided(site)["spooled"], 90)
    own = decided(site)["decided"]
    path = f"{api}/decisions?path=/window&limit=500"
    recorded = call(service, "GET", path, owner)
    figures["decisions_of_the_window"] = {"site": asked + 1, "service": len(recorded)}
    figures["daemon_decided"] = own
    figures["daemons"] = call(service, "GET", f"{api}/daemons", owner)
    figures["holds"] = (
        answers == [200, 200, 403, 403, 403]
        and figures["without_the_service"] == [403, 200]
        and len(recorded) == asked + 1
        and figures["policy_takes_effect_after"] < 2
    )
    return figures


def policy(
    service: Machine, api: str, owner: dict[str, str], name: str, path: str, threshold: int | None
) -> float:
    """A policy that refuses a path, at once or after some requests; when it was saved."""
    body = {"name": name, "priority": 1, "key_fields": ["request.client_ip"]}
    entity = call(service, "POST", f"{api}/entity-definitions", owner, body)
    refuse = {"name": name, "mode": "Block", "ttl_seconds": 0 if threshold is None else 60}
    mitigation = call(service, "POST", f"{api}/mitigations", owner, refuse)
    clause: dict[str, Any] = {
        "name": "all",
        "entity_definition_id": entity["entity_definition_id"],
        "mitigation_id": mitigation["mitigation_id"],
    }
    if threshold is not None:
        clause["window"] = {"duration_seconds": 60, "threshold": threshold}
    made = {
        "name": name,
        "status": "active",
        "expression": f'request.path == "{path}"',
        "clauses": [clause],
    }
    call(service, "POST", f"{api}/policies", owner, made)
    return time.monotonic()


def get(site: Machine, path: str, visitor: str) -> int:
    """The status that the site answers a visitor with."""
    words = ("curl", "-s", "-o", "/dev/null", "-m", "5", "-w", "%{http_code}")
    done = site.run(*words, "-H", f"x-visitor: {visitor}", f"http://127.0.0.1{path}")
    return int(done.stdout or 0)


def decided(site: Machine) -> dict[str, Any]:
    """The daemon's status; empty when it does not answer."""
    done = site.run("curl", "-s", "-m", "5", "http://127.0.0.1:9411/status")
    return json.loads(done.stdout) if done.stdout else {}


if __name__ == "__main__":
    sys.exit(main())
