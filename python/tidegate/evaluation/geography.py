"""Where the client of an event is: docs/fields.md, "Country and network".

An event may have a finding, the member ``geo``: what a service found in its address databases, or
what the source itself knew, before the decision.  It is recorded with the event, so no database is
needed to decide again.  Databases (MaxMind DB) may also be asked while it is decided.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import attrs

from tidegate.errors import EventError
from tidegate.event_form import MEMBERS_OF_GEO
from tidegate.values import utf8_length

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tidegate.values import Address

T = TypeVar("T")
COUNTRY = re.compile("[A-Z0-9]{2}", re.ASCII)
"""The form of an ISO code of a country; some databases have others, as ``T1``."""
MAX_ASN = 2**32 - 1
MAX_ORGANIZATION_BYTES = 256
"""The longest name of an organization that is used."""
_NUMBER = re.compile("0*[0-9]{0,10}", re.ASCII)


@attrs.frozen
class Place:
    """Where a client is; empty or 0 where nothing is known.

    Attributes:
        country: the ISO code of the country.
        asn: the number of the autonomous system.
        organization: the organization that runs it.
    """

    country: str = ""
    asn: int = 0
    organization: str = ""

    def completed_by(self, other: Place) -> Place:
        """This place, with what another knows where this has nothing."""
        return Place(
            self.country or other.country,
            self.asn or other.asn,
            self.organization or other.organization,
        )


def check_finding(finding: Mapping[str, str]) -> None:
    """Reject a finding that can't be used.

    Args:
        finding: its members, joined as in other objects of an event.

    Raises:
        EventError: a member is unknown, or the country or the number has another form.
    """
    for name in finding:
        if name not in MEMBERS_OF_GEO:
            known = "`, `".join(MEMBERS_OF_GEO)
            raise _refused(f"`geo` has no such member; its members are `{known}`", name)
    country = finding.get("country", "")
    if country and not COUNTRY.fullmatch(country):
        raise _refused("must be a country code of two capitals, as `NL`", "country")
    number = finding.get("asn", "")
    if number and not (_NUMBER.fullmatch(number) and _number(number) <= MAX_ASN):
        raise _refused(f"must be a whole number from 0 to {MAX_ASN}", "asn")


def stated(finding: Mapping[str, str]) -> Place:
    """The place that a checked finding states."""
    return Place(
        finding.get("country", ""), _number(finding.get("asn", "")), finding.get("as_org", "")
    )


def _number(text: str) -> int:
    return int(text.lstrip("0") or 0)


def _refused(message: str, member: str) -> EventError:
    step = member.replace("~", "~0").replace("/", "~1")
    return EventError(message, f"/geo/{step}")


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
        """Everything that the databases know of an address."""
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
