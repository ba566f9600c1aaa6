"""The host's schema: fields with their types, named lists, extra functions."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import attrs

from tidegate.types import (
    BOOL,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    ListType,
    MapType,
    NamedList,
    Signature,
    Type,
    parse_signature,
    parse_type,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_TEXTS = MapType(STRING, STRING)
_NAMES = ListType(STRING)

FIELD_MODEL: Mapping[str, Type] = {
    "request.method": STRING,
    "request.protocol": STRING,
    "request.scheme": STRING,
    "request.host": STRING,
    "request.path": STRING,
    "request.raw_path": STRING,
    "request.query": STRING,
    "request.arguments": ListType(_TEXTS),
    "request.query_params": _TEXTS,
    "request.headers": _TEXTS,
    "request.cookies": _TEXTS,
    "request.route_params": _TEXTS,
    "request.user_agent": STRING,
    "request.referer": STRING,
    "request.content_type": STRING,
    "request.client_ip": STRING,
    "request.body": DYN,
    "source": STRING,
    "observed_at": TIMESTAMP,
    "fields": _TEXTS,
    "derived.ip_version": INT,
    "derived.ip_subnet": STRING,
    "derived.client_network": STRING,
    "derived.client_ip_problem": STRING,
    "derived.path_segments": _NAMES,
    "derived.path_extension": STRING,
    "derived.lenient_path": STRING,
    "derived.repeated_params": _NAMES,
    "derived.repeated_cookies": _NAMES,
    "derived.arguments_incomplete": BOOL,
    "derived.ua_family": STRING,
    "derived.ua_os": STRING,
    "derived.ua_device": STRING,
    "derived.is_bot": BOOL,
    "derived.country": STRING,
    "derived.asn": INT,
    "derived.as_org": STRING,
    "agent.operator": STRING,
    "agent.product": STRING,
    "agent.purpose": STRING,
    "agent.proof": STRING,
    "agent.claims": STRING,
    "agent.is_provable": BOOL,
    "agent.signature_problem": STRING,
}
"""The stable field model of the language; the names never change meaning."""

ENTITY_STATE: Mapping[str, Type] = {
    "entity.event_count": INT,
    "entity.first_seen_at": TIMESTAMP,
    "entity.last_seen_at": TIMESTAMP,
}


@attrs.frozen
class Schema:
    """The names an expression may use.  Each ``with_`` method returns a new schema.

    Attributes:
        fields: full name to type.
        lists: named lists, reachable through ``inList`` only.
        functions: declared by the host in addition to the standard ones; checked, not run.
        container: the namespace searched first.
    """

    fields: Mapping[str, Type] = attrs.field(factory=dict)
    lists: Mapping[str, NamedList] = attrs.field(factory=dict)
    functions: tuple[Signature, ...] = ()
    container: str = ""
    namespaces: frozenset[str] = attrs.field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "namespaces", _namespaces(self.fields))

    @staticmethod
    def default() -> Schema:
        """The field model of traffic events."""
        return _default()

    @staticmethod
    def empty() -> Schema:
        """No fields at all; the standard functions are always available."""
        return Schema()

    def with_variables(self, types: Mapping[str, Type | str]) -> Schema:
        """Declare fields or variables; a type may be given in its text form.

        Raises:
            ValueError: a type's text is invalid.
        """
        added = {
            name: parse_type(kind) if isinstance(kind, str) else kind
            for name, kind in types.items()
        }
        return attrs.evolve(self, fields={**self.fields, **added})

    def with_actions(self, slugs: Iterable[str]) -> Schema:
        """Declare ``actions.SLUG``, a bool, for each action."""
        return self.with_variables({f"actions.{slug}": BOOL for slug in slugs})

    def with_entity_state(self) -> Schema:
        """Declare the state of the bound entity."""
        return self.with_variables(ENTITY_STATE)

    def with_lists(self, lists: Mapping[str, NamedList | Iterable[str]]) -> Schema:
        """Declare named lists; plain entries form an ``ip`` list if all are addresses."""
        added = {
            name: entries if isinstance(entries, NamedList) else _named_list(entries)
            for name, entries in lists.items()
        }
        return attrs.evolve(self, lists={**self.lists, **added})

    def with_functions(self, signatures: Iterable[Signature | str]) -> Schema:
        """Declare functions that can be checked but not evaluated.

        Raises:
            ValueError: a signature's text is invalid.
        """
        added = tuple(
            parse_signature(item) if isinstance(item, str) else item for item in signatures
        )
        return attrs.evolve(self, functions=self.functions + added)

    def with_container(self, container: str) -> Schema:
        """Search this namespace first, then the enclosing ones."""
        return attrs.evolve(self, container=container)


@cache
def _default() -> Schema:
    return Schema(FIELD_MODEL)


def _namespaces(names: Iterable[str]) -> frozenset[str]:
    """Every proper dotted prefix of the names."""
    return frozenset(
        name[:at] for name in names for at, character in enumerate(name) if character == "."
    )


_ADDRESS = re.compile(r"[0-9.]+(/[0-9]+)?|[0-9A-Fa-f:]*:[0-9A-Fa-f:]*(/[0-9]+)?")


def _named_list(entries: Iterable[str]) -> NamedList:
    texts = tuple(entries)
    addresses = bool(texts) and all(_ADDRESS.fullmatch(text) for text in texts)
    return NamedList("ip" if addresses else "string", texts)
