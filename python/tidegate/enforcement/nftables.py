"""A set of addresses for each family in a table of our own, filled through ``nft -f -``.

The kernel forgets an element when its timeout ends, so a daemon that stops or loses its service
leaves nobody out for longer than was decided.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Address
from itertools import islice
from typing import TYPE_CHECKING, Any

from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from tidegate.enforcement.blocks import Address, Change

FAMILY, TABLE = "inet", "tidegate"
SETS = {4: "blocked4", 6: "blocked6"}
BATCH = 20_000
"""Elements that one run of nft is given."""
SECONDS = 30
PRIORITY = -150
_SECOND = 1_000_000_000


class FirewallError(TidegateError):
    """The kernel's packet filter could not be changed; the message has its reason."""

    code = "firewall"


class Firewall:
    """The table.

    Args:
        command: that runs nft, as its words.
    """

    def __init__(self, command: Sequence[str] = ("nft",)) -> None:
        self._command = list(command)

    def set_up(self) -> None:
        """Make the table, its sets and chains; existing ones stay.

        Raises:
            FirewallError: it cannot be made.
        """
        self._run(self._frame())

    def replace(self, changes: Iterable[Change], now: int) -> int:
        """Have exactly these addresses in the sets; how many there are.

        Raises:
            FirewallError: they cannot be put there.
        """
        flush = [{"flush": {"set": _set(name)}} for name in SETS.values()]
        self._run([*self._frame(), *flush])
        blocked = _blocked({each.address: each.until for each in changes}, now)
        for start in range(0, len(blocked), BATCH):
            self._run(_elements("add", blocked[start : start + BATCH]))
        return len(blocked)

    def apply(self, changes: Iterable[Change], now: int) -> int:
        """Add and remove addresses; how many changes were made.

        Args:
            changes: in order.
            now: nanoseconds since 1970.

        Raises:
            FirewallError: some could not be made.
        """
        rest, count = iter(changes), 0
        while part := list(islice(rest, BATCH)):
            count += len(part)
            # The last word on an address counts.  To remove what is not there would be an error,
            # and an element keeps its first timeout: so all are added, removed, and added anew.
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
            made += [_rule(hook, version, name) for version, name in SETS.items()]
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


def _blocked(untils: Mapping[Address, int | None], now: int) -> list[tuple[Address, int]]:
    """Addresses that are blocked after ``now``, and for how many seconds."""
    return [
        (address, max(1, (until - now + _SECOND - 1) // _SECOND))
        for address, until in untils.items()
        if until is not None and until > now
    ]


def _set(name: str) -> dict[str, str]:
    return {"family": FAMILY, "table": TABLE, "name": name}


def _rule(hook: str, version: int, name: str) -> dict[str, Any]:
    protocol = "ip" if version == 4 else "ip6"
    source = {"payload": {"protocol": protocol, "field": "saddr"}}
    test = {"match": {"op": "==", "left": source, "right": f"@{name}"}}
    return {
        "add": {
            "rule": {
                "family": FAMILY,
                "table": TABLE,
                "chain": hook,
                "expr": [test, {"counter": None}, {"drop": None}],
            }
        }
    }


def _elements(verb: str, addresses: list[tuple[Address, int]]) -> str:
    """Commands in nft's own language, which it reads in half the time of JSON."""
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


def _plain(address: Address) -> str:
    """An address without a zone, whose text is anybody's."""
    return str(address).partition("%")[0]
