"""Login at GitHub, which has OAuth 2.0 but no ID tokens: its API tells who logged in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate_server.login.outbound import Outbound
from tidegate_server.login.profile import LoginRefusedError, Profile
from tidegate_server.login.started import Started
from tidegate_server.operators.providers import Provider


class GitHub:
    """GitHub, or an installation of it.

    Args:
        provider: from the settings.
    """

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self._outbound = Outbound(provider)

    async def begin(self, started: Started, redirect_uri: str) -> str:
        """Return the address to send the browser to."""
        return self._outbound.begin(
            self._page("authorize"),
            redirect_uri=redirect_uri,
            state=started.state,
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
            now: not needed, as GitHub's tokens aren't documents.

        Raises:
            LoginRefusedError: the login failed.
        """
        del now
        tokens = await self._outbound.exchange(
            self._page("access_token"),
            code=response["code"],
            code_verifier=started.verifier,
            redirect_uri=redirect_uri,
        )
        headers = {
            "authorization": f"Bearer {tokens.get('access_token', '')}",
            "accept": "application/vnd.github+json",
        }
        user = await self._outbound.read(self._call("user"), headers)
        emails = await self._outbound.read(self._call("user/emails"), headers)
        number = user.get("id") if isinstance(user, dict) else None
        # A login name can pass to somebody else; the number stays.
        if type(number) is not int or number <= 0:
            raise LoginRefusedError("the provider names no user")
        name = user.get("name")
        return Profile(
            issuer=self.provider.issuer,
            subject=str(number),
            email=_verified_email(emails),
            name=name if isinstance(name, str) else None,
        )

    def _page(self, name: str) -> str:
        return f"{self.provider.issuer.rstrip('/')}/login/oauth/{name}"

    def _call(self, name: str) -> str:
        return f"{self.provider.api_url.rstrip('/')}/{name}"


def _verified_email(emails: Any) -> str | None:
    """Return the primary address, if it is verified."""
    for each in emails if isinstance(emails, list) else ():
        if isinstance(each, dict) and each.get("primary") is True:
            email = each.get("email")
            return email if each.get("verified") is True and isinstance(email, str) else None
    return None
