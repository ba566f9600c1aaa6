"""An event's request, as shown with a decision."""

from __future__ import annotations

from collections.abc import Collection

import attrs

from tidegate.evaluation.encoder import encode
from tidegate.functions.addresses import parse_range
from tidegate.language.tree.schema import FIELD_MODEL

_FIELDS = ("request.client_ip", "request.method", "request.path")
_SHOWN = 200
"""Characters of a path."""


@attrs.frozen
class Subject:
    """Address, method and path of a request."""

    client_ip: str
    method: str
    path: str

    def __str__(self) -> str:
        shown = f"{self.method or '-'} {self.path[:_SHOWN]}"
        # The visitor chose the path, so make terminal control characters visible.
        return f"{self.client_ip or '-'} {shown.encode('unicode_escape').decode()}"


class Subjects:
    """Reads the requests of events as the engine does.

    Args:
        trusted_proxies: trusted networks of the definitions.
    """

    def __init__(self, trusted_proxies: Collection[str]) -> None:
        self._trusted = [
            network for each in trusted_proxies if (network := parse_range(each)) is not None
        ]

    def of(self, event: bytes) -> Subject:
        """The request of a decided event.

        Raises:
            EventError: the event is rejected.
        """
        record = encode(event, _FIELDS, variables=FIELD_MODEL, trusted_proxies=self._trusted)
        return Subject(
            str(record.get("request.client_ip", "")),
            str(record.get("request.method", "")),
            str(record.get("request.path", "")),
        )
