"""Data about a client address from address databases (MaxMind DB)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.values import Address


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

    def country(self, address: Address) -> str:
        """The ISO code of the country, ``""`` if unknown."""
        return str(self._find(str, address, "country", "iso_code") or "")

    def asn(self, address: Address) -> int:
        """The number of the autonomous system, 0 if unknown."""
        return int(self._find(int, address, "autonomous_system_number") or 0)

    def as_organization(self, address: Address) -> str:
        """The organisation of the autonomous system, ``""`` if unknown."""
        return str(self._find(str, address, "autonomous_system_organization") or "")

    def _find(self, wanted: type, address: Address, *keys: str) -> Any:
        for reader in self._readers:
            try:
                found = reader.get(address)
            # A database with IPv4 addresses only, or a corrupt one (the reader's own error).
            except (ValueError, RuntimeError):
                continue
            for key in keys:
                found = found.get(key) if isinstance(found, dict) else None
            if type(found) is wanted:
                return found
        return None
