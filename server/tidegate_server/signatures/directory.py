"""The keys of agents that a tenant accepts, from its lists of the format ``keys``."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

import attrs
import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ed25519, padding, rsa

from tidegate.evaluation.agents.registry import KNOWN_AGENTS

if TYPE_CHECKING:
    from tidegate.policy.definitions.model import NamedList

WELL_KNOWN = "/.well-known/http-message-signatures-directory"
"""Where an origin publishes its keys (draft-ietf-webbotauth-httpsig-protocol)."""
_PADDING = padding.PSS(mgf=padding.MGF1(hashes.SHA512()), salt_length=64)


class PublicKey(Protocol):
    """A key that verifies."""

    @property
    def algorithm(self) -> str:
        """Its name among the algorithms of HTTP Message Signatures."""

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Tell whether the signature is this key's and of this message."""


@attrs.frozen
class _Ed25519:
    key: ed25519.Ed25519PublicKey
    algorithm = "ed25519"

    def verifies(self, signature: bytes, message: bytes) -> bool:
        try:
            self.key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


@attrs.frozen
class _RsaPss:
    key: rsa.RSAPublicKey
    algorithm = "rsa-pss-sha512"

    def verifies(self, signature: bytes, message: bytes) -> bool:
        try:
            self.key.verify(signature, message, _PADDING, hashes.SHA512())
        except InvalidSignature:
            return False
        return True


def thumbprint(entry: str) -> str:
    """Return the SHA-256 thumbprint of a key (RFC 7638), in base64url.

    Args:
        entry: the key in the form of RFC 7638, section 3.
    """
    return urlsafe_b64encode(hashlib.sha256(entry.encode()).digest()).rstrip(b"=").decode()


def public_key(entry: str) -> PublicKey:
    """Return the key of an entry of a list.

    Raises:
        ValueError: it isn't a key that can be used.
    """
    jwk = orjson.loads(entry)
    if jwk["kty"] == "OKP":
        return _Ed25519(ed25519.Ed25519PublicKey.from_public_bytes(_bytes(jwk["x"])))
    numbers = rsa.RSAPublicNumbers(_number(jwk["e"]), _number(jwk["n"]))
    return _RsaPss(numbers.public_key())


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _number(text: str) -> int:
    return int.from_bytes(_bytes(text))


@attrs.frozen(slots=False)
class Directory:
    """The keys that one address publishes, and the agent that they belong to.

    Attributes:
        url: the address of the list.
        name: the name of the list, which the agent has if the registry doesn't know it.
        entries: the keys, as the list has them.
    """

    url: str
    name: str
    entries: tuple[str, ...] = attrs.field(repr=False)

    @cached_property
    def agent(self) -> Mapping[str, str]:
        """Operator, product and purpose of the agent."""
        for known in KNOWN_AGENTS:
            if known.directory == self.url:
                return {
                    "operator": known.operator,
                    "product": known.family,
                    "purpose": known.purpose,
                }
        host = urlsplit(self.url).hostname or ""
        return {"operator": host, "product": self.name, "purpose": "other"}

    @cached_property
    def keys(self) -> Mapping[str, PublicKey]:
        """The usable keys by thumbprint."""
        found = {}
        for entry in self.entries:
            try:
                found[thumbprint(entry)] = public_key(entry)
            except (KeyError, TypeError, ValueError):
                continue  # an entry written by hand; a refreshed list has only usable keys
        return found

    def is_named(self, agent: str) -> bool:
        """Tell whether a ``Signature-Agent`` names this directory: its address, or its origin."""
        own = agent.removesuffix("/")
        return agent == self.url or own + WELL_KNOWN == self.url


@attrs.frozen
class Directories:
    """Every directory that a tenant accepts."""

    all: tuple[Directory, ...] = ()

    @classmethod
    def of(cls, lists: Iterable[NamedList]) -> Directories:
        """Return the directories among a tenant's lists."""
        return cls(
            tuple(
                Directory(each.source.url, each.name, each.entries)
                for each in lists
                if each.source is not None and each.source.format == "keys"
            )
        )

    def named(self, agent: str) -> Directory | None:
        """Return the directory that a ``Signature-Agent`` names; None for one not accepted."""
        return next((each for each in self.all if each.is_named(agent)), None)

    def having(self, key_id: str) -> tuple[Directory, ...]:
        """Return the directories that publish a key."""
        return tuple(each for each in self.all if key_id in each.keys)
