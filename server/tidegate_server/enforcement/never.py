"""Addresses that are never dropped, whatever is decided, and why."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Collection, Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tidegate.errors import TidegateError
from tidegate_server.settings.bounds import split_list

if TYPE_CHECKING:
    from tidegate_server.enforcement.blocks import Address

Network: TypeAlias = IPv4Network | IPv6Network

SSH = 22
SECONDS = 5
MOST_PEERS = 1_000
"""Addresses of the service to remember."""
_FIXED = {
    "loopback": ("127.0.0.0/8", "::1/128"),
    "not an address of one machine": (
        "0.0.0.0/8", "224.0.0.0/4", "255.255.255.255/32", "::/128", "ff00::/8",
    ),
}  # fmt: skip
_RESOLVERS = (Path("/etc/resolv.conf"), Path("/run/systemd/resolve/resolv.conf"))
_CONNECTIONS = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
_SESSIONS = Path("/run/systemd/sessions")
_ESTABLISHED, _ROOT = "01", "0"
_NAME_SERVER = re.compile(r"^\s*nameserver\s+([0-9a-fA-F.:]+)", re.MULTILINE)
_REMOTE_HOST = re.compile(r"^REMOTE_HOST=(\S+)$", re.MULTILINE)


class HostError(TidegateError):
    """The addresses this machine depends on can't be determined."""

    code = "host-unknown"


class Never:
    """The addresses that are never dropped; :meth:`refresh` updates them.

    Args:
        networks: networks named by the administrator.
        hosts: the service and the daemon, as names or addresses.
        ports: watched ports: a connection to one of them is a visitor's.

    Raises:
        HostError: this machine's addresses or routes can't be read.
    """

    def __init__(
        self, networks: Collection[Network], hosts: Collection[str], ports: Collection[int]
    ) -> None:
        self._named = dict.fromkeys(networks, "capture.never")
        self._hosts = list(hosts)
        self._ports = frozenset(ports)
        self._peers: dict[Network, str] = {}
        self._networks: list[tuple[Network, str]] = []
        self._addresses: dict[Address, str] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read interfaces, routes, name servers and sessions.

        Raises:
            HostError: interfaces or routes can't be read; the list stays as it was.
        """
        found = {
            **{ip_network(text): why for why, texts in _FIXED.items() for text in texts},
            **dict.fromkeys(_networks(_name_servers()), "name server"),
            **dict.fromkeys(_networks(_sessions(self._ports)), "session on this machine"),
            **dict.fromkeys(_networks(_gateways()), "gateway"),
            **dict.fromkeys(_networks(_own_addresses()), "address of this machine"),
            **self._peers,
            **self._named,
        }
        alone = {each: why for each, why in found.items() if each.num_addresses == 1}
        self._addresses = {each.network_address: why for each, why in alone.items()}
        self._networks = [(each, why) for each, why in found.items() if each not in alone]

    def resolve(self) -> None:
        """Look up the addresses of the service and the daemon; earlier ones stay.

        A lookup may take long, so call it where nothing waits.
        """
        for host in self._hosts:
            try:
                answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            except OSError:
                continue
            for network in _networks(str(each[4][0]) for each in answers):
                if len(self._peers) < MOST_PEERS:
                    self._peers = {**self._peers, network: "service or daemon"}

    def reason(self, address: Address) -> str:
        """Why an address is never dropped; empty if it may be."""
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        address = mapped or address
        found = self._addresses.get(address)
        if found is not None:
            return found
        return next((why for network, why in self._networks if address in network), "")

    def listed(self) -> Mapping[str, str]:
        """Every network, as text, and why it is never dropped."""
        networks = {str(network): why for network, why in self._networks}
        return networks | {str(address): why for address, why in self._addresses.items()}


def read_networks(text: str) -> list[Network]:
    """Parse networks and addresses separated by commas or spaces.

    Raises:
        ValueError: one of them isn't a network.
    """
    return [ip_network(each) for each in split_list(text)]


def _networks(texts: Iterator[str]) -> Iterator[Network]:
    """The addresses among some texts, each as a network, without zones."""
    for text in texts:
        try:
            found = ip_address(text.partition("%")[0])
        except ValueError:
            continue
        mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
        yield ip_network(mapped or found)


def _own_addresses() -> Iterator[str]:
    for interface in _ip("addr"):
        for each in interface.get("addr_info", ()):
            yield from (each[name] for name in ("local", "address") if name in each)


def _gateways() -> Iterator[str]:
    for family in ("-4", "-6"):
        for route in _ip(family, "route", "show", "table", "all", "default"):
            for hop in (route, *route.get("nexthops", ())):
                yield hop.get("gateway", "")
                yield hop.get("via", {}).get("host", "")


def _ip(*words: str) -> list[dict[str, Any]]:
    try:
        done = subprocess.run(  # noqa: S603 - the words are ours
            ["ip", "-j", *words],  # noqa: S607
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
        found: list[dict[str, Any]] = json.loads(done.stdout or "[]")
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise HostError(f"`ip {' '.join(words)}` says nothing: {error}") from None
    return found


def _name_servers() -> Iterator[str]:
    for path in _RESOLVERS:
        yield from _NAME_SERVER.findall(_text(path))


def _sessions(ports: Collection[int]) -> Iterator[str]:
    """The peers of SSH connections, and of sessions known to logind.

    An SSH connection's socket belongs to root, whoever logs in.
    """
    for path in _CONNECTIONS:
        for line in _text(path).splitlines()[1:]:
            _, local, remote, state, _, _, _, owner, *_ = line.split()
            port = int(local.rpartition(":")[2], 16)
            if (state, owner, port) == (_ESTABLISHED, _ROOT, SSH) and port not in ports:
                yield _address_of(remote)
    if _SESSIONS.is_dir():
        for path in _SESSIONS.iterdir():
            yield from _REMOTE_HOST.findall(_text(path))


def _address_of(text: str) -> str:
    """An address in ``/proc/net``: words in the machine's byte order."""
    words = bytes.fromhex(text.partition(":")[0])
    packed = b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4))
    return str(IPv4Address(packed) if len(packed) == 4 else IPv6Address(packed))


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
