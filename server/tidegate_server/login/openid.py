"""Login at an OpenID Connect issuer, with the code flow (OpenID Connect Core 1.0, 3.1)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from tidegate_server.login.outbound import Outbound, need_allowed
from tidegate_server.login.profile import LoginRefusedError, Profile
from tidegate_server.login.remembered import Remembered
from tidegate_server.login.started import Started
from tidegate_server.operators.compact import InvalidTokenError
from tidegate_server.operators.id_tokens import (
    Expected,
    IdClaims,
    IdKey,
    id_keys,
    key_id_of,
    read_id_token,
)
from tidegate_server.operators.providers import Provider

DISCOVERY = "/.well-known/openid-configuration"
KEPT_SECONDS = 3_600.0
"""How long an issuer's metadata and keys are cached."""
KEYS_PAUSE_SECONDS = 60.0
"""Seconds between two fetches of the keys, however many tokens name unknown keys."""
PAUSE_SECONDS = 5.0


@attrs.frozen
class _Issuer:
    """The metadata of an issuer."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    names_itself: bool
    """Whether its answers to browsers have ``iss`` (RFC 9207)."""


class OpenId:
    """One issuer.

    Args:
        provider: from the settings.
        monotonic: seconds of a monotonic clock.
    """

    def __init__(self, provider: Provider, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.provider = provider
        self._outbound = Outbound(provider)
        self._issuer = Remembered(
            self._discover, seconds=KEPT_SECONDS, pause=PAUSE_SECONDS, monotonic=monotonic
        )
        self._keys = Remembered(
            self._fetch_keys, seconds=KEPT_SECONDS, pause=KEYS_PAUSE_SECONDS, monotonic=monotonic
        )

    async def begin(self, started: Started, redirect_uri: str) -> str:
        """Return the address to send the browser to.

        Raises:
            LoginRefusedError: the issuer can't be used now.
        """
        issuer = await self._issuer.get()
        return self._outbound.begin(
            issuer.authorization_endpoint,
            redirect_uri=redirect_uri,
            state=started.state,
            nonce=started.nonce,
            code_verifier=started.verifier,
        )

    async def finish(
        self, started: Started, response: Mapping[str, str], redirect_uri: str, now: int
    ) -> Profile:
        """Return the person who logged in.

        Args:
            started: the started login.
            response: the parameters that the browser came back with.
            redirect_uri: the same as at the start.
            now: seconds since 1970.

        Raises:
            LoginRefusedError: the login failed.
        """
        issuer = await self._issuer.get()
        if response.get("iss", None if issuer.names_itself else self.provider.issuer) != (
            self.provider.issuer
        ):
            raise LoginRefusedError("the answer is of another issuer")
        tokens = await self._outbound.exchange(
            issuer.token_endpoint,
            code=response["code"],
            code_verifier=started.verifier,
            redirect_uri=redirect_uri,
        )
        access_token = str(tokens.get("access_token", ""))
        claims = await self._claims(tokens.get("id_token"), access_token, started.nonce, now)
        if claims.email is None and issuer.userinfo_endpoint is not None:
            claims = await self._with_user_info(claims, issuer.userinfo_endpoint, access_token)
        return Profile(
            issuer=self.provider.issuer,
            subject=claims.subject,
            email=claims.email,
            name=claims.name,
        )

    async def _claims(self, text: Any, access_token: str, nonce: str, now: int) -> IdClaims:
        if not isinstance(text, str):
            raise LoginRefusedError("the provider gave no ID token")
        expected = Expected(
            issuer=self.provider.issuer,
            client_id=self.provider.client_id,
            algorithm=self.provider.algorithm,
            nonce=nonce,
            now=now,
        )
        try:
            return read_id_token(text, await self._key(key_id_of(text)), expected, access_token)
        except InvalidTokenError as error:
            raise LoginRefusedError(f"the ID token was refused: {error}") from None

    async def _key(self, key_id: str | None) -> IdKey:
        """Return the key with a name; without a name, the only key."""
        if key_id is not None:
            keys = await self._keys.get(lambda keys: key_id in keys)
            found = keys.get(key_id)
        else:
            keys = await self._keys.get()
            found = next(iter(keys.values())) if len(keys) == 1 else None
        if found is None:
            raise LoginRefusedError("the ID token names a key that the issuer does not have")
        return found

    async def _with_user_info(self, claims: IdClaims, endpoint: str, access_token: str) -> IdClaims:
        """Add an address and a name to the claims (section 5.3), if the person is the same."""
        headers = {"authorization": f"Bearer {access_token}"}
        found = await self._outbound.read(endpoint, headers)
        if not isinstance(found, dict) or found.get("sub") != claims.subject:
            raise LoginRefusedError("the user info is of somebody else")
        email, name = found.get("email"), found.get("name")
        is_verified = found.get("email_verified") is True and isinstance(email, str)
        return attrs.evolve(
            claims,
            email=email if is_verified else None,
            name=name if isinstance(name, str) else claims.name,
        )

    async def _discover(self) -> _Issuer:
        """Fetch the issuer's metadata (OpenID Connect Discovery 1.0, section 4)."""
        found = await self._outbound.read(self.provider.issuer.rstrip("/") + DISCOVERY)
        if not isinstance(found, dict) or found.get("issuer") != self.provider.issuer:
            raise LoginRefusedError("the discovery document is of another issuer")
        return _Issuer(
            authorization_endpoint=self._endpoint(found, "authorization_endpoint"),
            token_endpoint=self._endpoint(found, "token_endpoint"),
            jwks_uri=self._endpoint(found, "jwks_uri"),
            userinfo_endpoint=(
                self._endpoint(found, "userinfo_endpoint") if "userinfo_endpoint" in found else None
            ),
            names_itself=found.get("authorization_response_iss_parameter_supported") is True,
        )

    def _endpoint(self, found: Mapping[str, Any], name: str) -> str:
        url = found.get(name)
        if not isinstance(url, str):
            raise LoginRefusedError(f"the discovery document has no `{name}`")
        need_allowed(url, self.provider.origins)
        return url

    async def _fetch_keys(self) -> dict[str, IdKey]:
        issuer = await self._issuer.get()
        return id_keys(await self._outbound.read(issuer.jwks_uri), self.provider.algorithm)
