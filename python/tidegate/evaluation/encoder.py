"""Converts an event to the fields that expressions read: docs/fields.md."""

from __future__ import annotations

import ipaddress
import math
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from tidegate.errors import EventError
from tidegate.evaluation import geography
from tidegate.evaluation.agents.agent import Agent, agent_of, check_finding
from tidegate.evaluation.agents.user_agents import (
    ROBOT_DEVICE,
    Families,
    claimed_agent,
    families,
)
from tidegate.evaluation.clients import Client, client_of
from tidegate.evaluation.event import RawEvent, read_event
from tidegate.evaluation.geography import Place
from tidegate.evaluation.json_text import json_value, read_json
from tidegate.evaluation.target import (
    Target,
    canonical_path,
    lenient_path,
    pairs_of,
    protocol_name,
    read_target,
)
from tidegate.evaluation.variables import variable
from tidegate.functions.addresses import client_network
from tidegate.functions.conversions import double_text, string_from_bool
from tidegate.functions.text import lower, segments, upper
from tidegate.language.tree.schema import FIELD_MODEL
from tidegate.limits import DEFAULT, Limits
from tidegate.values import Map

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from tidegate.evaluation.event import Values
    from tidegate.types import Type
    from tidegate.values import Address, Network

_DECIDED = ("actions.", "entity.")
"""Names that the decision sets; events don't have them."""

_OF_THE_QUERY = {"request.query_params", "derived.repeated_params"}
_FORM = "application/x-www-form-urlencoded"
_WITH_ARGUMENTS = {"application/json", "multipart/form-data"}
_SUBNET_BITS = {4: 24, 6: 48}

Source: TypeAlias = tuple[str, ...]
"""An event member, as a path of names."""


class AddressLookup(Protocol):
    """Lookups in address databases; see ``geography.AddressDatabases``."""

    def find(self, address: Address) -> Place: ...


def encode(
    event: Mapping[str, Any] | bytes,
    names: Collection[str],
    *,
    variables: Mapping[str, Type],
    trusted_proxies: Collection[Network] = (),
    addresses: AddressLookup | None = None,
    limits: Limits = DEFAULT,
) -> dict[str, Any]:
    """The record of an event: the values of those requested fields that it has.

    Args:
        event: JSON text in bytes, or equivalent Python objects.
        names: the requested fields.
        variables: declared names with their types; those that are fields of the field model, with
            its type, are computed, any other is taken from the event.
        trusted_proxies: networks whose ``x-forwarded-for`` entries are skipped.
        addresses: the address databases, if any are configured.
        limits: the limits on an event.

    Raises:
        EventError: the event is rejected.
    """
    own = {name: declared for name, declared in variables.items() if is_variable(name, declared)}
    raw = read_event(event, frozenset(own), limits)
    request = _Request(raw, trusted_proxies, addresses, limits)
    if not _OF_THE_QUERY.isdisjoint(names):
        request.check_query()
    if not _OF_THE_AGENT.isdisjoint(names):
        check_finding(request.finding())
    if not _OF_THE_PLACE.isdisjoint(names):
        geography.check_finding(request.stated_place())
    record: dict[str, Any] = {}
    for name in names:
        found: tuple[Any, ...] = ()
        if name in own:
            found = variable(raw.members, name, own[name])
        elif name in _FIELDS:
            found = _FIELDS[name](request)
        if found:
            record[name] = found[0]
    return record


def is_variable(name: str, declared: Type) -> bool:
    """Whether a declared name is taken from the event unchanged, rather than computed."""
    if name.startswith(_DECIDED):
        return False
    return name not in FIELD_MODEL or str(FIELD_MODEL[name]) != str(declared)


class _Request:
    """The parts of one event from which fields are computed."""

    def __init__(
        self,
        raw: RawEvent,
        trusted_proxies: Collection[Network],
        addresses: AddressLookup | None,
        limits: Limits,
    ) -> None:
        self.raw = raw
        self.addresses = addresses
        self.limits = limits
        self._trusted_proxies = trusted_proxies

    def text(self, name: str) -> str:
        return self.raw.texts.get(name, "")

    def text_or_header(self, name: str, header: str) -> str:
        found = self.raw.texts.get(name)
        return self.headers().get(header, "") if found is None else found

    def map(self, name: str) -> Map:
        return Map(_joined(self.values(name)).items(), total=True)

    def values(self, name: str) -> Values:
        """The values of each name in an object; parameters may be only in the query."""
        own = self.raw.maps[name]
        return own if own or name != "query_params" else _grouped(pairs_of(self.query()))

    def headers(self) -> dict[str, str]:
        """Names in lower case; values of equal names are joined at the position of the first."""
        found = self.raw.maps["headers"].items()
        return _joined(_grouped((lower(name), each) for name, values in found for each in values))

    def target(self) -> Target:
        return read_target(self.text("path"))

    def path(self) -> str:
        return canonical_path(self.target().path)

    def scheme(self) -> str:
        own = self.raw.texts.get("scheme")
        return self.target().scheme or "" if own is None else own

    def query(self) -> str:
        own = self.raw.texts.get("query")
        return self.target().query or "" if own is None else own

    def check_query(self) -> None:
        """Reject a query with more pairs than an object may have members."""
        most = self.limits.event_members
        if sum(map(bool, self.query().split("&"))) > most:
            member = "query" if "query" in self.raw.texts else "path"
            raise EventError(f"the query has more than {most} parameters", f"/request/{member}")

    def arguments(self) -> list[Map]:
        """The first arguments, as many as an object may have members."""
        return [
            Map({"name": name, "value": value, "where": where}.items())
            for where, name, value in islice(self._arguments(), self.limits.event_members)
        ]

    def has_more_arguments(self) -> bool:
        """Whether the request may have other arguments than :meth:`arguments`."""
        most = self.limits.event_members
        return self._is_body_unread() or any(True for _ in islice(self._arguments(), most, None))

    def _arguments(self) -> Iterator[tuple[str, str, str]]:
        """The pairs in the query, in order; without a query, those of ``query_params``.  Then those
        of a form in the body, or the scalars of a JSON body.
        """
        given = self.raw.maps["query_params"].items()
        pairs = pairs_of(self.query()) or [(name, each) for name, all_ in given for each in all_]
        yield from (("query", name, value) for name, value in pairs)
        body = self.raw.body
        if body is not None and body.kind == "string" and self._media_type() == _FORM:
            yield from (("form", name, value) for name, value in pairs_of(body.content))
        else:
            yield from (("json", *leaf) for value in self.body() for leaf in _leaves("", value))

    def _is_body_unread(self) -> bool:
        """Whether there is a body that has arguments by its form, and isn't read."""
        body = self.raw.body
        if body is None or self.body():
            return False
        kind = self._media_type()
        is_of_text = kind in _WITH_ARGUMENTS or kind.endswith("+json")
        return body.kind != "string" or (body.content != "" and is_of_text)

    def _media_type(self) -> str:
        content_type = self.text_or_header("content_type", "content-type")
        return lower(content_type.partition(";")[0]).strip(" \t")

    def body(self) -> tuple[Any, ...]:
        """The value of a body that is JSON, in a one-element tuple."""
        body = self.raw.body
        if body is None:
            return ()
        try:
            if body.kind == "string":
                body = read_json(body.content.encode(), self.limits)
            value = json_value(body)
        except (EventError, TypeError, ValueError):
            return ()
        return (value,) if _is_finite(value) else ()

    def repeated(self, name: str) -> list[str]:
        """The names in an object that have several values."""
        return [each for each, values in self.values(name).items() if len(values) > 1]

    def client(self) -> Client:
        chain = self.headers().get("x-forwarded-for")
        return client_of(self.raw.texts.get("client_ip"), chain, self._trusted_proxies)

    def client_address(self) -> Address | None:
        return self.client().address

    def families(self) -> Families:
        user_agent = self.text_or_header("user_agent", "user-agent")
        return families(user_agent) if user_agent else Families("", "", "")

    def finding(self) -> dict[str, str]:
        return _joined(self.values("agent"))

    def agent(self) -> Agent:
        user_agent = self.text_or_header("user_agent", "user-agent")
        return agent_of(self.finding(), claimed_agent(user_agent), self.client_address())

    def stated_place(self) -> dict[str, str]:
        return _joined(self.values("geo"))

    def place(self) -> Place:
        """The place that the event states, or else that databases know."""
        finding = self.stated_place()
        if finding:
            return geography.stated(finding)
        address = self.client_address()
        if self.addresses is None or address is None:
            return Place()
        return self.addresses.find(address)


def _extension(path: str) -> str:
    stem, dot, extension = path.rpartition("/")[2].rpartition(".")
    return lower(extension) if dot and stem else ""


def _grouped(pairs: Iterable[tuple[str, str]]) -> Values:
    found: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        found[name] = (*found.get(name, ()), value)
    return found


def _joined(values: Values) -> dict[str, str]:
    """One text for each name.

    All values count, since the back end chooses which of them it uses.
    """
    return {name: ", ".join(each) for name, each in values.items()}


def _host(request: _Request) -> str:
    own, absolute = request.raw.texts.get("host"), request.target().host
    header = request.headers().get("host", "")
    host = lower(next((each for each in (own, absolute) if each is not None), header))
    name, colon, port = host.rpartition(":")
    is_port = colon and all(digit in "0123456789" for digit in port)
    in_brackets = name.startswith("[") and name.endswith("]") and "]" not in name[1:-1]
    is_whole = in_brackets or ("[" not in name[:1] and ":" not in name)
    # The dot is the root of all names: a resolver and a proxy find the same host with it.
    return (name if is_port and is_whole else host).removesuffix(".")


def _subnet(request: _Request) -> str:
    address = request.client_address()
    if address is None:
        return ""
    interface = ipaddress.ip_interface((address, _SUBNET_BITS[address.version]))
    return interface.network.with_prefixlen


def _client_network(request: _Request) -> str:
    address = request.client_address()
    return "" if address is None else client_network(address)


def _version(request: _Request) -> int:
    address = request.client_address()
    return address.version if address else 0


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """The scalars in a value of JSON, each with the names that lead to it, joined by dots.

    Values and keys that only a dict can have are ``""``.
    """
    if isinstance(value, (Map, list)):
        parts = value.items() if isinstance(value, Map) else enumerate(value)
        for key, part in parts:
            step = "" if isinstance(value, Map) and not isinstance(key, str) else str(key)
            yield from _leaves(f"{name}.{step}" if name else step, part)
    else:
        yield name, _scalar_text(value)


def _scalar_text(value: Any) -> str:
    if isinstance(value, bool):
        return string_from_bool(value)
    if isinstance(value, float):
        return double_text(value)
    return str(value) if isinstance(value, (str, int)) else ""


def _is_finite(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_finite, value))
    if isinstance(value, Map):
        return all(map(_is_finite, value.values()))
    return not isinstance(value, float) or math.isfinite(value)


_FIELDS: Mapping[str, Callable[[_Request], tuple[Any, ...]]] = {
    "request.method": lambda r: (upper(r.text("method")),),
    "request.protocol": lambda r: (protocol_name(r.text("protocol")),),
    "request.scheme": lambda r: (lower(r.scheme()),),
    "request.host": lambda r: (_host(r),),
    "request.path": lambda r: (r.path(),),
    "request.raw_path": lambda r: (r.text("path"),),
    "request.query": lambda r: (r.query(),),
    "request.arguments": lambda r: (r.arguments(),),
    "request.query_params": lambda r: (r.map("query_params"),),
    "request.headers": lambda r: (Map(r.headers().items(), total=True),),
    "request.cookies": lambda r: (r.map("cookies"),),
    "request.route_params": lambda r: (r.map("route_params"),),
    "request.user_agent": lambda r: (r.text_or_header("user_agent", "user-agent"),),
    "request.referer": lambda r: (r.text_or_header("referer", "referer"),),
    "request.content_type": lambda r: (r.text_or_header("content_type", "content-type"),),
    "request.client_ip": lambda r: (str(r.client_address() or ""),),
    "request.body": lambda r: r.body(),
    "source": lambda r: (r.text("source"),),
    "observed_at": lambda r: () if r.raw.observed_at is None else (r.raw.observed_at,),
    "fields": lambda r: (r.map("fields"),),
    "derived.ip_version": lambda r: (_version(r),),
    "derived.ip_subnet": lambda r: (_subnet(r),),
    "derived.client_network": lambda r: (_client_network(r),),
    "derived.client_ip_problem": lambda r: (r.client().problem or "",),
    "derived.path_segments": lambda r: (segments(r.path()),),
    "derived.path_extension": lambda r: (_extension(r.path()),),
    "derived.lenient_path": lambda r: (lenient_path(r.target().path),),
    "derived.repeated_params": lambda r: (r.repeated("query_params"),),
    "derived.repeated_cookies": lambda r: (r.repeated("cookies"),),
    "derived.arguments_incomplete": lambda r: (r.has_more_arguments(),),
    "derived.ua_family": lambda r: (r.families().browser,),
    "derived.ua_os": lambda r: (r.families().system,),
    "derived.ua_device": lambda r: (r.families().device,),
    "derived.is_bot": lambda r: (r.families().device == ROBOT_DEVICE,),
    "agent.operator": lambda r: (r.agent().operator,),
    "agent.product": lambda r: (r.agent().product,),
    "agent.purpose": lambda r: (r.agent().purpose,),
    "agent.proof": lambda r: (r.agent().proof,),
    "agent.claims": lambda r: (r.agent().claims,),
    "agent.is_provable": lambda r: (r.agent().is_provable,),
    "agent.signature_problem": lambda r: (r.agent().signature_problem,),
    "derived.country": lambda r: (r.place().country,),
    "derived.asn": lambda r: (r.place().asn,),
    "derived.as_org": lambda r: (r.place().organization,),
}
"""Every field of the model: its value in a one-element tuple, or ``()`` if it is absent."""
_OF_THE_AGENT = frozenset(name for name in _FIELDS if name.startswith("agent."))
_OF_THE_PLACE = frozenset({"derived.country", "derived.asn", "derived.as_org"})


class _NotedHeaders(dict[str, str]):
    """Headers that are all absent: records which are requested."""

    def __init__(self, found: set[Source]) -> None:
        super().__init__()
        self._found = found

    def get(self, name: str, default: Any = None, /) -> Any:
        self._found.add(("request", "headers", name))
        return default

    def items(self) -> Any:
        self._found.add(("request", "headers"))
        return super().items()


class _NotedMaps(dict[str, Any]):
    """Objects without members: records which are requested."""

    def __init__(self, found: set[Source]) -> None:
        super().__init__()
        self._found = found

    def __missing__(self, name: str) -> dict[str, Any]:
        if name not in ("agent", "geo"):  # their members have names of the model
            self._found.add(("fields",) if name == "fields" else ("request", name))
        return {}


class _NotedTexts(dict[str, str]):
    """Texts that are absent: a requested query has every parameter."""

    def __init__(self, found: set[Source]) -> None:
        super().__init__()
        self._found = found

    def get(self, name: str, default: Any = None, /) -> Any:
        if name == "query":
            self._found.add(("request", "query_params"))
        return default


class _NotedEvent:
    """An event with no content: records what is requested."""

    members: Mapping[str, Any] = {}
    observed_at = None

    def __init__(self, found: set[Source]) -> None:
        self.maps = _NotedMaps(found)
        self.texts = _NotedTexts(found)
        self._found = found

    @property
    def body(self) -> None:
        self._found.add(("fields", "body"))


class _Noting(_Request):
    """Computes fields of an empty event, and records what they request from it."""

    def __init__(self) -> None:
        self.found: set[Source] = set()
        super().__init__(cast("RawEvent", _NotedEvent(self.found)), (), None, DEFAULT)

    def headers(self) -> dict[str, str]:
        return _NotedHeaders(self.found)


@cache
def sources(name: str) -> frozenset[Source]:
    """The members with author-chosen names that a field of the model is computed from.

    The field is computed once from an empty event, and its requests are recorded. So it is looked
    up wherever an event may have the value: ``request.user_agent`` is a member of its own, which is
    not in the result, or a header, which is.
    """
    noting = _Noting()
    if name in _FIELDS:
        _FIELDS[name](noting)
    return frozenset(noting.found)
