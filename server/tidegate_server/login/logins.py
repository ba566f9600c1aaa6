"""The login methods that a service offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from tidegate_server.http.problems import Problem
from tidegate_server.operators.providers import LOCAL, Provider

if TYPE_CHECKING:
    from tidegate_server.login.profile import Profile
    from tidegate_server.login.started import Started


class LiveProvider(Protocol):
    """A provider with its client."""

    provider: Provider

    async def begin(self, started: Started, redirect_uri: str) -> str:
        """Return the address to send the browser to."""

    async def finish(
        self, started: Started, response: Mapping[str, str], redirect_uri: str, now: int
    ) -> Profile:
        """Return the person who logged in."""


class Logins:
    """The login methods in the settings.

    Args:
        providers: the identity providers.
        local: whether operators log in with a password here.
        anyone: whether anyone with an account at a provider becomes an operator; otherwise only
            invited people do.
    """

    def __init__(
        self, providers: Sequence[Provider] = (), *, local: bool = True, anyone: bool = False
    ) -> None:
        self.providers = tuple(providers)
        self.local = local
        self.anyone = anyone
        self._live: dict[str, LiveProvider] = {}

    def prepare(self) -> None:
        """Create the providers' clients, which takes a while if there are providers."""
        if not self.providers:
            return
        # Their libraries take half a second to import, which a service without providers saves.
        from tidegate.fetching import trusted
        from tidegate_server.login.github import GitHub
        from tidegate_server.login.openid import OpenId

        trusted()
        kinds = {"openid": OpenId, "github": GitHub}
        for each in self.providers:
            self._live[each.name] = cast("LiveProvider", kinds[each.kind](each))

    def need_local(self) -> None:
        """Refuse passwords if they aren't a login method here.

        Raises:
            Problem: ``not-found``.
        """
        if not self.local:
            raise Problem("not-found", f"the provider `{LOCAL}` is turned off")

    def find(self, name: str) -> LiveProvider:
        """Return an identity provider.

        Raises:
            Problem: ``not-found``.
        """
        if name not in self._live:
            raise Problem("not-found", "there is no such identity provider")
        return self._live[name]
