"""Calls to identity providers: only to hosts in the settings, with limits on time and size.

No redirect is followed and no proxy of the environment is used. An answer must be strict JSON, or
it is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

import httpx2
import orjson
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client

from tidegate.errors import EventError
from tidegate.evaluation.json_text import read_json
from tidegate.fetching import FetchError, exchange, trusted
from tidegate_server.login.profile import LoginRefusedError
from tidegate_server.operators.providers import Provider, origin_of

SECONDS = 5.0
"""Time for one call, from the connection to the last byte."""
MAX_BYTES = 1024 * 1024


class Outbound:
    """Calls to one provider."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    async def read(self, url: str, headers: Mapping[str, str] | None = None) -> Any:
        """Return the JSON value at an address.

        Raises:
            LoginRefusedError: it is missing, or the address isn't allowed.
        """
        try:
            async with self._client() as client:
                answer = await client.request("GET", url, headers=headers, withhold_token=True)
        except httpx2.HTTPError as error:
            raise _unreachable(error) from None
        if answer.status_code != httpx2.codes.OK:
            raise LoginRefusedError(f"the provider answered {answer.status_code}", "unavailable")
        return orjson.loads(answer.content)

    def begin(self, endpoint: str, **parameters: str) -> str:
        """Return the address to send a browser to.

        Args:
            endpoint: the authorization endpoint.
            parameters: its parameters; a ``code_verifier`` becomes a challenge (RFC 7636).
        """
        url, _ = self._client().create_authorization_url(
            endpoint, scope=" ".join(self._provider.scopes), **parameters
        )
        made: str = url
        return made

    async def exchange(self, endpoint: str, **parameters: str) -> dict[str, Any]:
        """Exchange a code for the tokens (RFC 6749, section 4.1.3).

        Raises:
            LoginRefusedError: the provider refuses.
        """
        try:
            async with self._client() as client:
                found = await client.fetch_token(
                    endpoint, grant_type="authorization_code", **parameters
                )
        except httpx2.HTTPError as error:
            raise _unreachable(error) from None
        except (OAuthError, ValueError):
            raise LoginRefusedError("the provider gave no token for the code") from None
        if str(found.get("token_type", "")).lower() != "bearer":
            raise LoginRefusedError("the provider gave a token of another type")
        return dict(found)

    def _client(self) -> AsyncOAuth2Client:
        return AsyncOAuth2Client(
            client_id=self._provider.client_id,
            client_secret=self._provider.client_secret,
            token_endpoint_auth_method=(
                self._provider.client_authentication if self._provider.client_secret else "none"
            ),
            code_challenge_method="S256",
            transport=_Guarded(self._provider.origins),
            trust_env=False,
            timeout=SECONDS,
        )


class _Guarded(httpx2.AsyncBaseTransport):
    """Refuses answers that redirect elsewhere, take too long, are too large or are not JSON.

    Args:
        origins: the origins that may be called.
    """

    def __init__(self, origins: Collection[str]) -> None:
        self._origins = origins
        self._inner = httpx2.AsyncHTTPTransport(verify=trusted())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer, read completely.

        Raises:
            LoginRefusedError: it isn't an answer that a login can rely on.
        """
        need_allowed(str(request.url), self._origins)
        try:
            answer = await exchange(self._inner, request, SECONDS, MAX_BYTES)
        except FetchError as error:
            raise _refused(error) from None
        if answer.is_redirect:
            raise LoginRefusedError("the provider answered with a redirect")
        content = answer.content
        await asyncio.to_thread(_need_strict, content)
        return httpx2.Response(answer.status_code, content=content, request=request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


def need_allowed(url: str, origins: Collection[str]) -> None:
    """Refuse an address whose host isn't in the settings.

    Raises:
        LoginRefusedError: the host isn't in the settings.
    """
    try:
        is_allowed = origin_of(url) in origins
    except ValueError:
        is_allowed = False
    if not is_allowed:
        raise LoginRefusedError("the provider names a host that its `hosts` do not have")


def _need_strict(content: bytes) -> None:
    try:
        read_json(content)
    except EventError:
        raise LoginRefusedError("the provider's answer isn't strict JSON") from None


def _unreachable(error: Exception) -> LoginRefusedError:
    return LoginRefusedError(f"the provider is not reached: {type(error).__name__}", "unavailable")


def _refused(error: FetchError) -> LoginRefusedError:
    """The refusal without the text of the failure, which may have data of the provider."""
    is_away = error.code in ("source-timed-out", "source-unreachable", "source-damaged")
    return LoginRefusedError(
        f"the provider gave no answer to rely on: {error.code}",
        "unavailable" if is_away else "refused",
    )
