"""Network namespaces joined by cables, and processes in them; for root alone."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs


@attrs.frozen
class Machine:
    """A namespace with an address towards each other machine it is joined to."""

    name: str

    def run(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a command in it to its end."""
        return subprocess.run(self.inside(words), capture_output=True, text=True, **options)

    def start(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start a command in it."""
        return subprocess.Popen(self.inside(words), **options)

    @staticmethod
    def _ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)  # noqa: S607

    def inside(self, words: Sequence[str]) -> list[str]:
        return ["ip", "netns", "exec", self.name, *words]

    def link(self, interface: str, state: str) -> None:
        """Put a cable in (``up``) or pull it out (``down``)."""
        self._ip("-n", self.name, "link", "set", interface, state)

    @contextmanager
    def cut_off(self, *addresses: str) -> Iterator[None]:
        """Lose each packet to and from these addresses, and say so to nobody."""
        others = ", ".join(addresses)
        rules = f"""
            table inet cut {{
                chain out {{ type filter hook output priority 0; ip daddr {{ {others} }} drop; }}
                chain in {{ type filter hook input priority 0; ip saddr {{ {others} }} drop; }}
            }}"""
        self.run("nft", rules, check=True)
        try:
            yield
        finally:
            self.run("nft", "delete table inet cut", check=True)


@contextmanager
def machines(*names: str) -> Iterator[dict[str, Machine]]:
    """Namespaces of these names, each with a loopback interface."""
    made = {name: Machine(f"tg{os.getpid()}-{name}") for name in names}
    try:
        for each in made.values():
            each._ip("netns", "add", each.name)
            each._ip("-n", each.name, "link", "set", "lo", "up")
        yield made
    finally:
        for each in made.values():
            command = ["ip", "netns", "del", each.name]
            subprocess.run(command, capture_output=True, check=False)


def join(one: Machine, other: Machine, network: str, names: tuple[str, str]) -> None:
    """Join two machines by a cable: the first gets ``network.1``, the other ``network.2``."""
    left, right = names
    one._ip(
        "link", "add", left, "netns", one.name, "type", "veth",
        "peer", "name", right, "netns", other.name,
    )  # fmt: skip
    for machine, interface, last in ((one, left, 1), (other, right, 2)):
        address = f"{network}.{last}/24"
        machine._ip("-n", machine.name, "addr", "add", address, "dev", interface)
        machine.link(interface, "up")


@attrs.frozen
class Network:
    """A network of this machine with others.

    Attributes:
        address: of this machine.
        second_address: of this machine too, for a service whose links can be cut alone.
        machines: the others, by their address.
        range: all addresses, as a network.
    """

    address: str
    second_address: str
    machines: dict[str, Machine]
    range: str


@contextmanager
def network(*names: str) -> Iterator[Network]:
    """This machine and others of these names on one switch."""
    number = os.getpid()
    prefix = f"10.{64 + number % 64}.{number // 64 % 256}"
    switch = f"tg{number}"
    own = f"{prefix}.254", f"{prefix}.253"
    with machines(*names) as made:
        Machine._ip("link", "add", switch, "type", "bridge")
        try:
            for each in own:
                Machine._ip("addr", "add", f"{each}/24", "dev", switch)
            Machine._ip("link", "set", switch, "up")
            for last, machine in enumerate(made.values(), 1):
                port = f"{switch}-{last}"
                machine._ip(
                    "link", "add", port, "type", "veth",
                    "peer", "name", "out", "netns", machine.name,
                )  # fmt: skip
                machine._ip("link", "set", port, "master", switch, "up")
                machine._ip("-n", machine.name, "addr", "add", f"{prefix}.{last}/24", "dev", "out")
                machine.link("out", "up")
            by_address = {f"{prefix}.{last}": each for last, each in enumerate(made.values(), 1)}
            yield Network(*own, by_address, f"{prefix}.0/24")
        finally:
            Machine._ip("link", "del", switch)
