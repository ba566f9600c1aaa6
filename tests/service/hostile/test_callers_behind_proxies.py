"""Callers of a service with TLS, behind a proxy and not."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import attrs
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from raw_http import answers
from service_process import start, stop

from tidegate_server.login.attempts import MAX_ATTEMPTS
from tidegate_server.process import MOST_HANDSHAKES

PROXY, STRANGER = "127.0.0.9", "127.0.0.1"


def certified(directory: Path) -> tuple[Path, Path]:
    """Files of a certificate for this machine, and of its key."""
    key, name = generate_private_key(SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=True
        )
        .sign(key, SHA256())
    )
    certificate, private = directory / "c.pem", directory / "k.pem"
    certificate.write_bytes(made.public_bytes(Encoding.PEM))
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    private.chmod(0o600)
    return certificate, private


@attrs.frozen
class Secure:
    """A service with TLS, and the certificate that it shows."""

    base_url: str
    certificate: Path


@pytest.fixture(scope="module")
def secure(process: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    """A server with TLS that trusts one proxy."""
    directory = tmp_path_factory.mktemp("secure")
    certificate, key = certified(directory)
    files = ("--server-tls-certificate", str(certificate), "--server-tls-key", str(key))
    proxies = ("--server-trusted-proxies", f"{PROXY}, 10.0.0.0/8")
    started, printed = start(*files, *proxies, log=directory / "log")
    yield Secure(printed["base_url"], certificate)
    stop(started)


def connect(service: Secure, source: str) -> socket.socket:
    """A connection from an address of this machine."""
    where = urlsplit(service.base_url)
    return socket.create_connection((str(where.hostname), where.port), 30, (source, 0))


def asked(service: Secure, source: str, request: bytes) -> int:
    """The status of an answer over TLS."""
    context = ssl.create_default_context(cafile=str(service.certificate))
    host = str(urlsplit(service.base_url).hostname)
    received = b""
    with context.wrap_socket(connect(service, source), server_hostname=host) as connection:
        connection.sendall(request)
        while part := connection.recv(65_536):
            received += part
    [answer] = answers(received)
    return answer.status


def wrong_password(name: str, *headers: str) -> bytes:
    """A login that fails."""
    body = json.dumps({"email": f"{name}@example.test", "password": "wrong"}).encode()
    lines = [
        "POST /api/v1/auth/local/token HTTP/1.1",
        "host: t",
        "connection: close",
        "content-type: application/json",
        f"content-length: {len(body)}",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def test_wrong_passwords_of_one_visitor_lock_no_other_out(secure: Secure) -> None:
    """Behind a trusted proxy each client has its own attempts, by either header."""
    for _ in range(MAX_ATTEMPTS):
        assert asked(secure, PROXY, wrong_password("a", "x-forwarded-for: 203.0.113.1")) == 401
    for header in ("x-forwarded-for: 6.6.6.6, 203.0.113.1", "forwarded: for=203.0.113.1"):
        assert asked(secure, PROXY, wrong_password("a", header)) == 429
    for header in ("x-forwarded-for: 203.0.113.2", 'forwarded: for="203.0.113.3:4711"'):
        assert asked(secure, PROXY, wrong_password("a", header)) == 401
    assert asked(secure, PROXY, wrong_password("a")) == 401, "the proxy itself"


def test_a_network_of_64_bits_is_one_caller(secure: Secure) -> None:
    """Addresses of one host's IPv6 network share their attempts; another network has its own."""
    for number in range(MAX_ATTEMPTS):
        header = f"x-forwarded-for: 2001:db8:1:2::{number:x}"
        assert asked(secure, PROXY, wrong_password("c", header)) == 401
    same, other = "x-forwarded-for: 2001:db8:1:2:9::", "x-forwarded-for: 2001:db8:1:3::"
    assert asked(secure, PROXY, wrong_password("c", same)) == 429
    assert asked(secure, PROXY, wrong_password("c", other)) == 401


def test_silent_connections_to_tls_leave_room_for_others(secure: Secure) -> None:
    """The oldest handshake that does not go on is given up for a newcomer."""
    with ExitStack() as stack:
        silent = [
            stack.enter_context(connect(secure, STRANGER)) for _ in range(MOST_HANDSHAKES + 50)
        ]
        assert silent[0].recv(1) == b""
        health = b"GET /healthz HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n"
        assert asked(secure, STRANGER, health) == 200
