"""An event's request, as shown with a decision."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial

import attrs

from tidegate.evaluation.encoder import encode
from tidegate.evaluation.rules import Evaluator, bundle, read_rules
from tidegate.functions.addresses import parse_range
from tidegate.language.check.checker import check
from tidegate.language.tree.schema import FIELD_MODEL, Schema
from tidegate.values import Network

_FIELDS = ("request.client_ip", "request.method", "request.path")
_TEXTS = "[" + ", ".join(f'has({each}) ? {each} : ""' for each in _FIELDS) + "]"
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
        evaluator: reads the events.
    """

    def __init__(self, trusted_proxies: Collection[str], evaluator: Evaluator = "native") -> None:
        networks = [found for each in trusted_proxies if (found := parse_range(each)) is not None]
        self._read = _native(networks) if evaluator == "native" else partial(_encoded, networks)

    def of(self, event: bytes) -> Subject:
        """The request of a decided event.

        Raises:
            EventError: the event is rejected.
        """
        return Subject(*self._read(event))


def _native(trusted: Sequence[Network]) -> Callable[[bytes], Iterable[str]]:
    rules = bundle({"": check(_TEXTS)}, Schema.default(), trusted_proxies=trusted)
    return partial(read_rules(rules, "native").evaluate, 0)


def _encoded(trusted: Sequence[Network], event: bytes) -> Iterable[str]:
    record = encode(event, _FIELDS, variables=FIELD_MODEL, trusted_proxies=trusted)
    return (str(record.get(each, "")) for each in _FIELDS)
