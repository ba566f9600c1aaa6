"""Forms of addresses as sources and proxies write them, each with its right reading."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

_FILE = Path(__file__).parent / "data" / "address_forms.jsonl"


@attrs.frozen
class AddressForm:
    """One form.

    Attributes:
        client_ip: the member of the request, None when it is absent.
        forwarded_for: the header ``x-forwarded-for``, None when it is absent.
        trusted: the trusted proxies.
        address: the client's; empty where it isn't certain.
        problem: why it isn't; empty where it is.
    """

    client_ip: str | None
    forwarded_for: str | None
    trusted: tuple[str, ...]
    address: str
    problem: str

    @property
    def request(self) -> dict[str, Any]:
        """The request of an event of this form."""
        chain = self.forwarded_for
        headers = {} if chain is None else {"headers": {"X-Forwarded-For": chain}}
        given = {} if self.client_ip is None else {"client_ip": self.client_ip}
        return {"method": "GET", "path": "/", **given, **headers}

    def __str__(self) -> str:
        return repr(self.client_ip if self.forwarded_for is None else self.forwarded_for)


def address_forms() -> Sequence[AddressForm]:
    """All forms of the file."""
    rows = [json.loads(line) for line in _FILE.read_text().splitlines()]
    return [
        AddressForm(
            row.get("client_ip"),
            row.get("x-forwarded-for"),
            tuple(row.get("trusted", ())),
            row.get("address", ""),
            row.get("problem", ""),
        )
        for row in rows
    ]
