"""HTTP to the service; the only module that uses the HTTP library.

Only the library's transport is used, not its client: nothing follows a redirect, keeps a cookie,
reads the environment or holds the key anywhere but in the request.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import ssl
from collections.abc import Mapping
from importlib.metadata import version

import httpx2

from tidegate.client.answer import Answer
from tidegate.client.errors import UnexpectedAnswerError, UnreachableError

MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""Several times the room for the responses of a whole batch."""
_KEEP_ALIVE_SECONDS = 4.0
"""Shorter than servers usually keep an idle connection, so that no call hits a closing one."""
SILENCE_SECONDS = 10.0
"""Longest pause within a response: one with a damaged length would otherwise be waited for forever.
"""
_KEY = re.compile(r"[\x21-\x7e]{1,512}")


class Transport:
    """Connections to one service with one key.

    Args:
        base_url: the service's address, without ``/api/v1``.
        api_key: sent in ``x-service-api-key``.
        tls: replaces the system's trust store; it must verify certificates and host names.
        allow_http: whether the key may be sent over plain HTTP to another machine.

    Raises:
        ValueError: one of them is invalid.
    """

    def __init__(
        self, base_url: str, api_key: str, *, tls: ssl.SSLContext | None, allow_http: bool
    ) -> None:
        self.base_url = checked_url(base_url, allow_http)
        if not _KEY.fullmatch(api_key):
            raise ValueError("`api_key` must be 1 to 512 visible ASCII characters")
        if tls is not None and not (tls.check_hostname and tls.verify_mode == ssl.CERT_REQUIRED):
            raise ValueError("`tls` must verify certificates and host names")
        self._headers = {
            "x-service-api-key": api_key,
            "user-agent": f"tidegate-python/{version('tidegate')}",
            "accept": "application/json",
            "accept-encoding": "identity",
        }
        self._http = httpx2.AsyncHTTPTransport(
            verify=tls or _trust(self.base_url),
            trust_env=False,
            limits=httpx2.Limits(
                max_connections=100,
                max_keepalive_connections=100,
                keepalive_expiry=_KEEP_ALIVE_SECONDS,
            ),
        )

    async def post(self, path: str, body: bytes, content_type: str = "application/json") -> Answer:
        """Make one attempt at one call; the caller limits its time.

        Raises:
            UnreachableError: no complete response came.
            UnexpectedAnswerError: the response is too large.
        """
        return await self.send("POST", path, {"content-type": content_type}, body)

    async def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        most: int = MAX_ANSWER_BYTES,
    ) -> Answer:
        """Like :meth:`post`, for any method.

        Args:
            method: the HTTP method.
            path: below the service's address, with a query.
            headers: added to the usual ones, or replacing them.
            body: the request body.
            most: most bytes of the response, as it is sent.

        Raises:
            UnreachableError: no complete response came.
            UnexpectedAnswerError: the response is too large.
        """
        request = httpx2.Request(
            method, self.base_url + path, headers={**self._headers, **headers}, content=body
        )
        try:
            return await self._exchange(request, most)
        except (httpx2.TransportError, OSError, RuntimeError) as error:
            # RuntimeError: names can't be looked up once the interpreter exits.
            failure = str(error) or type(error).__name__
        # Raised outside, so that the library's exception, which has the request, isn't chained.
        raise UnreachableError(f"{self.base_url} cannot be reached: {failure}")

    async def _exchange(self, request: httpx2.Request, most: int) -> Answer:
        response = await self._http.handle_async_request(request)
        try:
            parts = []
            size = 0
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(SILENCE_SECONDS) as silence:
                async for part in response.aiter_raw():
                    silence.reschedule(loop.time() + SILENCE_SECONDS)
                    parts.append(part)
                    size += len(part)
                    if size > most:
                        raise UnexpectedAnswerError("the answer is too large", response.status_code)
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status_code, headers, b"".join(parts))
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Close every connection."""
        await self._http.aclose()


def _trust(url: str) -> ssl.SSLContext | bool:
    """The system's trust store; none for plain HTTP, because loading it takes some 80 ms."""
    return url.startswith("https:") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def checked_url(text: str, allow_http: bool) -> str:
    """A service's address, without a trailing slash.

    Raises:
        ValueError: it is invalid.
    """
    failure = ""
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL as error:
        failure = str(error)
    if failure or url.scheme not in ("http", "https") or not url.host:
        raise ValueError("`base_url` must be an http or https address")
    if url.userinfo or url.query or url.fragment:
        raise ValueError("`base_url` must have no user, query or fragment")
    if url.scheme == "http" and not allow_http and not _is_loopback(url.host):
        raise ValueError(
            "`base_url` is plain http, which would send the key in the clear; "
            "use https, or `allow_http=True` where the network is yours"
        )
    return text.rstrip("/")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
