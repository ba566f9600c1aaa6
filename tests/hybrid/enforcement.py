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

import attrs
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
        "from tidegate_server.enforcement.nftables import Firewall\n"
        "from tidegate_server.enforcement.blocks import Change\n"
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
        PYTHON, "-m", "tidegate", "serve", "--demo", "--no-demo-traffic", "--json",
        "--host", SERVICE, "--port", "8080",
        "--server-behind-proxy",
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
    """The figures of the firewall while a hostile sender is on the link, and after a kill."""
    with TemporaryDirectory() as name, machines("visitor", "site", "service") as made:
        visitor, site, service = made["visitor"], made["site"], made["service"]
        join(site, visitor, "10.78.0", ("eth0", "eth0"))
        join(site, service, "10.77.0", ("eth1", "eth0"))
        for address in VISITORS.values():
            visitor.run("ip", "addr", "add", f"{address}/24", "dev", "eth0")
        site.run("ip", "route", "add", "default", "via", VISITORS["gateway"], check=True)
        running = serve(service, Path(name))
        link = _HostileLink(visitor, site, service, Path(name), running["said"])
        link.started.append(running["process"])
        try:
            link.set_up()
            figures = link.dry_run()
            capturing = link.capture()
            sessions = link.open_sessions()
            figures |= link.attack(seconds)
            figures["sessions_go_on"] = [name for name, each in sessions.items() if goes_on(each)]
            killed = time.monotonic()
            capturing.send_signal(signal.SIGKILL)
            capturing.wait()
            wait_for(lambda: reaches(visitor, VISITORS["bad"]), 90)
            figures["all_flows_after_kill"] = round(time.monotonic() - killed, 1)
            return figures
        finally:
            for each in reversed(link.started):
                end(each)


@attrs.define
class _HostileLink:
    """A site whose visitors are all on one link, with somebody who makes up their requests."""

    visitor: Machine
    site: Machine
    service: Machine
    folder: Path
    said: dict[str, str]
    started: list[subprocess.Popen[bytes]] = attrs.field(factory=list)
    command: tuple[str, ...] = (
        PYTHON, "-m", "tidegate", "capture", "run", "--interface", "eth0", "--enforce",
    )  # fmt: skip

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "TIDEGATE_HOME": str(self.folder / "home"),
            "TIDEGATE_DAEMON_ALLOW_HTTP": "true",
            "TIDEGATE_CAPTURE_NEVER": f"{VISITORS['named']}/32, 10.66.0.0/16",
        }

    @property
    def api(self) -> str:
        return f"http://{SERVICE}:8080/api/v1/tenants/{self.said['tenant_id']}"

    @property
    def owner(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.said['owner_token']}"}

    def set_up(self) -> None:
        """A site on port 80, sessions on two others, and a Block on one visitor."""
        self.site.run(
            PYTHON, "-m", "tidegate", "init", "--api-base", f"http://{SERVICE}:8080",
            "--api-key", self.said["sync_api_key"], "--tenant-id", self.said["tenant_id"],
            env=self.environment, check=True,
        )  # fmt: skip
        (self.folder / "nginx.conf").write_text(NGINX.format(folder=self.folder))
        self.started.append(self.site.start("nginx", "-c", str(self.folder / "nginx.conf")))
        listening = self.site.start(PYTHON, "-c", SSH_SERVER, "22", str(OTHER_PORT))
        self.started.append(listening)
        block_by_address(self.service, self.api, self.owner, seconds=3_600)
        self.block(VISITORS["bad"])

    def block(self, address: str) -> None:
        """Have the service block an address, whoever sent what."""
        url = f"http://{SERVICE}:8080/api/v1/runtime/mitigation"
        event = {"request": {"path": "/refused", "client_ip": address}}
        call(self.service, "POST", url, {"x-service-api-key": self.said["api_key"]}, event)

    def dry_run(self) -> dict[str, Any]:
        """The addresses that would be dropped, and the tables while those are printed."""
        said = self.folder / "dry-run.jsonl"
        with said.open("wb") as out, (self.folder / "dry-run.log").open("wb") as log:
            command = (*self.command, "--dry-run")
            running = self.site.start(*command, env=self.environment, stdout=out, stderr=log)
        try:
            wait_for(lambda: "never_dropped" in said.read_text(), 60)

            def is_named() -> bool:
                assert reaches(self.visitor, VISITORS["bad"])
                return "would_drop" in said.read_text()

            wait_for(is_named, 60)
            tables = self.site.run("nft", "list", "tables").stdout.strip()
        finally:
            end(running)
        lines = [json.loads(line) for line in said.read_text().splitlines()]
        named = [line["would_drop"] for line in lines if "would_drop" in line]
        never = lines[0]["never_dropped"].keys()
        assert {"127.0.0.0/8", SITE, SERVICE, VISITORS["gateway"], "10.66.0.0/16"} <= never, never
        return {"dry_run": {"would_drop": named, "tables": tables}}

    def capture(self) -> subprocess.Popen[bytes]:
        """Enforce."""
        path = self.folder / "capture.log"
        with path.open("wb") as log:
            capturing = self.site.start(*self.command, env=self.environment, stderr=log)
        self.started.append(capturing)
        wait_for(lambda: "the firewall is level" in path.read_text(), 60)
        return capturing

    def open_sessions(self) -> dict[str, subprocess.Popen[bytes]]:
        """Connections to ports that are not watched."""
        sessions = {
            name: self.visitor.start(
                PYTHON, "-c", SSH_CLIENT, VISITORS[name], SITE, str(port),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )
            for name, port in (("operator", 22), ("bad", OTHER_PORT))
        }  # fmt: skip
        self.started += sessions.values()
        for each in sessions.values():
            assert each.stdout is not None
            assert each.stdout.readline() == b"open\n"
        return sessions

    def attack(self, seconds: float) -> dict[str, Any]:
        """Block everybody who is never dropped, and make up requests of them and of others."""
        resolvers = Path("/etc/resolv.conf").read_text()
        never = {
            "127.0.0.1", SITE, "10.77.0.1", SERVICE, "10.66.0.9",
            *re.findall(r"^nameserver ([0-9.]+)$", resolvers, re.MULTILINE),
            *(VISITORS[name] for name in ("gateway", "named", "operator")),
        }  # fmt: skip
        for name in ("gateway", "named", "operator", "innocent"):
            assert reaches(self.visitor, VISITORS[name]), name
        for address in (*never, STRANGER):
            self.block(address)
        link = self.site.run("cat", "/sys/class/net/eth0/address").stdout.strip()
        sending = self.visitor.start(
            PYTHON, "-m", "tests.hybrid.hostile", "eth0", link, SITE, str(seconds),
            *never, VISITORS["innocent"], STRANGER, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.started.append(sending)
        dropped: set[str] = set()

        def look() -> bool:
            dropped.update(elements(self.site))
            return sending.poll() is not None

        wait_for(lambda: look() or not reaches(self.visitor, VISITORS["bad"]), 60)
        wait_for(look, seconds + 60)
        assert sending.stdout is not None
        figures: dict[str, Any] = json.loads(sending.stdout.read())
        made_up = f"{self.api}/decisions?path=/made-up&limit=500"
        return figures | {
            "dropped": sorted(dropped),
            "refused_wrongly": [
                name
                for name, each in VISITORS.items()
                if name != "bad" and not reaches(self.visitor, each)
            ],
            "counted_of_made_up": len(call(self.service, "GET", made_up, self.owner)),
        }


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
