"""What address databases (MaxMind DB) say of a client address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.values import Address


class Reader(Protocol):
    """An open database, such as ``maxminddb.Reader``."""

    def get(self, ip_address: Any) -> Any:
        """The entry of an address, or None."""


class AddressDatabases:
    """Databases that are asked in order; the first that knows an answer gives it.

    A broken entry counts as no answer: an event is never refused for it.
    """

    def __init__(self, readers: Iterable[Reader]) -> None:
        self._readers = tuple(readers)

    @classmethod
    def from_bytes(cls, contents: Iterable[bytes]) -> AddressDatabases:
        """Open databases, each given as the content of its file.

        Raises:
            ValueError: a content is no such database.
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

    def country(self, address: Address) -> str:
        """The ISO code of the country, ``""`` when it is not known."""
        found = self._find(address, "country", "iso_code")
        return found if isinstance(found, str) else ""

    def asn(self, address: Address) -> int:
        """The number of the autonomous system, 0 when it is not known."""
        found = self._find(address, "autonomous_system_number")
        return found if type(found) is int else 0

    def as_organization(self, address: Address) -> str:
        """Who runs the autonomous system, ``""`` when it is not known."""
        found = self._find(address, "autonomous_system_organization")
        return found if isinstance(found, str) else ""

    def _find(self, address: Address, *keys: str) -> Any:
        for reader in self._readers:
            try:
                found = reader.get(address)
            except ValueError:  # a database of IPv4 addresses only, or a broken entry
                continue
            for key in keys:
                found = found.get(key) if isinstance(found, dict) else None
            if found is not None:
                return found
        return None
