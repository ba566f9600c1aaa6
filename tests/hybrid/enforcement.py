"""Capture and enforcement between three machines: who visits, the site, and the service.

``python -m tests.hybrid.enforcement`` prints what was seen; exit code 1 when a bound does not hold.
With ``--hostile SECONDS`` a hostile sender is on the link for so long, and the capture is killed at
the end.  Needs root, for namespaces and the packet filter.
"""

from __future__ import annotations

import argparse
import json
import os
import re
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
    parser = argparse.ArgumentParser()
    parser.add_argument("--hostile", type=float, metavar="SECONDS")
    seconds = parser.parse_args().hostile
    if seconds is not None:
        return hostile_main(seconds)
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
        "f=Firewall((80,)); f.set_up(); now=time.time_ns(); first=int(ip_address('100.64.0.0'))\n"
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


VISITORS = {
    "gateway": "10.78.0.2",
    "bad": "10.78.0.3",
    "named": "10.78.0.6",
    "operator": "10.78.0.7",
    "innocent": "10.78.0.8",
}
"""Addresses of the visitor's machine, by what they are to the site."""
STRANGER = "203.0.113.77"
"""Has never sent anything to the site."""
OTHER_PORT = 2222
SSH_SERVER = """
import socket, sys, threading
def answer(connection):
    while data := connection.recv(100):
        connection.sendall(data)
def listen(port):
    listening = socket.create_server(("0.0.0.0", port))
    while True:
        threading.Thread(target=answer, args=[listening.accept()[0]], daemon=True).start()
for port in map(int, sys.argv[1:]):
    threading.Thread(target=listen, args=[port]).start()
"""
SSH_CLIENT = """
import socket, sys
own, to, port = sys.argv[1:]
connection = socket.create_connection((to, int(port)), 10, (own, 0))
print("open", flush=True)
for line in sys.stdin:
    connection.settimeout(10)
    connection.sendall(b"x")
    print(connection.recv(1).decode(), flush=True)
"""


def hostile_main(seconds: float) -> int:
    """Have a hostile sender on the link, and print the figures."""
    figures = hostile(seconds)
    print(json.dumps(figures, indent=1))
    holds = (
        figures["dropped"] == [VISITORS["bad"]]
        and figures["refused_wrongly"] == []
        and figures["counted_of_made_up"] == 0
        and figures["sessions_go_on"] == ["operator", "bad"]
        and figures["all_flows_after_kill"] < 60
        and figures["dry_run"] == {"would_drop": [VISITORS["bad"]], "tables": ""}
    )
    return 0 if holds else 1


def hostile(seconds: float) -> dict[str, Any]:
    """What the firewall does while a hostile sender is on the link, and after a kill."""
    with TemporaryDirectory() as name, machines("visitor", "site", "service") as made:
        folder = Path(name)
        visitor, site, service = made["visitor"], made["site"], made["service"]
        join(site, visitor, "10.78.0", ("eth0", "eth0"))
        join(site, service, "10.77.0", ("eth1", "eth0"))
        for address in VISITORS.values():
            visitor.run("ip", "addr", "add", f"{address}/24", "dev", "eth0")
        site.run("ip", "route", "add", "default", "via", VISITORS["gateway"], check=True)
        running = serve(service, folder)
        started = [running["process"]]
        try:
            return _hostile(visitor, site, service, folder, running["said"], started, seconds)
        finally:
            for each in reversed(started):
                end(each)


def _hostile(
    visitor: Machine,
    site: Machine,
    service: Machine,
    folder: Path,
    said: dict[str, str],
    started: list[subprocess.Popen[bytes]],
    seconds: float,
) -> dict[str, Any]:
    base = f"http://{SERVICE}:8080"
    environment = {
        **os.environ,
        "TIDEGATE_HOME": str(folder / "home"),
        "TIDEGATE_DAEMON_ALLOW_HTTP": "true",
        "TIDEGATE_CAPTURE_NEVER": f"{VISITORS['named']}/32, 10.66.0.0/16",
    }
    tidegate = (PYTHON, "-m", "tidegate")
    site.run(
        *tidegate, "init", "--api-base", base, "--api-key", said["sync_api_key"],
        "--tenant-id", said["tenant_id"], env=environment, check=True,
    )  # fmt: skip
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder))
    started.append(site.start("nginx", "-c", str(folder / "nginx.conf")))
    started.append(site.start(PYTHON, "-c", SSH_SERVER, "22", str(OTHER_PORT)))
    api = f"{base}/api/v1/tenants/{said['tenant_id']}"
    owner = {"authorization": f"Bearer {said['owner_token']}"}
    block_by_address(service, api, owner, seconds=3_600)
    command = (*tidegate, "capture", "run", "--interface", "eth0", "--enforce")
    key = {"x-service-api-key": said["api_key"]}

    def block(address: str) -> None:
        event = {"request": {"path": "/refused", "client_ip": address}}
        call(service, "POST", f"{base}/api/v1/runtime/mitigation", key, event)

    block(VISITORS["bad"])
    figures = dry_run(visitor, site, environment, command, folder)
    with (folder / "capture.log").open("wb") as log:
        capturing = site.start(*command, env=environment, stderr=log)
    started.append(capturing)
    wait_for(lambda: "the firewall is level" in (folder / "capture.log").read_text(), 60)
    sessions = {
        name: visitor.start(
            PYTHON, "-c", SSH_CLIENT, VISITORS[name], SITE, str(port),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for name, port in (("operator", 22), ("bad", OTHER_PORT))
    }  # fmt: skip
    started += sessions.values()
    for each in sessions.values():
        assert each.stdout is not None
        assert each.stdout.readline() == b"open\n"

    # Everybody visits, and everybody is blocked, whoever sent what.
    servers = re.findall(r"^nameserver (\S+)", Path("/etc/resolv.conf").read_text(), re.MULTILINE)
    never = {
        "127.0.0.1", SITE, "10.77.0.1", SERVICE, "10.66.0.9", *servers,
        *(VISITORS[name] for name in ("gateway", "named", "operator")),
    }  # fmt: skip
    others = [*never, VISITORS["innocent"], STRANGER]
    for name in ("gateway", "named", "operator", "innocent"):
        assert reaches(visitor, VISITORS[name]), name
    for address in (*never, STRANGER):
        block(address)

    link = site.run("cat", "/sys/class/net/eth0/address").stdout.strip()
    senders = [each for each in others if ":" not in each]
    sending = visitor.start(
        PYTHON, "-m", "tests.hybrid.hostile", "eth0", link, SITE, str(seconds), *senders,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    started.append(sending)
    dropped: set[str] = set()

    def look() -> bool:
        dropped.update(elements(site))
        return sending.poll() is not None

    wait_for(lambda: look() or not reaches(visitor, VISITORS["bad"]), 60)
    wait_for(look, seconds + 60)
    assert sending.stdout is not None
    figures |= json.loads(sending.stdout.read())
    figures["dropped"] = sorted(dropped)
    figures["refused_wrongly"] = [
        name for name, each in VISITORS.items() if name != "bad" and not reaches(visitor, each)
    ]
    made_up = call(service, "GET", f"{api}/decisions?path=/made-up&limit=500", owner)
    figures["counted_of_made_up"] = len(made_up)
    figures["sessions_go_on"] = [name for name, each in sessions.items() if goes_on(each)]
    killed = time.monotonic()
    capturing.send_signal(signal.SIGKILL)
    capturing.wait()
    wait_for(lambda: reaches(visitor, VISITORS["bad"]), 90)
    figures["all_flows_after_kill"] = round(time.monotonic() - killed, 1)
    return figures


def dry_run(
    visitor: Machine,
    site: Machine,
    environment: dict[str, str],
    command: tuple[str, ...],
    folder: Path,
) -> dict[str, Any]:
    """Who would be dropped, and the tables while that is printed."""
    said = folder / "dry-run.jsonl"
    with said.open("wb") as out, (folder / "dry-run.log").open("wb") as log:
        running = site.start(*command, "--dry-run", env=environment, stdout=out, stderr=log)
    try:
        wait_for(lambda: "never_dropped" in said.read_text(), 60)

        def is_named() -> bool:
            assert reaches(visitor, VISITORS["bad"])
            return "would_drop" in said.read_text()

        wait_for(is_named, 60)
        tables = site.run("nft", "list", "tables").stdout.strip()
    finally:
        end(running)
    lines = [json.loads(line) for line in said.read_text().splitlines()]
    named = [line["would_drop"] for line in lines if "would_drop" in line]
    never = lines[0]["never_dropped"]
    assert {"127.0.0.0/8", SITE, SERVICE, VISITORS["gateway"], "10.66.0.0/16"} <= set(never), never
    return {"dry_run": {"would_drop": named, "tables": tables}}


def elements(site: Machine) -> set[str]:
    """The addresses in the firewall's sets."""
    listed = site.run("nft", "-j", "list", "table", "inet", "tidegate").stdout
    return set(re.findall(r'"val": "([0-9a-f.:]+)"', listed))


def goes_on(session: subprocess.Popen[bytes]) -> bool:
    """Whether a session that is open answers."""
    assert session.stdin is not None
    assert session.stdout is not None
    session.stdin.write(b"\n")
    session.stdin.flush()
    return session.stdout.readline() == b"x\n"


def processor_seconds(process_id: int) -> float:
    """The processor time of a process so far."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def block_by_address(service: Machine, api: str, owner: dict[str, str], seconds: int = 8) -> None:
    """A policy that blocks an address for some seconds."""
    entity = {"name": "By address", "priority": 1, "key_fields": ["request.client_ip"]}
    made = call(service, "POST", f"{api}/entity-definitions", owner, entity)
    refuse = {"name": "Out", "mode": "Block", "ttl_seconds": seconds}
    mitigation = call(service, "POST", f"{api}/mitigations", owner, refuse)
    clause = {
        "name": "any",
        "entity_definition_id": made["entity_definition_id"],
        "mitigation_id": mitigation["mitigation_id"],
    }
    policy = {
        "name": "Refused path",
        "status": "active",
        "expression": 'request.path == "/refused" || request.path == "/made-up"',
        "clauses": [clause],
    }
    call(service, "POST", f"{api}/policies", owner, policy)


def reaches(visitor: Machine, own: str = VISITOR) -> bool:
    """Whether the site answers a visitor under an address of its own."""
    code = (
        f"import socket\ns=socket.create_connection(('{SITE}',80),0.5,('{own}',0))\n"
        "s.settimeout(0.5)\n"
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
