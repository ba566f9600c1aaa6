"""Address databases in decisions: both evaluators know the same of an address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from building import document, event

from tidegate.engine import Engine

if TYPE_CHECKING:
    from pathlib import Path

    from tidegate.evaluation.rules import Evaluator

KNOWN = {
    "country": 'derived.country == "NL"',
    "number": "derived.asn == 64496",
    "organization": 'derived.as_org == "Ex"',
    "nothing": 'derived.country == "" && derived.asn == 0 && derived.as_org == ""',
}


def stored(value: Any) -> bytes:
    """A value in the data format of MaxMind databases; an integer comes with its bytes."""
    match value:
        case bytes():
            return value
        case str():
            size = bytes([len(value)]) if len(value) < 29 else bytes([29, len(value) - 29])
            return bytes([2 << 5 | size[0]]) + size[1:] + value.encode()
        case int(), size:
            kind = {2: bytes([5 << 5 | 2]), 4: bytes([6 << 5 | 4]), 8: bytes([8, 2])}[size]
            return kind + value[0].to_bytes(size, "big")
        case dict():
            parts = (stored(key) + stored(each) for key, each in value.items())
            return bytes([7 << 5 | len(value)]) + b"".join(parts)
    return bytes([len(value), 4]) + b"".join(map(stored, value))


def database(entry: Any) -> bytes:
    """A database of IPv4 addresses: one entry for 128.0.0.0/1, nothing below."""
    nodes = (1).to_bytes(3, "big") + (1 + 16).to_bytes(3, "big")
    metadata = {
        "binary_format_major_version": (2, 2), "binary_format_minor_version": (0, 2),
        "build_epoch": (1, 8),
        "database_type": "Test", "description": {}, "ip_version": (4, 2), "languages": [],
        "node_count": (1, 4), "record_size": (24, 2),
    }  # fmt: skip
    return nodes + bytes(16) + stored(entry) + b"\xab\xcd\xefMaxMind.com" + stored(metadata)


COUNTRIES = database({"country": {"iso_code": "NL"}})
NETWORKS = database(
    {"autonomous_system_number": (64_496, 4), "autonomous_system_organization": "Ex"}
)
CORRUPT = database(b"\xe1")
BROKEN = database({"country": {"iso_code": (5, 2)}, "autonomous_system_number": "x"})


@pytest.mark.parametrize(
    ("databases", "known"),
    [
        ([COUNTRIES], ["country"]),
        ([NETWORKS, COUNTRIES], ["country", "number", "organization"]),
        ([BROKEN, CORRUPT, COUNTRIES], ["country"]),
    ],
)
def test_the_first_sound_answer_counts(
    evaluator: Evaluator, tmp_path: Path, databases: list[bytes], known: list[str]
) -> None:
    """Known and unknown addresses, of either family, over databases that may be damaged."""
    pytest.importorskip("maxminddb")
    paths = [tmp_path / str(number) for number in range(len(databases))]
    for path, content in zip(paths, databases, strict=True):
        path.write_bytes(content)
    actions = [{"name": name, "expression": text} for name, text in KNOWN.items()]
    engine = Engine(document(actions=actions), evaluator, address_databases=paths)
    for client_ip in ("192.0.2.1", "::ffff:192.0.2.1", "10.0.0.1", "2001:db8::1", "", "x"):
        found = engine.decide(event("/", client_ip)).matched_actions
        expected = known if client_ip.endswith("192.0.2.1") else ["nothing"]
        assert list(found) == expected, client_ip
