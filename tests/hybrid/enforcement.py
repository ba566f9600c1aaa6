"""Capture and enforcement between three machines: who visits, the site, and the service.

``python -m tests.hybrid.enforcement`` prints what was seen; exit code 1 when a bound does not hold.
Needs root, for namespaces and the packet filter.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tools.network import Machine, join, machines

REQUESTS, RATE = 25_000, 5_000
ENTRIES = 100_000
VISITOR, SITE, SERVICE = "10.78.0.2", "10.78.0.1", "10.77.0.2"
NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{ access_log off; keepalive_requests 1000000;
    server {{ listen 80; location / {{ return 200 "ok"; }} }} }}
"""
PYTHON = sys.executable


def main() -> int:
    """Run all, and print the figures."""
    with TemporaryDirectory() as name, machines("visitor", "site", "service") as made:
        folder = Path(name)
        visitor, site, service = made["visitor"], made["site"], made["service"]
        join(site, visitor, "10.78.0", ("eth0", "eth0"))
        join(site, service, "10.77.0", ("eth1", "eth0"))
        figures: dict[str, Any] = {"load": load_entries(site)}
        running = serve(service, folder)
        try:
            figures |= capture(visitor, site, service, folder, running["said"])
        finally:
            end(running["process"])
    print(json.dumps(figures, indent=1))
    holds = (
        figures["load"]["seconds"] < 2
        and figures["load"]["listed"] == ENTRIES
        and figures["capture"]["requests"] == figures["sent"]["sent"] + 1  # and the last probe
        and figures["dropped_after"] < 2
        and figures["let_in_after"] < 2
    )
    return 0 if holds else 1


def load_entries(site: Machine) -> dict[str, Any]:
    """The time to fill the sets."""
    code = (
        "import os,time,json\n"
        "from ipaddress import ip_address\n"
        "from tidegate.enforcement.nftables import Firewall\n"
        "from tidegate.enforcement.blocks import Change\n"
        "f=Firewall(); f.set_up(); now=time.time_ns(); first=int(ip_address('100.64.0.0'))\n"
        f"c=[Change(ip_address(first+i), now+600*10**9) for i in range({ENTRIES})]\n"
        "t=time.perf_counter(); n=f.replace(c, now); s=time.perf_counter()-t\n"
        "o=sum(os.times()[:4])\n"
        # A list misses entries while the kernel still enlarges its table.
        "while (l:=len(f.listed())) < n and time.perf_counter()-t < 30: time.sleep(0.2)\n"
        "print(json.dumps({'entries': n, 'listed': l, 'seconds': round(s, 2),"
        " 'processor_seconds_with_start': round(o, 2)}))\n"
        "f.remove()"
    )
    done = site.run(PYTHON, "-c", code, timeout=120)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def serve(service: Machine, folder: Path) -> dict[str, Any]:
    """The service, and what it says of itself."""
    process = service.start(
        PYTHON, "-m", "tidegate", "serve", "--demo", "--json", "--host", SERVICE, "--port", "8080",
        "--server-behind-proxy", "--store-directory", str(folder / "service"),
        "--server-public-url", f"http://{SERVICE}:8080",
        stdout=subprocess.PIPE, stderr=(folder / "service.log").open("wb"),
    )  # fmt: skip
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError((folder / "service.log").read_text()[-2000:])
    return {"process": process, "said": json.loads(line)}


def call(machine: Machine, method: str, url: str, headers: dict[str, str], body: Any = None) -> Any:
    """A call from within a machine."""
    code = (
        "import sys,json,urllib.request as u\n"
        "m,url,h,b=json.loads(sys.stdin.read())\n"
        "r=u.Request(url,None if b is None else json.dumps(b).encode(),h,method=m)\n"
        "a=u.urlopen(r,timeout=20).read(); sys.stdout.write(a.decode())"
    )
    given = json.dumps([method, url, {"content-type": "application/json", **headers}, body])
    done = machine.run(PYTHON, "-c", code, input=given)
    if done.returncode:
        raise RuntimeError(done.stderr[-1500:])
    return json.loads(done.stdout) if done.stdout else None


def capture(
    visitor: Machine, site: Machine, service: Machine, folder: Path, said: dict[str, str]
) -> dict[str, Any]:
    """Requests seen, a visitor dropped, and let in again."""
    home, base = folder / "home", f"http://{SERVICE}:8080"
    environment = {
        **os.environ,
        "TIDEGATE_HOME": str(home),
        "TIDEGATE_DAEMON_ALLOW_HTTP": "true",
        "TIDEGATE_CAPTURE_PER_MINUTE": "3000",
    }
    tidegate = (PYTHON, "-m", "tidegate")
    site.run(
        *tidegate, "init", "--api-base", base, "--api-key", said["sync_api_key"],
        "--tenant-id", said["tenant_id"], env=environment, check=True,
    )  # fmt: skip
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder))
    nginx = site.start("nginx", "-c", str(folder / "nginx.conf"))
    api = f"{base}/api/v1/tenants/{said['tenant_id']}"
    owner = {"authorization": f"Bearer {said['owner_token']}"}
    block_by_address(service, api, owner)
    capturing = site.start(
        *tidegate, "capture", "run", "--interface", "eth0", "--filter", "tcp dst port 80",
        "--enforce", "--stats", "--json", env=environment,
        stdout=subprocess.PIPE, stderr=(folder / "capture.log").open("wb"),
    )  # fmt: skip
    try:
        figures = watch(visitor, site, service, folder, said, capturing)
        capturing.send_signal(signal.SIGTERM)
        out, _ = capturing.communicate(timeout=30)
        figures["capture"] = json.loads(out)
        figures["table_after_stop"] = site.run("nft", "list", "tables").stdout.strip()
        return figures
    finally:
        end(capturing)
        end(nginx)


def watch(
    visitor: Machine,
    site: Machine,
    service: Machine,
    folder: Path,
    said: dict[str, str],
    capturing: subprocess.Popen[bytes],
) -> dict[str, Any]:
    """Requests that are seen, a visitor who is dropped and let in again, and what that took."""
    base = f"http://{SERVICE}:8080"
    wait_for(lambda: "the firewall is level" in (folder / "capture.log").read_text(), 60)
    busy = processor_seconds(capturing.pid)
    sent = visitor.run(
        PYTHON, "-m", "tests.hybrid.load", SITE, "80", str(REQUESTS), str(RATE), timeout=120
    )
    figures: dict[str, Any] = {"sent": json.loads(sent.stdout)}
    figures["capture_processor_seconds"] = round(processor_seconds(capturing.pid) - busy, 2)
    started = time.monotonic()
    key = {"x-service-api-key": said["api_key"]}
    event = {"request": {"path": "/refused", "client_ip": VISITOR}}
    answer = call(service, "POST", f"{base}/api/v1/runtime/mitigation", key, event)
    assert answer["action"]["type"] == "block", answer
    wait_for(lambda: not reaches(visitor), 10)
    figures["dropped_after"] = round(time.monotonic() - started, 2)
    figures["reaches_others"] = site.run(
        "nft", "list", "set", "inet", "tidegate", "blocked4"
    ).stdout.count("expires")
    ends = started + 8
    wait_for(lambda: reaches(visitor), 20)
    figures["let_in_after"] = round(max(0.0, time.monotonic() - ends), 2)
    return figures


def processor_seconds(process_id: int) -> float:
    """The processor time of a process so far."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def block_by_address(service: Machine, api: str, owner: dict[str, str]) -> None:
    """A policy that blocks an address for eight seconds."""
    entity = {"name": "By address", "priority": 1, "key_fields": ["request.client_ip"]}
    made = call(service, "POST", f"{api}/entity-definitions", owner, entity)
    refuse = {"name": "Out", "mode": "Block", "ttl_seconds": 8}
    mitigation = call(service, "POST", f"{api}/mitigations", owner, refuse)
    clause = {
        "name": "any",
        "entity_definition_id": made["entity_definition_id"],
        "mitigation_id": mitigation["mitigation_id"],
    }
    policy = {
        "name": "Refused path",
        "status": "active",
        "expression": 'request.path == "/refused"',
        "clauses": [clause],
    }
    call(service, "POST", f"{api}/policies", owner, policy)


def reaches(visitor: Machine) -> bool:
    """Whether the site answers a visitor."""
    code = (
        f"import socket\ns=socket.create_connection(('{SITE}',80),0.3)\ns.settimeout(0.3)\n"
        "s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')\nassert s.recv(10)"
    )
    return visitor.run("python3", "-S", "-c", code).returncode == 0


def wait_for(holds: Any, seconds: float) -> None:
    """Return when something holds; an error when it does not in time."""
    end_at = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end_at:
            raise TimeoutError("it did not come to hold")
        time.sleep(0.05)


def end(process: subprocess.Popen[bytes]) -> None:
    """Stop a process of ours."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()


if __name__ == "__main__":
    sys.exit(main())
