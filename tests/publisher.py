"""A server on loopback that publishes lists and takes messages, and misbehaves on demand."""

from __future__ import annotations

import datetime
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import TypeAlias

import attrs
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "lists.test"
"""The name in the publisher's certificate."""


@attrs.frozen
class Page:
    """The response of the publisher.

    Attributes:
        body: the content, or a part of it.
        headers: more headers, or others; one that is None is left out.
        status: of the answer.
        hangs: whether it stops before the body, until the publisher ends.
    """

    body: bytes = b""
    headers: Mapping[str, str | None] = attrs.field(factory=dict)
    status: int = 200
    hangs: bool = False


Pages: TypeAlias = dict[str, Page]


@attrs.frozen
class Posted:
    """A document that was posted, with the status of the answer."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    status: int


@attrs.frozen
class Publisher:
    """A running publisher.

    Attributes:
        port: on 127.0.0.1.
        pages: what it answers, by path; a test may change them.
        asked: the paths that were asked for.
        authority: the file with the certificate to trust.
        taken: what was posted, in order.
        statuses: of the answers to posts, by path; 204 for the others.
    """

    port: int
    pages: Pages
    asked: list[str]
    authority: Path
    taken: list[Posted] = attrs.field(factory=list)
    statuses: dict[str, int] = attrs.field(factory=dict)

    def url(self, path: str, host: str = HOST) -> str:
        """The address of a page."""
        return f"https://{host}:{self.port}{path}"

    @property
    def tls(self) -> ssl.SSLContext:
        """Trusts this publisher alone."""
        return ssl.create_default_context(cafile=str(self.authority))


@contextmanager
def publishing(folder: Path) -> Iterator[Publisher]:
    """A publisher, until the block ends.

    Args:
        folder: for its key and certificate.
    """
    pages: Pages = {}
    asked: list[str] = []
    taken: list[Posted] = []
    statuses: dict[str, int] = {}
    end = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self.path)
            page = pages.get(self.path, Page(status=404))
            headers = {
                "content-type": "application/json",
                "content-length": str(len(page.body)),
                "connection": "close",
                **page.headers,
            }
            self.close_connection = True
            try:
                self.send_response(page.status)
                for name, value in headers.items():
                    if value is not None:
                        self.send_header(name, value)
                self.end_headers()
                if page.hangs:
                    end.wait(60)
                self.wfile.write(page.body)
            except OSError:
                pass  # the caller had enough

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            status = statuses.get(self.path, 204)
            headers = {name.lower(): value for name, value in self.headers.items()}
            taken.append(Posted(self.path, headers, body, status))
            self.close_connection = True
            self.send_response(status)
            if status == 302:
                self.send_header("location", "/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    authority = _certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority, folder / "key.pem")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None  # type: ignore[method-assign] # refused handshakes
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield Publisher(server.server_port, pages, asked, authority, taken, statuses)
    finally:
        end.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _certificate(folder: Path) -> Path:
    """The file of a certificate for the publisher's names, with its key next to it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    names = [
        x509.DNSName(HOST),
        x509.DNSName("localhost"),
        x509.IPAddress(ip_address("127.0.0.1")),
    ]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    path = folder / "certificate.pem"
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return path
