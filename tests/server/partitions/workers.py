"""A service of several workers, and callers that say which worker has their connection."""

from __future__ import annotations

import os
import socket
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import attrs
import httpx2
from tests.server.deciding import Deciding, Service
from tools import plain_http

from tidegate_server.stores.directory.lock import lock_path, read_holder

MOST_TRIES = 200
"""Connections until one is the wanted worker's; each is at any of them."""


class AtWorker(httpx2.BaseTransport):
    """Sends every request on a connection that one worker accepted.

    Args:
        base_url: of the service.
        process: the worker.
    """

    def __init__(self, base_url: str, process: int) -> None:
        self._base_url = base_url
        self._process = process
        self._way = self._new()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        for _ in range(MOST_TRIES):
            # A connection that was closed meanwhile is replaced here, and not under the request.
            probe = httpx2.Request("GET", f"{self._base_url}/healthz")
            answer = self._way.handle_request(probe)
            answer.read()
            port = answer.extensions["network_stream"].get_extra_info("client_addr")[1]
            if _has_connection(self._process, urlsplit(self._base_url).port, port):
                return self._way.handle_request(request)
            self._way.close()
            self._way = self._new()
        raise AssertionError(f"process {self._process} accepts no connection")

    def close(self) -> None:
        self._way.close()

    @staticmethod
    def _new() -> httpx2.HTTPTransport:
        return httpx2.HTTPTransport(limits=httpx2.Limits(max_connections=1))


def _has_connection(process: int, port: int | None, remote: int) -> bool:
    """Whether a process has the server's end of a connection on this machine."""
    held = set()
    for each in Path(f"/proc/{process}/fd").iterdir():
        try:
            held.add(os.readlink(each))
        except FileNotFoundError:
            continue  # closed meanwhile
    for line in Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:]:
        _, local, other, *rest = line.split()
        ports = int(local.rpartition(":")[2], 16), int(other.rpartition(":")[2], 16)
        if ports == (port, remote):
            return f"socket:[{rest[6]}]" in held
    return False


def connected(place: SplitResult, process: int) -> socket.socket:
    """A connection that one worker accepted.

    Args:
        place: the address of the service.
        process: the worker.
    """
    for _ in range(MOST_TRIES):
        made = socket.create_connection((place.hostname, place.port), timeout=90)
        made.sendall(f"GET /healthz HTTP/1.1\r\nhost: {place.netloc}\r\n\r\n".encode())
        assert made.recv(65_536).startswith(b"HTTP/1.1 200")
        if _has_connection(process, place.port, made.getsockname()[1]):
            return made
        made.close()
    raise AssertionError(f"process {process} accepts no connection")


def owner_of(directory: Path, partition: int) -> int:
    """The process that owns a partition."""
    found = read_holder(lock_path(directory / f"tidegate-{partition}.db")).pid
    assert found is not None
    return found


def handed_on(base_url: str, partition: int) -> float:
    """How many calls of a partition came through a gateway since its owner began."""
    page = plain_http.get(f"{base_url}/metrics").text
    name = f'tidegate_calls_handed_on_total{{partition="{partition}"}} '
    return float(next(line for line in page.splitlines() if line.startswith(name))[len(name) :])


def through(shop: Deciding, partition: int) -> Deciding:
    """The same tenant, all calls of which are sent to the owner of a partition.

    Args:
        shop: the tenant.
        partition: of the worker that is to have the connections.
    """
    service: Service = shop.service
    way = AtWorker(service.base_url, owner_of(service.directory, partition))
    http = httpx2.Client(base_url=service.base_url, timeout=60, transport=way)
    http.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    callers = {role: attrs.evolve(each, http=http) for role, each in service.operators.items()}
    return attrs.evolve(shop, service=attrs.evolve(service, http=http, operators=callers))
