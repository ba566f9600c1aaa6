"""A daemon asked by the capture of its machine, and what it asks of its callers."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import attrs
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from prometheus_client.parser import text_string_to_metric_families
from tests.hybrid.link import Link
from tests.hybrid.running import Daemon, Service, daemon, wait_for
from tools import plain_http

from tidegate.client.transport import Transport
from tidegate_server.cli.hybrid.forwarding import Forwarding
from tidegate_server.daemon import enforcement_status
from tidegate_server.daemon.enforcement_status import EnforcementStatus
from tidegate_server.daemon.home import load
from tidegate_server.daemon.local_daemon import LocalDaemon
from tidegate_server.daemon.origin import Origin
from tidegate_server.enforcement.drops import Drops, Limits
from tidegate_server.enforcement.enforcing import Enforcing
from tidegate_server.enforcement.guard import Guard
from tidegate_server.enforcement.never import Never
from tidegate_server.settings.hybrid import DaemonSettings
from tidegate_server.settings.outbound import RemoteSettings
from tidegate_server.settings.whole import Settings

TOKEN = "token-of-the-site"
PAGE = Path(__file__).parents[2] / "docs/hybrid.md"
pytestmark = pytest.mark.usefixtures("process", "namespace")


@pytest.fixture(scope="module")
def pair(
    origin: Service, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Daemon, Link]]:
    """A daemon that follows the service over a link."""
    with daemon(origin, tmp_path_factory.mktemp("local")) as made:
        yield made


def test_status_finds_the_daemon_by_its_folder(pair: tuple[Daemon, Link], tmp_path: Path) -> None:
    """Its port was a flag of `run`, and no setting names it; a folder without a daemon says so."""
    site, _ = pair
    environment = {**os.environ, "TIDEGATE_HOME": str(site.folder)}
    command = [sys.executable, "-m", "tidegate", "status", "--json"]
    asked = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(asked.stdout)["running"] is True
    assert load(site.folder).address == site.base_url
    folder = load(site.folder)
    shutil.copytree(site.folder, tmp_path / "home")
    stopped = load(tmp_path / "home").running("http://127.0.0.1:9", "")
    assert LocalDaemon.of(stopped, DaemonSettings()).status() is None
    environment["TIDEGATE_HOME"] = str(tmp_path / "home")
    asked = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert asked.returncode == 1
    assert "no daemon of this folder answers at 127.0.0.1 port 9" in asked.stderr
    assert LocalDaemon.of(folder.running("", ""), DaemonSettings(port=9)).settings.port == 9
    folder.running(folder.address, folder.certificate)


def daemon_of(site: Daemon, tenant_id: UUID) -> LocalDaemon:
    port = int(site.base_url.rpartition(":")[2])
    return LocalDaemon(DaemonSettings(port=port), tenant_id)


def test_the_mitigations_of_a_daemon_are_followed_while_the_service_is_away(
    origin: Service, pair: tuple[Daemon, Link]
) -> None:
    """An address that the daemon alone blocked is dropped, and let in once the service lifts it."""
    site, link = pair
    origin.make_policy("Local", "/local", 1)
    revision = origin.call("GET", "/definitions")["revision"]
    wait_for(lambda: site.status()["revision"] >= revision)
    folder = load(site.folder)
    guard = Guard(0.2)
    guard.saw("198.51.100.77", "browser", 0.0)
    never = Never([], [], [80])
    drops = Drops(Limits(600, 9, 9, 1.0), guard, never.reason)

    async def follow() -> None:
        transport = Transport(link.url, folder.api_key, tls=None, allow_http=False)
        following = Enforcing(
            Origin(transport, folder.tenant_id, folder.public_key),
            daemon_of(site, folder.tenant_id),
            None,
            drops,
            never,
        )
        task = asyncio.create_task(following.run())
        try:
            await until(lambda: following.status.follows == "service")
            link.cut()
            decided = await asyncio.to_thread(site.decide, "/local", "198.51.100.77")
            assert decided["action"]["type"] == "block"
            guard.saw("198.51.100.77", "browser", asyncio.get_running_loop().time())
            await until(lambda: following.status.follows == "daemon" and len(drops) == 1)
            link.heal()
            await until(lambda: following.status.follows == "service")
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await transport.close()

    try:
        asyncio.run(follow())
    finally:
        link.heal()


async def until(holds: object) -> None:
    """Return when a condition holds."""
    assert callable(holds)
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.05)


def test_events_go_to_the_daemon_while_the_service_is_away(pair: tuple[Daemon, Link]) -> None:
    """Each is decided there once."""
    site, link = pair
    folder = load(site.folder)
    port = int(site.base_url.rpartition(":")[2])
    settings = Settings(
        remote=RemoteSettings(url=link.url), daemon=DaemonSettings(port=port)
    )  # fmt: skip
    sends = Forwarding(settings, folder)
    link.cut()
    try:
        before = site.status()["decided"]
        for number in range(20):
            assert sends.send({"request": {"path": f"/away/{number}"}})
        wait_for(lambda: site.status()["decided"] >= before + 20)
        assert sends.send({"request": {"path": "/away/later"}})
        wait_for(lambda: site.status()["decided"] == before + 21)
    finally:
        link.heal()
        sends.close(1)


def test_another_tenants_daemon_is_not_asked(pair: tuple[Daemon, Link]) -> None:
    """Nor is anything else that listens there."""
    site, _ = pair
    folder = load(site.folder)
    assert daemon_of(site, folder.tenant_id).status()
    other = daemon_of(site, UUID(int=1))
    assert (other.status(), other.mitigations()) == (None, None)


def test_the_daemon_shows_the_state_of_the_enforcement(pair: tuple[Daemon, Link]) -> None:
    """Its metrics have nothing of one that was never started or that was stopped in order."""
    site, _ = pair
    folder = load(site.folder)

    def shown() -> list[str]:
        page = plain_http.get(f"{site.base_url}/metrics", timeout=10).text
        return [line for line in page.splitlines() if line.startswith("tidegate_enforcement_state")]

    assert shown() == []
    enforcement_status.write(folder, EnforcementStatus(state="stopped", reason="too many"))
    assert 'tidegate_enforcement_state{state="stopped"} 1.0' in shown()
    enforcement_status.remove(folder)
    assert shown() == []


def test_the_page_of_metrics_is_as_it_is_documented(pair: tuple[Daemon, Link]) -> None:
    """Each figure of the daemon and of an enforcement is in the table, with its type and labels."""
    site, _ = pair
    folder = load(site.folder)
    reached = {"capture.max_drops": 1}
    enforcement_status.write(folder, EnforcementStatus(state="dropping", bounds_reached=reached))
    page = plain_http.get(f"{site.base_url}/metrics", timeout=10).text
    enforcement_status.remove(folder)
    found = {
        each.name + ("_total" if each.type == "counter" else ""): (
            each.type,
            {label for sample in each.samples for label in sample.labels},
        )
        for each in text_string_to_metric_families(page)
        if each.name.startswith(("tidegate_daemon_", "tidegate_enforcement_"))
    }
    rows = re.findall(r"^\| `(tidegate_\w+)` \| (\w+) \| (.*?)\|", PAGE.read_text(), re.MULTILINE)
    assert found == {
        name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows
    }


def certificate(directory: Path) -> dict[str, str]:
    """A certificate that names no address of this machine, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "site")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("site")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (directory / "c.pem").write_bytes(made.public_bytes(pem))
    plain = serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    (directory / "k.pem").write_bytes(private)
    return {
        "TIDEGATE_DAEMON_TLS_CERTIFICATE": str(directory / "c.pem"),
        "TIDEGATE_DAEMON_TLS_KEY": str(directory / "k.pem"),
    }


def test_a_daemon_with_a_token_refuses_callers_without_it(origin: Service, tmp_path: Path) -> None:
    """Decisions, figures and mitigations alike; only health needs none."""
    files = certificate(tmp_path)
    made = Daemon(tmp_path / "home", tmp_path / "daemon.log", files)
    made.settings |= {"TIDEGATE_DAEMON_TOKEN": TOKEN, "TIDEGATE_DAEMON_HOST": "0.0.0.0"}
    made.init(origin.said["base_url"], origin.said["sync_api_key"], origin.said["tenant_id"])
    made.start()
    try:
        assert made.base_url.startswith("https://0.0.0.0:")
        url = made.base_url.replace("0.0.0.0", "127.0.0.1")
        context = ssl.create_default_context(cafile=files["TIDEGATE_DAEMON_TLS_CERTIFICATE"])
        context.check_hostname = False
        event = {"request": {"path": "/x"}}
        paths = ["/status", "/metrics", "/mitigations", "/authz"]
        for key, expected in (({}, 401), ({"x-service-api-key": "guess"}, 401)):
            for path in paths:
                answer = plain_http.get(url + path, headers=key, verify=context)
                assert (path, answer.status_code) == (path, expected)
            for path in ("/api/v1/runtime/mitigation", "/api/v1/beacon/events"):
                answer = plain_http.post(url + path, json=event, headers=key, verify=context)
                assert (path, answer.status_code) == (path, expected)
        assert plain_http.get(f"{url}/healthz", verify=context).status_code == 200
        key = {"x-service-api-key": TOKEN}
        assert plain_http.get(f"{url}/status", headers=key, verify=context).status_code == 200
        decided = plain_http.post(
            f"{url}/api/v1/runtime/mitigation", json=event, headers=key, verify=context
        )
        assert decided.status_code == 200
        port = int(made.base_url.rpartition(":")[2])
        own = DaemonSettings(
            host="0.0.0.0",
            port=port,
            token=TOKEN,
            tls_certificate=files["TIDEGATE_DAEMON_TLS_CERTIFICATE"],
        )
        asked = LocalDaemon(own, UUID(origin.said["tenant_id"]))
        assert asked.status()
        assert LocalDaemon(attrs.evolve(own, token="guess"), asked.tenant_id).status() is None
    finally:
        made.stop()
