"""Data about a client address from address databases (MaxMind DB)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tidegate.evaluation.place import COUNTRY, MAX_ASN, Place
from tidegate.values import utf8_length

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.values import Address

T = TypeVar("T")
MAX_ORGANIZATION_BYTES = 256
"""The longest name of an organization that is used."""


class Reader(Protocol):
    """An open database, such as ``maxminddb.Reader``."""

    def get(self, ip_address: Any) -> Any:
        """The entry for an address, or None."""


class AddressDatabases:
    """Databases queried in order; the first answer counts.

    A broken entry counts as no answer: an event is never rejected because of it.
    """

    def __init__(self, readers: Iterable[Reader]) -> None:
        self._readers = tuple(readers)

    @classmethod
    def from_bytes(cls, contents: Iterable[bytes]) -> AddressDatabases:
        """Open databases from the contents of their files.

        Raises:
            ValueError: a file isn't such a database.
            ImportError: the extra ``geo`` is not installed.
        """
        import io

        import maxminddb

        try:
            return cls(
                maxminddb.open_database(io.BytesIO(content), maxminddb.MODE_FD)
                for content in contents
            )
        except maxminddb.InvalidDatabaseError as error:
            raise ValueError(f"not an address database: {error}") from error

    def find(self, address: Address) -> Place:
        """What is known of an address."""
        found = Place()
        for reader in self._readers:
            try:
                entry = reader.get(address)
            # A database with IPv4 addresses only, or a corrupt one (the reader's own error).
            except (ValueError, RuntimeError):
                continue
            found = found.completed_by(_place(entry))
        return found


def _place(entry: Any) -> Place:
    country = _member(str, _member(dict, entry, "country"), "iso_code")
    number = _member(int, entry, "autonomous_system_number")
    organization = _member(str, entry, "autonomous_system_organization") or ""
    return Place(
        country if country and COUNTRY.fullmatch(country) else "",
        number if number and number <= MAX_ASN else 0,
        organization if utf8_length(organization) <= MAX_ORGANIZATION_BYTES else "",
    )


def _member(wanted: type[T], entry: Any, key: str) -> T | None:
    found = entry.get(key) if isinstance(entry, dict) else None
    return found if type(found) is wanted else None
