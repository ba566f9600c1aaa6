"""Small address databases in MaxMind's format, as the makers of real ones write them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmdb_writer import MMDBWriter
from netaddr import IPSet

COUNTRIES: Mapping[str, Any] = {
    "192.0.2.0/24": {"country": {"iso_code": "NL", "names": {"en": "Netherlands"}}},
    "198.51.100.0/24": {"country": {"iso_code": "DE", "names": {"en": "Germany"}}},
    "2001:db8::/32": {"country": {"iso_code": "BE"}},
}
NETWORKS: Mapping[str, Any] = {
    "192.0.2.0/24": {
        "autonomous_system_number": 64_496,
        "autonomous_system_organization": 'Example "One"',
    },
    "2001:db8::/32": {"autonomous_system_number": 4_200_000_001},
}


def write(
    path: Path,
    entries: Mapping[str, Any] = COUNTRIES,
    *,
    kind: str = "GeoLite2-Country",
    version: int = 6,
) -> Path:
    """Write a database, and put it where another may be in use.

    Args:
        path: of the file.
        entries: what is known, by network.
        kind: the type that the database says it has.
        version: 4 for a database of IPv4 alone.
    """
    made = MMDBWriter(version, kind, ["en"], "Test", ipv4_compatible=version == 6)
    for network, entry in entries.items():
        made.insert_network(IPSet([network]), entry)
    new = path.with_suffix(".new")
    made.to_db_file(str(new))
    os.replace(new, path)
    return path
