"""A set of addresses per family in our own table, updated through ``nft -f -``.

Only packets from these addresses to the watched ports are dropped.  The ports are a set too, and
serve as a lease: its elements expire after some seconds and are renewed while the capture runs.  So
when the capture is gone, however it ended, the kernel unblocks everyone by itself.  The addresses
have their own timeouts.

The chains run after those of an ordinary ruleset (``filter`` is 0, firewalld's 10, ``security`` 50)
and accept whatever they don't drop, which leaves the verdict to all others.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence
from ipaddress import IPv4Address
from itertools import islice
from typing import TYPE_CHECKING, Any

from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from tidegate_server.enforcement.blocks import Change, Subject

FAMILY, TABLE = "inet", "tidegate"
SETS = {4: "blocked4", 6: "blocked6"}
PORTS = "ports"
LEASE_SECONDS = 20
BATCH = 20_000
"""Elements passed to one run of nft."""
SECONDS = 30
PRIORITY = 100
_SECOND = 1_000_000_000
_LOOPBACK = {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": "lo"}
_OWN = [{"match": _LOOPBACK}, {"accept": None}]
"""Traffic this machine sends to itself, under any of its addresses."""


class FirewallError(TidegateError):
    """The kernel's packet filter could not be changed; the message says why."""

    code = "firewall"


class Firewall:
    """The table.

    Args:
        ports: drop packets to these ports.
        command: command that runs nft, as words.
    """

    def __init__(self, ports: Collection[int], command: Sequence[str] = ("nft",)) -> None:
        self._ports = sorted(ports)
        self._command = list(command)

    def set_up(self) -> None:
        """Create the table, its sets and chains; existing ones stay.

        Raises:
            FirewallError: it cannot be created.
        """
        self._run(self._frame())

    def replace(self, changes: Iterable[Change], now: int) -> int:
        """Replace the addresses in the sets, and renew the lease; return how many there are.

        Raises:
            FirewallError: the sets cannot be changed.
        """
        flush = [{"flush": {"set": _set(name)}} for name in (*SETS.values(), PORTS)]
        self._run([*self._frame(), *flush])
        blocked = _blocked({each.address: each.until for each in changes}, now)
        for start in range(0, len(blocked), BATCH):
            self._run(_elements("add", blocked[start : start + BATCH]))
        self.renew()
        return len(blocked)

    def renew(self) -> None:
        """Renew the lease, so that the addresses stay dropped.

        Raises:
            FirewallError: it cannot be renewed.
        """
        ports = ", ".join(map(str, self._ports))
        timed = ", ".join(f"{port} timeout {LEASE_SECONDS}s" for port in self._ports)
        add = f"add element {FAMILY} {TABLE} {PORTS} {{ {timed} }}\n"
        delete = f"delete element {FAMILY} {TABLE} {PORTS} {{ {ports} }}\n"
        # An element keeps its first timeout, so one transaction replaces it.
        self._run(add + delete + add)

    def apply(self, changes: Iterable[Change], now: int) -> int:
        """Add and remove addresses; return how many changes were made.

        Args:
            changes: the changes, in order.
            now: nanoseconds since 1970.

        Raises:
            FirewallError: some could not be made.
        """
        rest, count = iter(changes), 0
        while part := list(islice(rest, BATCH)):
            count += len(part)
            # The last change of an address counts.  Removing a missing element is an error, and an
            # element keeps its first timeout. So all are added, removed, and added again.
            last = {each.address: each.until for each in part}
            once = [(address, 60) for address in last]
            blocked = _elements("add", _blocked(last, now))
            self._run(_elements("add", once) + _elements("delete", once) + blocked)
        return count

    def listed(self) -> set[str]:
        """The addresses in the sets, as text.

        Raises:
            FirewallError: they cannot be read.
        """
        found: set[str] = set()
        for name in SETS.values():
            answer = self._run([{"list": {"set": _set(name)}}])
            for each in json.loads(answer)["nftables"]:
                for element in each.get("set", {}).get("elem", []):
                    inner = element.get("elem", element) if isinstance(element, dict) else element
                    found.add(str(inner["val"] if isinstance(inner, dict) else inner))
        return found

    def remove(self) -> None:
        """Remove the table.

        Raises:
            FirewallError: it cannot be removed.
        """
        table = {"family": FAMILY, "name": TABLE}
        self._run([{"add": {"table": table}}, {"delete": {"table": table}}])

    def _frame(self) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = [{"add": {"table": {"family": FAMILY, "name": TABLE}}}]
        for version, name in SETS.items():
            kind = f"ipv{version}_addr"
            made.append({"add": {"set": {**_set(name), "type": kind, "flags": ["timeout"]}}})
        ports = {**_set(PORTS), "type": "inet_service", "flags": ["timeout"]}
        made.append({"add": {"set": ports}})
        for hook in ("input", "forward"):
            chain = {"family": FAMILY, "table": TABLE, "name": hook}
            made.append(
                {
                    "add": {
                        "chain": {
                            **chain,
                            "type": "filter",
                            "hook": hook,
                            "prio": PRIORITY,
                            "policy": "accept",
                        }
                    }
                }
            )
            made.append({"flush": {"chain": chain}})
            made.append({"add": {"rule": {**_rule(hook), "expr": _OWN}}})
            made += [
                {"add": {"rule": {**_rule(hook), "expr": _drop(version, name)}}}
                for version, name in SETS.items()
            ]
        return made

    def _run(self, commands: list[dict[str, Any]] | str) -> str:
        """Run commands as JSON, or as text in nft's own language."""
        words = [*self._command, "-f", "-"]
        if isinstance(commands, str):
            text = commands
        else:
            text = json.dumps({"nftables": commands})
            words.append("-j")
        try:
            done = subprocess.run(  # noqa: S603 - the words are ours, the elements are addresses
                words, input=text, capture_output=True, text=True, timeout=SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise FirewallError(f"nft cannot be run: {error}") from None
        if done.returncode:
            reason = done.stderr.strip().splitlines()[:1]
            raise FirewallError(f"nft refused: {' '.join(reason)[:300]}")
        return done.stdout


def _blocked(untils: Mapping[Subject, int | None], now: int) -> list[tuple[Subject, int]]:
    """Addresses blocked after ``now``, and for how many seconds."""
    return [
        (address, max(1, (until - now + _SECOND - 1) // _SECOND))
        for address, until in untils.items()
        if until is not None and until > now
    ]


def _set(name: str) -> dict[str, str]:
    return {"family": FAMILY, "table": TABLE, "name": name}


def _rule(hook: str) -> dict[str, Any]:
    return {"family": FAMILY, "table": TABLE, "chain": hook}


def _drop(version: int, name: str) -> list[dict[str, Any]]:
    port = {"payload": {"protocol": "tcp", "field": "dport"}}
    source = {"payload": {"protocol": "ip" if version == 4 else "ip6", "field": "saddr"}}
    return [
        {"match": {"op": "==", "left": port, "right": f"@{PORTS}"}},
        {"match": {"op": "==", "left": source, "right": f"@{name}"}},
        {"counter": None},
        {"drop": None},
    ]


def _elements(verb: str, addresses: list[tuple[Subject, int]]) -> str:
    """Commands in nft's own language, which it parses in half the time of JSON."""
    made = ""
    for version, name in SETS.items():
        elements = [
            _plain(address) if verb == "delete" else f"{_plain(address)} timeout {seconds}s"
            for address, seconds in addresses
            if isinstance(address, IPv4Address) == (version == 4)
        ]
        if elements:
            made += f"{verb} element {FAMILY} {TABLE} {name} {{ {', '.join(elements)} }}\n"
    return made


def _plain(address: Subject) -> str:
    """An address without its zone, which is arbitrary text."""
    return str(address).partition("%")[0]
