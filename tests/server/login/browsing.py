"""A browser as far as a login needs one: it follows addresses and keeps one cookie."""

from __future__ import annotations

from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

import attrs
import httpx2
from tests.server.login.issuer import Issuer
from tests.server.serving import Served
from tools import plain_http

COOKIE = "tidegate_login"


@attrs.define
class Browser:
    """Logs in at one provider of a server."""

    served: Served
    provider: str = "company"
    cookie: str = ""

    def begin(self, query: str = "") -> str:
        """Begin a login, and give the address that the browser is sent to."""
        answer = self.get(f"/auth/{self.provider}/login{query}")
        assert answer.status_code == 303, answer.text
        self._keep(answer)
        return answer.headers["location"]

    def come_back(self, brought: dict[str, str], provider: str = "") -> dict[str, str]:
        """Come back with parameters, and give what the page gets."""
        answer = self.get(f"/auth/{provider or self.provider}/callback", params=brought)
        assert answer.status_code == 303, answer.text
        assert "location" in answer.headers
        self._keep(answer)
        location = urlsplit(answer.headers["location"])
        assert (location.scheme, location.netloc, location.path) == ("", "", "/login/callback")
        return {name: values[0] for name, values in parse_qs(location.fragment).items()}

    def log_in(self, issuer: Issuer, query: str = "") -> dict[str, str]:
        """A whole login."""
        return self.come_back(issuer.authorize(self.begin(query)))

    def get(self, path: str, **arguments: Any) -> httpx2.Response:
        """A request with the cookie."""
        headers = {"cookie": f"{COOKIE}={self.cookie}"} if self.cookie else {}
        return plain_http.get(self.served.base_url + path, headers=headers, timeout=30, **arguments)

    def _keep(self, answer: httpx2.Response) -> None:
        set_cookie = answer.headers.get("set-cookie")
        if set_cookie is not None:
            self.cookie = SimpleCookie(set_cookie)[COOKIE].value


def me(served: Served, token: str) -> httpx2.Response:
    """The caller with a token, according to the server."""
    headers = {"authorization": f"Bearer {token}"}
    return plain_http.get(f"{served.base_url}/api/v1/me", headers=headers, timeout=30)
