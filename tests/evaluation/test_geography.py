"""Address databases."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from tidegate.evaluation.geography import AddressDatabases, Place

ADDRESS = ipaddress.ip_address("192.0.2.1")


class Database:
    """A reader that gives one entry, or fails."""

    def __init__(self, entry: Any) -> None:
        self._entry = entry

    def get(self, ip_address: Any) -> Any:
        assert ip_address == ADDRESS
        if isinstance(self._entry, Exception):
            raise self._entry
        return self._entry


def test_the_first_database_that_knows_answers() -> None:
    """Databases for countries and for networks lie side by side."""
    databases = AddressDatabases(
        Database(entry)
        for entry in (
            None,
            {"country": {"iso_code": "NL"}},
            {"country": {"iso_code": "DE"}, "autonomous_system_number": 64_496},
            {"autonomous_system_organization": "Example"},
        )
    )
    assert databases.find(ADDRESS) == Place("NL", 64_496, "Example")


@pytest.mark.parametrize(
    "entry",
    [
        None,
        {},
        [],
        "NL",
        {"country": "NL"},
        {"country": {"iso_code": 5}},
        ValueError("v6"),
        {"country": {"iso_code": "Netherlands"}},
        {"autonomous_system_number": 2**32},
        {"autonomous_system_organization": "x" * 257},
    ],
)
def test_a_broken_entry_is_no_answer(entry: Any) -> None:
    """A broken database entry counts as no answer, and the event is not refused."""
    databases = AddressDatabases([Database(entry)])
    assert databases.find(ADDRESS) == Place()


def test_content_that_is_no_database_is_refused() -> None:
    """Content that is not a database is refused when it is opened."""
    pytest.importorskip("maxminddb")
    with pytest.raises(ValueError, match="not an address database"):
        AddressDatabases.from_bytes([b"nonsense"])
