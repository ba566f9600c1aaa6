"""Identity providers from the settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import attrs
import orjson

from tidegate_server.operators.id_tokens import ALGORITHMS

Kind: TypeAlias = Literal["openid", "github"]
LOCAL = "local"
"""The provider name for the service itself."""
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_MAX_SECRET_BYTES = 4_096
_PRESETS: Mapping[str, Mapping[str, Any]] = {
    "google": {
        "issuer": "https://accounts.google.com",
        "hosts": ["oauth2.googleapis.com", "www.googleapis.com", "openidconnect.googleapis.com"],
        "display_name": "Google",
    },
    "github": {
        "kind": "github",
        "issuer": "https://github.com",
        "api_url": "https://api.github.com",
        "scopes": ["read:user", "user:email"],
        "display_name": "GitHub",
    },
}


@attrs.frozen(kw_only=True)
class Provider:
    """One identity provider.

    Attributes:
        name: as in ``/auth/{name}/login``.
        kind: ``openid`` for any issuer of OpenID Connect; ``github`` for GitHub, which isn't one.
        issuer: its exact identifier; for GitHub the address of its pages.
        api_url: for GitHub, the address of its API.
        client_secret: None for a client without one, protected by PKCE alone.
        display_name: the name shown to people.
        hosts: hosts that may be called besides the issuer's, with a port if it is not 443.
        email_domains: domains of addresses it may vouch for; empty for all.
        algorithm: its algorithm for signing ID tokens.
        client_authentication: how the client sends its secret.
    """

    name: str
    kind: Kind = "openid"
    issuer: str
    api_url: str = ""
    client_id: str
    client_secret: str | None = attrs.field(default=None, repr=False)
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    display_name: str
    hosts: tuple[str, ...] = ()
    email_domains: tuple[str, ...] = ()
    algorithm: str = "RS256"
    client_authentication: Literal["client_secret_basic", "client_secret_post"] = (
        "client_secret_basic"
    )

    @property
    def origins(self) -> frozenset[str]:
        """All origins that may be called or redirected to."""
        own = [origin_of(each) for each in (self.issuer, self.api_url) if each]
        return frozenset([*own, *(f"https://{host}" for host in self.hosts)])

    def may_vouch_for(self, email: str) -> bool:
        """Whether this provider may have verified an address."""
        domain = email.rpartition("@")[2].lower()
        return not self.email_domains or domain in self.email_domains


def origin_of(url: str) -> str:
    """The origin of an address, with a port if it isn't the default.

    Raises:
        ValueError: the address is neither https nor, on this machine, http; or it has a user.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https" and not (parts.scheme == "http" and host in _LOOPBACK):
        raise ValueError(f"`{url}` must begin with https://")
    if not host or "@" in parts.netloc:
        raise ValueError(f"`{url}` has no host, or a user")
    shown = f"[{host}]" if ":" in host else host
    usual = 443 if parts.scheme == "https" else 80
    port = f":{parts.port}" if parts.port not in (None, usual) else ""
    return f"{parts.scheme}://{shown}{port}"


def read_providers(text: str) -> tuple[Provider, ...]:
    """The providers in a setting.

    Args:
        text: a JSON object of objects, by the name of the provider; may be empty.

    Raises:
        ValueError: one of them is invalid; the message says which, and reveals no secret.
    """
    if not text:
        return ()
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise ValueError("it must be a JSON object") from None
    if not isinstance(found, dict):
        raise ValueError("it must be a JSON object of providers, by name")
    return tuple(_provider(name, members) for name, members in found.items())


def _provider(name: str, members: Any) -> Provider:
    if not _NAME.fullmatch(name) or name == LOCAL:
        raise ValueError(f"`{name}` cannot be the name of a provider: use a-z, 0-9 and -")
    if not isinstance(members, dict):
        raise ValueError(f"`{name}` must be an object")
    values = {"display_name": name.title(), **_PRESETS.get(name, {}), **members}
    secret = _secret(name, values)
    for member in ("scopes", "hosts", "email_domains"):
        if member in values:
            values[member] = _texts(name, member, values[member])
    for member, value in values.items():
        if member not in _MEMBERS:
            raise ValueError(f"`{name}.{member}` is no member of a provider")
        if not value or not isinstance(value, str | tuple):
            raise ValueError(f"`{name}.{member}` must be a text, and not empty")
    for member in ("client_id", "issuer"):
        if member not in values:
            raise ValueError(f"`{name}.{member}` is missing")
    made = Provider(name=name, client_secret=secret, **values)
    _check(made)
    return made


_MEMBERS = frozenset(each.name for each in attrs.fields(Provider)) - {"name", "client_secret"}


def _texts(name: str, member: str, value: Any) -> tuple[str, ...]:
    """A list of texts; a single text has them separated by spaces."""
    texts = value.split() if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise ValueError(f"`{name}.{member}` must be a list of texts")
    return tuple(each if member == "scopes" else each.lower() for each in texts)


def _secret(name: str, values: dict[str, Any]) -> str | None:
    """Take the secret from the members, or read the file that contains it."""
    secret, file = values.pop("client_secret", None), values.pop("client_secret_file", None)
    if secret is not None and file is not None:
        raise ValueError(f"`{name}` has `client_secret` and `client_secret_file`: leave out one")
    if file is not None:
        try:
            with Path(str(file)).open(encoding="ascii") as opened:
                secret = opened.read(_MAX_SECRET_BYTES).strip()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            raise ValueError(f"`{name}.client_secret_file` cannot be read: {reason}") from None
    if secret is not None and (not isinstance(secret, str) or not secret):
        raise ValueError(f"`{name}` has an empty secret, or one that is no text")
    return secret


def _check(provider: Provider) -> None:
    choices = {
        "kind": ("openid", "github"),
        "algorithm": ALGORITHMS,
        "client_authentication": ("client_secret_basic", "client_secret_post"),
    }
    for member, allowed in choices.items():
        if getattr(provider, member) not in allowed:
            raise ValueError(f"`{provider.name}.{member}` must be one of {', '.join(allowed)}")
    if provider.kind == "github" and not provider.api_url:
        raise ValueError(f"`{provider.name}.api_url` is missing")
    if urlsplit(provider.issuer).query or urlsplit(provider.issuer).fragment:
        raise ValueError(f"`{provider.name}.issuer` has a query or a fragment")
    try:
        for each in provider.origins:
            if origin_of(each) != each:
                raise ValueError(f"`{each}` is more than a host")
    except ValueError as error:
        raise ValueError(f"`{provider.name}`: {error}") from None
