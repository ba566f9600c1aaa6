"""The programs that tests start and that pip does not bring, by the fixtures of tests.

``python tests/tiers/programs.py`` says which are missing and how Debian names their packages. It
exits with 1 when one is, and needs nothing but Python.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

NEEDED: Mapping[str, Mapping[str, str]] = {
    "browser": {"chromium": "chromium"},
    "postgresql": {"initdb": "postgresql"},
    "proxy": {"nginx": "nginx", "caddy": "caddy", "haproxy": "haproxy"},
    "broker": {"nats-server": "nats-server"},
    "namespace": {"ip": "iproute2", "nft": "nftables"},
    "node": {"node": "nodejs"},
    "editor": {"nvim": "neovim"},
}
"""Programs by fixture, each with its package in Debian and Ubuntu."""
_VERSIONS_OF_POSTGRESQL = Path("/usr/lib/postgresql")


def places() -> str:
    """Where programs are looked for: PATH, and places of the distribution that may not be on it."""
    servers = sorted(_VERSIONS_OF_POSTGRESQL.glob("*/bin"), reverse=True)
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", *map(str, servers)])


def missing(fixtures: Sequence[str] = tuple(NEEDED)) -> Iterator[tuple[str, str]]:
    """Programs that are not on this machine, with their packages."""
    for fixture in fixtures:
        for program, package in NEEDED.get(fixture, {}).items():
            if shutil.which(program, path=places()) is None:
                yield program, package


def main() -> int:
    """Say what is needed, and what is missing."""
    everything = [program for programs in NEEDED.values() for program in programs]
    absent = dict(missing())
    if "--missing" in sys.argv[1:]:
        print(*absent.values())
        return 0
    print("The tests start these programs:", ", ".join(everything))
    if absent:
        print("Missing here:", ", ".join(absent), file=sys.stderr)
        packages = " ".join(absent.values())
        print(f"On Debian or Ubuntu: apt-get install {packages}", file=sys.stderr)
    return 1 if absent else 0


if __name__ == "__main__":
    sys.exit(main())
