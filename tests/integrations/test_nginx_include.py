"""The files for nginx that sites of one's own include, in front of two sites with TLS."""

from __future__ import annotations

import getpass
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import attrs
import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.integrations.asking import BROWSER
from tests.integrations.edges import EXAMPLES, free_port, program
from tests.server.deciding import Deciding, Service, deciding
from tests.waiting import wait_until

SITES = ("shop.example", "blog.example")
DEFINITIONS = {
    "apiVersion": "tidegate/v1",
    "mitigations": [
        {"name": "Refuse", "mode": "Block", "ttl_seconds": 0},
        {"name": "Prove", "mode": "Challenge", "ttl_seconds": 0},
    ],
    "policies": [
        {
            "name": "Law",
            "expression": 'request.host == "shop.example" && request.path.startsWith("/blocked")',
            "clauses": [{"name": "any", "mitigation": "refuse"}],
        },
        {
            "name": "Gate",
            "expression": 'request.path.startsWith("/challenged")',
            "clauses": [{"name": "any", "mitigation": "prove"}],
        },
    ],
}
SITE = """
server {{
    listen 127.0.0.1:{port};
    access_log off;
    location = /login {{ return 401; }}
    location / {{ default_type text/html; return 200 "the site of {name}"; }}
}}
"""


def certificate(directory: Path, name: str) -> None:
    """A certificate that a site has signed itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(names)
        .issuer_name(names)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (directory / f"{name}.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    (directory / f"{name}.key").write_bytes(key.private_bytes(*form, serialization.NoEncryption()))


@attrs.frozen
class Sites:
    """nginx in front of two sites."""

    port: int
    directory: Path

    def ask(self, host: str, path: str, **headers: str) -> httpx2.Response:
        """A request of a browser at one of the sites."""
        trusted = ssl.create_default_context(cafile=str(self.directory / f"{host}.crt"))
        trusted.check_hostname = False
        with httpx2.Client(verify=trusted) as client:
            given = {**BROWSER, "host": host, **headers}
            # By name the server is chosen, also in the handshake.
            return client.get(
                f"https://127.0.0.1:{self.port}{path}",
                headers=given,
                extensions={"sni_hostname": host},
            )

    @property
    def outcomes(self) -> list[str]:
        """The lines of the log of outcomes."""
        return (self.directory / "outcomes.log").read_text().splitlines()


def turned_on(text: str, first: str, count: int) -> str:
    """A file with lines that are comments in it."""
    lines = text.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.strip().startswith("#" + first))
    for at in range(begin, begin + count):
        lines[at] = lines[at].replace("#", "", 1)
    return "\n".join(lines) + "\n"


@contextmanager
def sites(service_url: str, key: str, directory: Path, *, is_open: bool = False) -> Iterator[Sites]:
    """nginx with the files of the folder; only addresses and paths are those of this machine."""
    port, ports = free_port(), [free_port() for _ in SITES]
    (directory / "static").mkdir()
    (directory / "static" / "blocked.css").write_text("body {}")
    directory.chmod(0o755)
    places = {
        "127.0.0.1:8080": service_url.removeprefix("http://"),
        "/etc/nginx/tidegate": str(directory),
        "/var/log/nginx": str(directory),
        "/etc/ssl": str(directory),
        "/var/www/shop": str(directory),
        "listen 443": f"listen 127.0.0.1:{port}",
        "127.0.0.1:8001": f"127.0.0.1:{ports[0]}",
        "127.0.0.1:8002": f"127.0.0.1:{ports[1]}",
    }
    for file in (EXAMPLES / "nginx" / "include").iterdir():
        text = file.read_text()
        if file.name == "http.conf":
            text = turned_on(text, "set_real_ip_from", 3).replace("10.0.0.0/8", "127.0.0.1")
        if file.name == "site.conf" and is_open:
            text = turned_on(text, "proxy_intercept_errors", 2)
        for written, own in places.items():
            text = text.replace(written, own)
        (directory / file.name).write_text(text)
    (directory / "key.conf").write_text(f'proxy_set_header X-Service-Api-Key "{key}";\n')
    for name in SITES:
        certificate(directory, name)
    own = "".join(
        SITE.format(port=each, name=name) for each, name in zip(ports, SITES, strict=True)
    )
    folders = "".join(
        f"{name}_temp_path {directory / name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = directory / "nginx.conf"
    main.write_text(
        # Nobody else may read a test's folder.
        f"user {getpass.getuser()};\ndaemon off;\npid {directory / 'pid'};\n"
        "error_log stderr;\nevents {}\n"
        f"http {{\n{folders}include {directory}/sites.conf;\n{own}}}\n"
    )
    with (directory / "nginx.log").open("wb") as log:
        process = subprocess.Popen(
            [program("nginx"), "-p", str(directory), "-e", "stderr", "-c", str(main)],
            stdout=log,
            stderr=log,
        )
    made = Sites(port, directory)
    try:
        wait_until(lambda: process.poll() is not None or has_started(made))
        assert process.poll() is None, (directory / "nginx.log").read_text()
        yield made
    finally:
        process.terminate()
        process.wait(30)


def has_started(of: Sites) -> bool:
    """Whether nginx takes connections."""
    try:
        of.ask(SITES[0], "/static/blocked.css")
    except httpx2.TransportError:
        return False
    return True


@pytest.fixture(scope="module")
def tenant(service: Service) -> Deciding:
    """A tenant with a block at one site, and a challenge at both."""
    return service.tenant(DEFINITIONS)


@pytest.fixture(scope="module")
def both(
    tenant: Deciding, tmp_path_factory: pytest.TempPathFactory, proxy: None
) -> Iterator[Sites]:
    """The two sites in front of the tenant."""
    directory = tmp_path_factory.mktemp("include")
    with sites(tenant.service.base_url, tenant.key, directory) as made:
        yield made


def test_each_site_is_decided_by_its_host(both: Sites) -> None:
    """A policy for one host blocks there alone; a challenge leads to Tidegate's page."""
    for name in SITES:
        assert both.ask(name, "/").text == f"the site of {name}"
        assert both.ask(name, "/challenged").status_code == 302
    assert both.ask(SITES[0], "/blocked").status_code == 403
    assert both.ask(SITES[1], "/blocked").status_code == 200


def test_static_files_pass_without_a_decision(both: Sites, tenant: Deciding) -> None:
    """A policy for their path isn't asked, and nothing is recorded."""
    assert both.ask(SITES[0], "/static/blocked.css").text == "body {}"
    assert not tenant.get("decisions", path="/static/blocked.css")


def test_rules_see_the_address_that_the_load_balancer_names(both: Sites, tenant: Deciding) -> None:
    """The visitor's own header is left of it, and doesn't count."""
    chain = {"x-forwarded-for": "198.51.100.9, 192.0.2.7"}
    both.ask(SITES[1], "/real", **chain)
    (decision,) = tenant.get("decisions", path="/real")
    assert decision["client_ip"] == "192.0.2.7"


def test_refusals_of_the_site_are_in_the_log_of_outcomes(both: Sites) -> None:
    """Answers of Tidegate are not, and no line has a query."""
    before = len(both.outcomes)
    assert both.ask(SITES[1], "/login?service_challenge_proof").status_code == 403
    assert both.ask(SITES[0], "/blocked").status_code == 403
    assert both.ask(SITES[1], "/login?secret=1").status_code == 401
    wait_until(lambda: len(both.outcomes) > before)
    (line,) = both.outcomes[before:]
    assert '"GET /login HTTP/1.1" 401' in line
    assert "secret" not in line


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
def test_without_the_service_a_visitor_passes_only_if_it_fails_open(
    is_open: bool, tmp_path: Path, proxy: None, process: None
) -> None:
    """A visitor can't bring the failure about, and a wrong key lets nobody in."""
    with deciding(tmp_path / "data") as alone:
        key = alone.tenant(DEFINITIONS).key
        (tmp_path / "nginx").mkdir()
        with sites(alone.base_url, key, tmp_path / "nginx", is_open=is_open) as made:
            assert made.ask(SITES[0], "/blocked").status_code == 403
            many = "&".join(f"a{number}=" for number in range(300))
            assert made.ask(SITES[0], f"/?{many}").status_code == 403
            alone.process.terminate()
            alone.process.wait(30)
            assert made.ask(SITES[0], "/").status_code == (200 if is_open else 502)
        (tmp_path / "wrong").mkdir()
    with (
        deciding(tmp_path / "other") as other,
        sites(other.base_url, "tg_wrong", tmp_path / "wrong", is_open=is_open) as made,
    ):
        assert made.ask(SITES[0], "/").status_code == 502
