"""The provider ``turnstile``: Cloudflare's widget, checked through its public API.

The call is ``siteverify`` (https://developers.cloudflare.com/turnstile/get-started/server-side-validation/).
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit
from uuid import UUID, uuid4

import attrs

from tidegate_server.challenge.provider import ProviderUnavailableError

VERIFY_URL = "https://challenges.cloudflare.com/turnstile/v0/siteverify"
ACTION = "tidegate"
"""The purpose of the widget, repeated in the API's response."""
MAX_TOKEN = 2_048
"""Characters, according to its documentation."""
SECONDS = 5.0
"""Timeout of the call."""
_MAX_ANSWER = 64 * 1024


@attrs.frozen
class Turnstile:
    """The provider ``turnstile``.

    Args:
        site_key: the widget's public key; empty if there isn't one.
        secret: the secret key; empty if there isn't one.
        verify_url: the URL that checks solutions.
        hostname: host of our pages; solutions from other hosts are invalid. Empty allows any.
    """

    site_key: str
    _secret: str = attrs.field(repr=False)
    _verify_url: str = VERIFY_URL
    _hostname: str = ""

    def issue(self, challenge_id: UUID, difficulty: int, expires_at: int) -> Mapping[str, Any]:
        """See :class:`~tidegate_server.challenge.provider.Provider`; it has no difficulties."""
        del difficulty, expires_at
        return {"site_key": self.site_key, "action": ACTION, "cdata": challenge_id.hex}

    def is_solution(
        self, parameters: Mapping[str, Any], challenge_id: UUID, solution: str, address: str
    ) -> bool:
        """See :class:`~tidegate_server.challenge.provider.Provider`."""
        if not solution or len(solution) > MAX_TOKEN:
            return False
        found = self._ask(solution, address)
        return (
            found.get("success") is True
            and found.get("action") == parameters["action"]
            and found.get("cdata") == challenge_id.hex
            and (not self._hostname or found.get("hostname") == self._hostname)
        )

    def why_unusable(self, public_url: str) -> str | None:
        """See :class:`~tidegate_server.challenge.provider.Provider`."""
        if not self.site_key or not self._secret:
            return (
                "`turnstile` needs the settings `challenge.turnstile_site_key` and"
                " `challenge.turnstile_secret`"
            )
        return None if urlsplit(public_url).scheme == "https" else "the public URL has no TLS"

    def _ask(self, solution: str, address: str) -> Mapping[str, Any]:
        """The response of the call.

        Raises:
            ProviderUnavailableError: none came, or it says that the call itself was wrong.
        """
        form = {"secret": self._secret, "response": solution, "idempotency_key": str(uuid4())}
        if address:
            form["remoteip"] = address
        request = urllib.request.Request(self._verify_url, urlencode(form).encode())  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
                found = json.loads(answer.read(_MAX_ANSWER))
        except (OSError, ValueError) as error:
            raise ProviderUnavailableError("turnstile cannot be asked") from error
        if not isinstance(found, dict):
            raise ProviderUnavailableError("turnstile gave no answer that can be read")
        codes = found.get("error-codes") or []
        if {"invalid-input-secret", "missing-input-secret", "internal-error"} & {*map(str, codes)}:
            raise ProviderUnavailableError(f"turnstile answered {', '.join(map(str, codes))}")
        return found
