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
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def inside(self, words: Sequence[str]) -> list[str]:
        return ["ip", "netns", "exec", self.name, *words]

    def link(self, interface: str, state: str) -> None:
        """Put a cable in (``up``) or pull it out (``down``)."""
        self._ip("-n", self.name, "link", "set", interface, state)


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
            subprocess.run(["ip", "netns", "del", each.name], capture_output=True, check=False)


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
