"""The components of a request that a signature covers, and its base (RFC 9421, 2)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeAlias
from urllib.parse import quote, unquote_plus

import attrs
import http_sf

from tidegate.evaluation.target import Target, read_target

Params: TypeAlias = Mapping[str, Any]
Component: TypeAlias = tuple[str, Params]
_DEFAULT_PORTS = {"https": ":443", "http": ":80"}
_DIGESTS = {"sha-256": hashlib.sha256, "sha-512": hashlib.sha512}
MOST_CHARACTERS = 8_192
"""The longest value of a header that is read as a structured field."""
MOST_COMPONENTS = 32


class UnverifiableError(Exception):
    """A signature can't be verified; the code says why.

    Attributes:
        code: one of the problems in docs/agents.md.
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def _refuse_twice(_key: str, _context: str) -> None:
    raise UnverifiableError("unreadable")


def dictionary(text: str) -> dict[str, Any]:
    """Return the members of a Dictionary (RFC 9651); each key once.

    Raises:
        UnverifiableError: the text isn't one.
    """
    if len(text) > MOST_CHARACTERS:
        raise UnverifiableError("unreadable")
    try:
        found = http_sf.parse(text.encode(), None, "dictionary", _refuse_twice)
    except (ValueError, UnicodeEncodeError):
        raise UnverifiableError("unreadable") from None
    assert isinstance(found, dict)
    return found


@attrs.frozen(slots=False)
class Message:
    """A request as an event describes it.

    Attributes:
        request: the member ``request`` of the event.
        body: the text of the body, if the event has it.
    """

    request: Mapping[str, Any]
    body: str | None = None

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """Values by name in lower case; several values are joined, each without space around it."""
        found: dict[str, list[str]] = {}
        for name, value in (self.request.get("headers") or {}).items():
            values = value if isinstance(value, list) else [value]
            texts = found.setdefault(name.lower(), [])
            texts += [str(each).strip(" \t") for each in values if each is not None]
        return {name: ", ".join(values) for name, values in found.items() if values}

    def header(self, name: str) -> str:
        """Return the value of a header.

        Raises:
            UnverifiableError: it is missing.
        """
        value = self.headers.get(name)
        if value is None:
            raise UnverifiableError("absent-component")
        return value

    @cached_property
    def _target(self) -> Target:
        return read_target(self._text("path"))

    def _text(self, name: str) -> str:
        value = self.request.get(name)
        return value if isinstance(value, str) else ""

    @cached_property
    def _scheme(self) -> str:
        return (self._text("scheme") or self._target.scheme or "https").lower()

    @cached_property
    def _authority(self) -> str:
        host = self._text("host") or self._target.host or self.headers.get("host", "")
        if not host:
            raise UnverifiableError("absent-component")
        return host.lower().removesuffix(_DEFAULT_PORTS.get(self._scheme, ":443"))

    @cached_property
    def _path(self) -> str:
        path = self._target.path or "/"
        if not path.startswith("/"):
            raise UnverifiableError("absent-component")
        return path

    @cached_property
    def _query(self) -> str:
        query = self._text("query").removeprefix("?")
        return query or self._target.query or ""

    def _of_request(self, name: str) -> str:
        match name:
            case "@method":
                return self._text("method")
            case "@authority":
                return self._authority
            case "@scheme":
                return self._scheme
            case "@path":
                return self._path
            case "@query":
                return f"?{self._query}"
            case "@target-uri":
                return f"{self._scheme}://{self._authority}{self._request_target}"
            case "@request-target":
                return self._request_target
        raise UnverifiableError("unsupported-component")

    @property
    def _request_target(self) -> str:
        return self._path + (f"?{self._query}" if self._query else "")

    def _parameter(self, name: str) -> str:
        """Return the one value of a query parameter, encoded as RFC 9421, 2.2.8, has it."""
        pairs = (pair.partition("=") for pair in self._query.split("&") if pair)
        decoded = [(unquote_plus(key), unquote_plus(value)) for key, _, value in pairs]
        found = [value for key, value in decoded if key == unquote_plus(name)]
        if len(found) != 1:
            raise UnverifiableError("absent-component")
        return quote(found[0], safe="*-._")

    def value(self, component: Component) -> str:
        """Return the value of a component.

        Raises:
            UnverifiableError: the request doesn't have it, or it isn't supported.
        """
        name, params = component
        if name == "@query-param" and params.keys() == {"name"}:
            return self._parameter(str(params["name"]))
        if name.startswith("@"):
            if params:
                raise UnverifiableError("unsupported-component")
            return self._of_request(name)
        text = self.header(name)
        if name == "content-digest":
            self._check_digest(text)
        if not params:
            return text
        if params.keys() != {"key"}:
            raise UnverifiableError("unsupported-component")
        return _member(text, str(params["key"]))

    def _check_digest(self, text: str) -> None:
        """Compare the digests of RFC 9530 with the body."""
        if self.body is None:
            raise UnverifiableError("unsupported-component")
        digests = [(name, value) for name, value in dictionary(text).items() if name in _DIGESTS]
        if not digests:
            raise UnverifiableError("unsupported-component")
        for name, (value, _) in digests:
            if _DIGESTS[name](self.body.encode()).digest() != value:
                raise UnverifiableError("wrong-digest")

    def base(self, components: Sequence[Component], params: str) -> bytes:
        """Return the signature base.

        Args:
            components: the covered components, in order.
            params: the serialized parameters of the signature.

        Raises:
            UnverifiableError: a component isn't there, isn't supported, or is there twice.
        """
        lines = {_named(name, tuple(of.items())): self.value((name, of)) for name, of in components}
        if len(lines) != len(components) or len(lines) > MOST_COMPONENTS:
            raise UnverifiableError("unreadable")
        if any("\n" in value or "\r" in value for value in lines.values()):
            raise UnverifiableError("unreadable")
        parts = [f"{name}: {value}" for name, value in lines.items()]
        return "\n".join([*parts, f'"@signature-params": {params}']).encode()


@lru_cache(maxsize=256)
def _member(text: str, key: str) -> str:
    """Return a member of a dictionary; agents send the same ones with each request."""
    member = dictionary(text).get(key)
    if member is None:
        raise UnverifiableError("absent-component")
    return written(member)


@lru_cache(maxsize=256)
def _named(name: str, params: tuple[tuple[str, Any], ...]) -> str:
    """Return the identifier of a component."""
    return http_sf.ser((name, dict(params)))


def written(member: Any) -> str:
    """Return an item or inner list as a structured field writes it."""
    value, params = member
    if isinstance(value, list):
        inner = " ".join(written(each) for each in value)
        return f"({inner})" + _written_params(params)
    return http_sf.ser((value, dict(params)))


def _written_params(params: Params) -> str:
    # Parameters are written behind an item; the item `0` has one character.
    return http_sf.ser((0, dict(params)))[1:]
